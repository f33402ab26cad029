//go:build !wasm

// The host's functions on the mock's state.

package wharftest

import (
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"time"

	wharf "github.com/wharf-dev/wharf/sdk/go"
	"github.com/wharf-dev/wharf/sdk/go/cluster"
	"github.com/wharf-dev/wharf/sdk/go/internal/bindings/wharf_plugin_cluster"
	"github.com/wharf-dev/wharf/sdk/go/internal/bindings/wharf_plugin_event"
	"github.com/wharf-dev/wharf/sdk/go/internal/bindings/wharf_plugin_system"
	"github.com/wharf-dev/wharf/sdk/go/internal/bindings/wharf_plugin_types"
	"github.com/wharf-dev/wharf/sdk/go/internal/host"
	"github.com/wharf-dev/wharf/sdk/go/internal/jsontext"
	"github.com/wharf-dev/wharf/sdk/go/internal/wittypes"
)

// backend is the host's functions on the mock's state.
type backend struct {
	config            Object
	current, previous Object
	cluster           *mockCluster
	failures          []planned
	logLevel          slog.Level
	now               time.Time
	remaining         time.Duration
	random            uint64
	logs              []LogLine
	events            []Event
	writes            []Write
}

var _ host.Backend = (*backend)(nil)

func (b *backend) Flush() {}

func (b *backend) EventGet(which uint8, pointer string) wittypes.Option[string] {
	object := b.current
	if which == wharf_plugin_event.RevisionPrevious {
		object = b.previous
	}
	return textOf(object, pointer)
}

func (b *backend) EventGetMany(which uint8, pointers []string) []wittypes.Option[string] {
	values := make([]wittypes.Option[string], len(pointers))
	for i, pointer := range pointers {
		values[i] = b.EventGet(which, pointer)
	}
	return values
}

func (b *backend) EventJSON(which uint8) wittypes.Option[string] { return b.EventGet(which, "") }

func (b *backend) EventChanged(pointers []string) []bool {
	changed := make([]bool, len(pointers))
	for i, pointer := range pointers {
		now, is := lookup(b.current, pointer)
		before, was := lookup(b.previous, pointer)
		changed[i] = b.previous == nil || is != was || !reflect.DeepEqual(now, before)
	}
	return changed
}

func (b *backend) EventRemainingMs() uint32 {
	b.tick()
	return uint32(b.remaining.Milliseconds())
}

func (b *backend) SystemNow() wharf_plugin_system.Timestamp {
	b.tick()
	return wharf_plugin_system.Timestamp{Seconds: uint32(b.now.Unix()), Nanoseconds: uint32(b.now.Nanosecond())}
}

// SystemRandom is the same bytes in every run of a test (xorshift).
func (b *backend) SystemRandom(length uint32) []byte {
	bytes := make([]byte, min(length, 65536))
	for i := range bytes {
		b.random ^= b.random << 13
		b.random ^= b.random >> 7
		b.random ^= b.random << 17
		bytes[i] = byte(b.random)
	}
	return bytes
}

// The levels in the contract's order.
var levels = []slog.Level{wharf.LevelTrace, slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}

func (b *backend) LogEnabled(level uint8) bool { return levels[level] >= b.logLevel }

func (b *backend) LogEmit(level uint8, message string, fields []host.Field) {
	if !b.LogEnabled(level) {
		return
	}
	line := LogLine{Level: levels[level], Message: message, Fields: map[string]string{}}
	for _, field := range fields {
		line.Fields[field.F0] = field.F1
	}
	b.logs = append(b.logs, line)
}

func (b *backend) ConfigJSON() string { return encode(b.config) }

func (b *backend) ConfigGet(pointer string) wittypes.Option[string] { return textOf(b.config, pointer) }

func (b *backend) ClusterGet(
	kind wharf_plugin_types.Gvk, namespace wittypes.Option[string], name string, fields []string, _ bool,
) host.GetResult {
	return use(b, Get, func() (string, error) {
		inNamespace, _ := namespace.Get()
		object := b.cluster.get(key{gvk(kind), inNamespace, name})
		if object == nil {
			return "", &cluster.Error{Code: cluster.NotFound}
		}
		return encode(keep(object, fields)), nil
	})
}

func (b *backend) ClusterList(kind wharf_plugin_types.Gvk, wire wharf_plugin_cluster.ListOptions) host.ListResult {
	return use(b, List, func() (wharf_plugin_cluster.Page, error) {
		namespace, _ := wire.Namespace.Get()
		objects, token, err := b.cluster.list(gvk(kind), cluster.ListOptions{
			Namespace: namespace, LabelSelector: wire.LabelSelector, FieldSelector: wire.FieldSelector,
			Fields: wire.Fields, Limit: wire.Limit, ContinueToken: wire.ContinueToken,
		})
		page := wharf_plugin_cluster.Page{ContinueToken: token}
		for _, object := range objects {
			page.Items = append(page.Items, encode(object))
		}
		return page, err
	})
}

func (b *backend) ClusterCreate(object string, options wharf_plugin_cluster.WriteOptions) host.WrittenResult {
	return b.write(Create, nil, object, options)
}

func (b *backend) ClusterApply(object string, options wharf_plugin_cluster.WriteOptions) host.WrittenResult {
	return b.write(Apply, nil, object, options)
}

