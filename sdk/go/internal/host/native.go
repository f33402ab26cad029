//go:build !wasm

// The same functions on a mock.

package host

import (
	"github.com/wharf-dev/wharf/sdk/go/internal/bindings/wharf_plugin_cluster"
	"github.com/wharf-dev/wharf/sdk/go/internal/bindings/wharf_plugin_system"
	"github.com/wharf-dev/wharf/sdk/go/internal/bindings/wharf_plugin_types"
	"github.com/wharf-dev/wharf/sdk/go/internal/wittypes"
)

// Backend is a mock of the host.
type Backend interface {
	Flush()
	EventGet(which uint8, pointer string) wittypes.Option[string]
	EventGetMany(which uint8, pointers []string) []wittypes.Option[string]
	EventJSON(which uint8) wittypes.Option[string]
	EventChanged(pointers []string) []bool
	EventRemainingMs() uint32
	SystemNow() wharf_plugin_system.Timestamp
	SystemRandom(length uint32) []byte
	LogEnabled(level uint8) bool
	LogEmit(level uint8, message string, fields []Field)
	ConfigJSON() string
	ConfigGet(pointer string) wittypes.Option[string]
	ClusterGet(kind wharf_plugin_types.Gvk, namespace wittypes.Option[string], name string, fields []string, live bool) GetResult
	ClusterList(kind wharf_plugin_types.Gvk, options wharf_plugin_cluster.ListOptions) ListResult
	ClusterCreate(object string, options wharf_plugin_cluster.WriteOptions) WrittenResult
	ClusterApply(object string, options wharf_plugin_cluster.WriteOptions) WrittenResult
	ClusterMergePatch(target wharf_plugin_types.ObjectRef, patch string, options wharf_plugin_cluster.WriteOptions) WrittenResult
	ClusterDelete(target wharf_plugin_types.ObjectRef, options wharf_plugin_cluster.DeleteOptions) DeletedResult
	RecordEvent(about wharf_plugin_types.ObjectRef, eventType uint8, reason, message string)
}

// Current is the mock of the running call. Outside of one nothing is there.
var Current Backend = absent{}

func Flush() {
	Current.Flush()
}

func EventGet(which uint8, pointer string) wittypes.Option[string] {
	return Current.EventGet(which, pointer)
}

func EventGetMany(which uint8, pointers []string) []wittypes.Option[string] {
	return Current.EventGetMany(which, pointers)
}

func EventJSON(which uint8) wittypes.Option[string] {
	return Current.EventJSON(which)
}

func EventChanged(pointers []string) []bool {
	return Current.EventChanged(pointers)
}

func EventRemainingMs() uint32 {
	return Current.EventRemainingMs()
}

func SystemNow() wharf_plugin_system.Timestamp {
	return Current.SystemNow()
}

func SystemRandom(length uint32) []byte {
	return Current.SystemRandom(length)
}

func LogEnabled(level uint8) bool {
	return Current.LogEnabled(level)
}

func LogEmit(level uint8, message string, fields []Field) {
	Current.LogEmit(level, message, fields)
}

func ConfigJSON() string {
	return Current.ConfigJSON()
}

func ConfigGet(pointer string) wittypes.Option[string] {
	return Current.ConfigGet(pointer)
}

func ClusterGet(kind wharf_plugin_types.Gvk, namespace wittypes.Option[string], name string, fields []string, live bool) GetResult {
	return Current.ClusterGet(kind, namespace, name, fields, live)
}

func ClusterList(kind wharf_plugin_types.Gvk, options wharf_plugin_cluster.ListOptions) ListResult {
	return Current.ClusterList(kind, options)
}

func ClusterCreate(object string, options wharf_plugin_cluster.WriteOptions) WrittenResult {
	return Current.ClusterCreate(object, options)
}

func ClusterApply(object string, options wharf_plugin_cluster.WriteOptions) WrittenResult {
	return Current.ClusterApply(object, options)
}

func ClusterMergePatch(target wharf_plugin_types.ObjectRef, patch string, options wharf_plugin_cluster.WriteOptions) WrittenResult {
	return Current.ClusterMergePatch(target, patch, options)
}

func ClusterDelete(target wharf_plugin_types.ObjectRef, options wharf_plugin_cluster.DeleteOptions) DeletedResult {
	return Current.ClusterDelete(target, options)
}

func RecordEvent(about wharf_plugin_types.ObjectRef, eventType uint8, reason, message string) {
	Current.RecordEvent(about, eventType, reason, message)
}
