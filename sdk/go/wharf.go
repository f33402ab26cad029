// Package wharf is for writing wharf plugins in Go.
//
// A plugin is one type that implements [Handler]: its fields are its configuration, its
// functions answer the events of the objects that it subscribed to. [Register] exports it as a
// WebAssembly component; the package wharftest runs it natively against a mock of the host, so
// that its logic is tested by plain "go test".
//
//	package main
//
//	import (
//		"log/slog"
//
//		wharf "github.com/wharf-dev/wharf/sdk/go"
//	)
//
//	type Hello struct {
//		Greeting string `json:"greeting"`
//	}
//
//	func (h *Hello) Describe() wharf.Description {
//		return wharf.Description{
//			Name: "hello", Version: "0.1.0",
//			Subscribe: []wharf.Subscription{{Name: "main", APIVersion: "v1", Kind: "ConfigMap"}},
//		}
//	}
//
//	func (h *Hello) Add(event *wharf.Event) (wharf.Outcome, error) {
//		slog.Info(h.Greeting, "name", event.Name())
//		return wharf.Done(), nil
//	}
//
//	func init() { wharf.Register(func() *Hello { return &Hello{Greeting: "hello"} }) }
//
//	func main() {}
//
// The package owns what an author sees: typed access to the event, the configuration and the
// log; the cluster is in the package cluster. It never decides when a plugin is called or what
// it may do: the host does.
package wharf

import (
	"github.com/wharf-dev/wharf/sdk/go/cluster"
	handler "github.com/wharf-dev/wharf/sdk/go/internal/bindings/export_wharf_plugin_handler"
	setup "github.com/wharf-dev/wharf/sdk/go/internal/bindings/export_wharf_plugin_setup"
	"github.com/wharf-dev/wharf/sdk/go/internal/bindings/wharf_plugin_types"
	"github.com/wharf-dev/wharf/sdk/go/internal/wittypes"
)

// GVK is group, version and kind; the same type as in the package cluster.
type GVK = cluster.GVK

// ObjectRef says which object is meant; the same type as in the package cluster.
type ObjectRef = cluster.ObjectRef

// Handler is a plugin. It is a pointer to a struct that is its configuration: the struct is
// read from spec.config of the Plugin document by encoding/json. Fields that it does not have
// under exactly that name are refused, and so is a null for a type that has none.
//
// Calls for one key never overlap; calls for different keys may run at the same time in
// different instances, and the host throws instances away: keep nothing in globals that cannot
// be made again. Delivery is at least once, so every function must be fine with being called
// again.
type Handler interface {
	// Describe says what the plugin is called and what it asks for. It is called with a
	// configuration that passed [Validator], and without one by "wharf inspect". Effects
	// refuse here.
	Describe() Description
	// Add is called when the key was not known to this plugin, and the object exists. An error
	// says whether and when the host tries again: see [Failure].
	Add(event *Event) (Outcome, error)
}

// Updater is a [Handler] that treats changes otherwise than new objects. Without it, Add is
// called.
type Updater interface {
	// Update is called when the object changed since the last successful call, or it is time
	// again.
	Update(event *Event) (Outcome, error)
}

// Deleter is a [Handler] that wants to know of the end of objects. Without it, nothing is done.
type Deleter interface {
	// Delete is called when the object is gone, no longer matches, or was replaced: see
	// [Delivery.Removal]. A permanent failure ends the key.
	Delete(event *Event) (Outcome, error)
}

// Validator is a [Handler] that checks its configuration beyond what its types say.
type Validator interface {
	// Validate says all that is wrong, for people, by [errors.Join] if there is more than one.
	// The revision does not go into service then.
	Validate() error
}

// Register exports a handler as the component's. Call it once, in an init function. The
// function that it is given makes a handler with the defaults of its configuration; it is
// called at least once per instance.
func Register[H Handler](make func() H) {
	plugin := &plugin[H]{make: make}
	setup.ValidateConfig = plugin.validate
	setup.Describe = plugin.describe
	handler.Add = plugin.add
	handler.Update = plugin.update
	handler.Delete = plugin.delete
	start()
}

const unregistered = "no plugin is registered: call wharf.Register in an init function"

// Until a plugin is registered, every call says so.
func init() {
	setup.ValidateConfig = func(string) wittypes.Result[wittypes.Unit, []string] {
		return wittypes.Err[wittypes.Unit]([]string{unregistered})
	}
	setup.Describe = func() string { panic(unregistered) }
	none := func(wharf_plugin_types.Delivery) handler.Answer { return failed(fault(unregistered)) }
	handler.Add, handler.Update, handler.Delete = none, none, none
}
