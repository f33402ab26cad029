//go:build !wasm

// The host where no call is running.

package host

import (
	"github.com/wharf-dev/wharf/sdk/go/internal/bindings/wharf_plugin_cluster"
	"github.com/wharf-dev/wharf/sdk/go/internal/bindings/wharf_plugin_system"
	"github.com/wharf-dev/wharf/sdk/go/internal/bindings/wharf_plugin_types"
	"github.com/wharf-dev/wharf/sdk/go/internal/wittypes"
)

// absent is the host outside of a call: nothing is there, and nothing can be done.
type absent struct{}

func (absent) Flush() {}

func (absent) EventGet(uint8, string) wittypes.Option[string] { return wittypes.None[string]() }

func (absent) EventGetMany(_ uint8, pointers []string) []wittypes.Option[string] {
	return make([]wittypes.Option[string], len(pointers))
}

func (absent) EventJSON(uint8) wittypes.Option[string] { return wittypes.None[string]() }

func (absent) EventChanged(pointers []string) []bool {
	changed := make([]bool, len(pointers))
	for i := range changed {
		changed[i] = true
	}
	return changed
}

func (absent) EventRemainingMs() uint32 { return 0 }

func (absent) SystemNow() wharf_plugin_system.Timestamp { return wharf_plugin_system.Timestamp{} }

func (absent) SystemRandom(uint32) []byte { return nil }

func (absent) LogEnabled(uint8) bool { return false }

func (absent) LogEmit(uint8, string, []Field) {}

func (absent) ConfigJSON() string { return "{}" }

func (absent) ConfigGet(string) wittypes.Option[string] { return wittypes.None[string]() }

func (absent) ClusterGet(wharf_plugin_types.Gvk, wittypes.Option[string], string, []string, bool) GetResult {
	return noCall[string]()
}

func (absent) ClusterList(wharf_plugin_types.Gvk, wharf_plugin_cluster.ListOptions) ListResult {
	return noCall[wharf_plugin_cluster.Page]()
}

func (absent) ClusterCreate(string, wharf_plugin_cluster.WriteOptions) WrittenResult {
	return noCall[wharf_plugin_cluster.Written]()
}

func (absent) ClusterApply(string, wharf_plugin_cluster.WriteOptions) WrittenResult {
	return noCall[wharf_plugin_cluster.Written]()
}

func (absent) ClusterMergePatch(wharf_plugin_types.ObjectRef, string, wharf_plugin_cluster.WriteOptions) WrittenResult {
	return noCall[wharf_plugin_cluster.Written]()
}

func (absent) ClusterDelete(wharf_plugin_types.ObjectRef, wharf_plugin_cluster.DeleteOptions) DeletedResult {
	return noCall[wittypes.Unit]()
}

func (absent) RecordEvent(wharf_plugin_types.ObjectRef, uint8, string, string) {}

func noCall[T any]() wittypes.Result[T, wharf_plugin_cluster.ApiError] {
	return wittypes.Err[T](wharf_plugin_cluster.MakeApiErrorUnavailable("no call is running"))
}
