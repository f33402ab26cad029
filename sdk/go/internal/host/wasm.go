//go:build wasm

// The imports of the component. Every function is one crossing.

package host

import (
	"github.com/wharf-dev/wharf/sdk/go/internal/bindings/wharf_plugin_cluster"
	"github.com/wharf-dev/wharf/sdk/go/internal/bindings/wharf_plugin_config"
	"github.com/wharf-dev/wharf/sdk/go/internal/bindings/wharf_plugin_event"
	"github.com/wharf-dev/wharf/sdk/go/internal/bindings/wharf_plugin_log"
	"github.com/wharf-dev/wharf/sdk/go/internal/bindings/wharf_plugin_system"
	"github.com/wharf-dev/wharf/sdk/go/internal/bindings/wharf_plugin_types"
	_ "github.com/wharf-dev/wharf/sdk/go/internal/bindings/wit_exports" // the component's exports
	"github.com/wharf-dev/wharf/sdk/go/internal/witruntime"
	"github.com/wharf-dev/wharf/sdk/go/internal/wittypes"
)

//go:wasmimport wasi_snapshot_preview1 wharf_flush
func flush()

// Flush hands on what was written to standard output and standard error without a newline.
func Flush() {
	witruntime.WaitForHost()
	flush()
}

func EventGet(which uint8, pointer string) wittypes.Option[string] {
	defer witruntime.Enter()()
	return wharf_plugin_event.Get(which, Text(pointer))
}

func EventGetMany(which uint8, pointers []string) []wittypes.Option[string] {
	defer witruntime.Enter()()
	return wharf_plugin_event.GetMany(which, Texts(pointers))
}

func EventJSON(which uint8) wittypes.Option[string] {
	defer witruntime.Enter()()
	return wharf_plugin_event.Json(which)
}

func EventChanged(pointers []string) []bool {
	defer witruntime.Enter()()
	return wharf_plugin_event.Changed(Texts(pointers))
}

func EventRemainingMs() uint32 {
	defer witruntime.Enter()()
	return wharf_plugin_event.RemainingMs()
}

func SystemNow() wharf_plugin_system.Timestamp {
	defer witruntime.Enter()()
	return wharf_plugin_system.Now()
}

func SystemRandom(length uint32) []byte {
	defer witruntime.Enter()()
	return wharf_plugin_system.Random(length)
}

func LogEnabled(level uint8) bool {
	defer witruntime.Enter()()
	return wharf_plugin_log.Enabled(level)
}

func LogEmit(level uint8, message string, fields []Field) {
	for i, field := range fields {
		fields[i] = Field{F0: Text(field.F0), F1: Text(field.F1)}
	}
	defer witruntime.Enter()()
	wharf_plugin_log.Emit(level, Text(message), fields)
}

func ConfigJSON() string {
	defer witruntime.Enter()()
	return wharf_plugin_config.Json()
}

func ConfigGet(pointer string) wittypes.Option[string] {
	defer witruntime.Enter()()
	return wharf_plugin_config.Get(Text(pointer))
}

func ClusterGet(kind wharf_plugin_types.Gvk, namespace wittypes.Option[string], name string, fields []string, live bool) GetResult {
	defer witruntime.Enter()()
	return wharf_plugin_cluster.Get(kind, namespace, name, fields, live)
}

func ClusterList(kind wharf_plugin_types.Gvk, options wharf_plugin_cluster.ListOptions) ListResult {
	defer witruntime.Enter()()
	return wharf_plugin_cluster.ListObjects(kind, options)
}

func ClusterCreate(object string, options wharf_plugin_cluster.WriteOptions) WrittenResult {
	defer witruntime.Enter()()
	return wharf_plugin_cluster.Create(object, options)
}

func ClusterApply(object string, options wharf_plugin_cluster.WriteOptions) WrittenResult {
	defer witruntime.Enter()()
	return wharf_plugin_cluster.Apply(object, options)
}

func ClusterMergePatch(target wharf_plugin_types.ObjectRef, patch string, options wharf_plugin_cluster.WriteOptions) WrittenResult {
	defer witruntime.Enter()()
	return wharf_plugin_cluster.MergePatch(target, patch, options)
}

func ClusterDelete(target wharf_plugin_types.ObjectRef, options wharf_plugin_cluster.DeleteOptions) DeletedResult {
	defer witruntime.Enter()()
	return wharf_plugin_cluster.Delete(target, options)
}

func RecordEvent(about wharf_plugin_types.ObjectRef, eventType uint8, reason, message string) {
	defer witruntime.Enter()()
	wharf_plugin_cluster.RecordEvent(about, eventType, reason, message)
}