func (b *backend) ClusterMergePatch(
	target wharf_plugin_types.ObjectRef, patch string, options wharf_plugin_cluster.WriteOptions,
) host.WrittenResult {
	return b.write(MergePatch, &target, patch, options)
}

func (b *backend) ClusterDelete(wire wharf_plugin_types.ObjectRef, options wharf_plugin_cluster.DeleteOptions) host.DeletedResult {
	return use(b, Delete, func() (wittypes.Unit, error) {
		target := objectRef(wire)
		err := b.cluster.delete(target, cluster.DeleteOptions{
			DryRun: options.DryRun, IfUID: options.IfUid, IfResourceVersion: options.IfResourceVersion,
		})
		if err == nil {
			b.writes = append(b.writes, Write{Operation: Delete, Target: target, DryRun: options.DryRun})
		}
		return wittypes.Unit{}, err
	})
}

func (b *backend) RecordEvent(about wharf_plugin_types.ObjectRef, eventType uint8, reason, message string) {
	b.events = append(b.events, Event{objectRef(about), cluster.EventType(eventType), reason, message})
}

func (b *backend) write(
	operation Operation, at *wharf_plugin_types.ObjectRef, text string, wire wharf_plugin_cluster.WriteOptions,
) host.WrittenResult {
	return use(b, operation, func() (wharf_plugin_cluster.Written, error) {
		var none wharf_plugin_cluster.Written
		body, err := jsontext.Decode[Object](text)
		if err != nil {
			return none, &cluster.Error{Code: cluster.Invalid, Text: err.Error()}
		}
		target, ok := reference(body)
		if at != nil {
			target, ok = objectRef(*at), true
		}
		if !ok {
			return none, &cluster.Error{Code: cluster.Invalid, Text: "no apiVersion, kind or name"}
		}
		object, err := b.cluster.write(operation, target, body, cluster.WriteOptions{
			DryRun: wire.DryRun, IfResourceVersion: wire.IfResourceVersion,
		})
		if err != nil {
			return none, err
		}
		b.writes = append(b.writes, Write{operation, target, body, wire.DryRun, wire.Force})
		written := wharf_plugin_cluster.Written{ResourceVersion: textAt(object, "/metadata/resourceVersion")}
		if len(wire.Fields) > 0 {
			written.Object = encode(keep(object, wire.Fields))
		}
		return written, nil
	})
}

// tick lets time go on a little.
func (b *backend) tick() {
	b.now = b.now.Add(time.Millisecond)
	b.remaining = max(b.remaining-time.Millisecond, 0)
}

// use is a use of the cluster, unless the test wants it to fail.
func use[T any](b *backend, operation Operation, work func() (T, error)) wittypes.Result[T, wharf_plugin_cluster.ApiError] {
	if at := slices.IndexFunc(b.failures, func(p planned) bool { return p.operation == operation }); at >= 0 {
		failure := b.failures[at].err
		b.failures = slices.Delete(b.failures, at, at+1)
		return wittypes.Err[T](apiError(&failure))
	}
	value, err := work()
	if api, ok := errors.AsType[*cluster.Error](err); ok {
		return wittypes.Err[T](apiError(api))
	}
	return wittypes.Ok[T, wharf_plugin_cluster.ApiError](value)
}

func apiError(err *cluster.Error) wharf_plugin_cluster.ApiError {
	switch err.Code {
	case cluster.NotGranted:
		return wharf_plugin_cluster.MakeApiErrorNotGranted(err.Text)
	case cluster.Forbidden:
		return wharf_plugin_cluster.MakeApiErrorForbidden(err.Text)
	case cluster.NotFound:
		return wharf_plugin_cluster.MakeApiErrorNotFound()
	case cluster.Conflict:
		return wharf_plugin_cluster.MakeApiErrorConflict(err.Text)
	case cluster.AlreadyExists:
		return wharf_plugin_cluster.MakeApiErrorAlreadyExists()
	case cluster.Invalid:
		return wharf_plugin_cluster.MakeApiErrorInvalid(err.Text)
	case cluster.Throttled:
		return wharf_plugin_cluster.MakeApiErrorThrottled(uint32(err.RetryAfter.Milliseconds()))
	case cluster.TooLarge:
		return wharf_plugin_cluster.MakeApiErrorTooLarge()
	}
	return wharf_plugin_cluster.MakeApiErrorUnavailable(err.Text)
}

func textOf(object Object, pointer string) wittypes.Option[string] {
	value, found := lookup(object, pointer)
	if object == nil || !found {
		return wittypes.None[string]()
	}
	return wittypes.Some(encode(value))
}

// encode is a value's JSON text. It came from JSON, so there is always one.
func encode(value any) string {
	text, err := jsontext.Encode(value)
	if err != nil {
		panic("wharftest: " + err.Error())
	}
	return text
}

func gvk(wire wharf_plugin_types.Gvk) wharf.GVK {
	return wharf.GVK{Group: wire.Group, Version: wire.Version, Kind: wire.Kind}
}

func objectRef(wire wharf_plugin_types.ObjectRef) wharf.ObjectRef {
	namespace, _ := wire.Namespace.Get()
	return wharf.ObjectRef{Kind: gvk(wire.Kind), Namespace: namespace, Name: wire.Name, UID: wire.Uid}
}
