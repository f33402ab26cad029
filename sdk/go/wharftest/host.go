//go:build !wasm

// Package wharftest is a mock of the host, so that a plugin's logic is tested natively by plain
// "go test". It tests the plugin that the package registers.
//
// [Host] holds the configuration and a small cluster, makes calls of the handler, and records
// what the handler did: log lines, writes, Kubernetes Events. Any use of the cluster can be
// made to fail. The mock knows no RBAC and no admission, and its server-side apply knows one
// field manager: what depends on those is tested against a real API server.
//
//	host := wharftest.New(t)
//	outcome, failure := host.Add(wharftest.JSON(`{"apiVersion": "v1", "kind": "ConfigMap",
//		"metadata": {"namespace": "a", "name": "b"}}`))
package wharftest

import (
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	wharf "github.com/wharf-dev/wharf/sdk/go"
	"github.com/wharf-dev/wharf/sdk/go/cluster"
	handler "github.com/wharf-dev/wharf/sdk/go/internal/bindings/export_wharf_plugin_handler"
	setup "github.com/wharf-dev/wharf/sdk/go/internal/bindings/export_wharf_plugin_setup"
	"github.com/wharf-dev/wharf/sdk/go/internal/host"
	"github.com/wharf-dev/wharf/sdk/go/internal/jsontext"
	"github.com/wharf-dev/wharf/sdk/go/internal/wittypes"
)

// Object is a Kubernetes object, or any other JSON object.
type Object = map[string]any

// JSON is the object that a text stands for. It panics if the text is no JSON object.
func JSON(text string) Object {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var object Object
	if err := decoder.Decode(&object); err != nil {
		panic("wharftest: " + err.Error())
	}
	return object
}

// Host is the host of one test.
type Host struct {
	t testing.TB
	backend
}

// New is a host with an empty cluster and the configuration {}.
func New(t testing.TB) *Host {
	return &Host{t: t, backend: backend{
		config: Object{}, cluster: newCluster(), logLevel: wharf.LevelTrace, now: time.Unix(1_700_000_000, 0).UTC(), random: 1,
	}}
}

// Config sets the configuration: a map, or any other value that is a JSON object.
func (h *Host) Config(config any) *Host {
	h.t.Helper()
	h.config = h.object(config)
	return h
}

// Object puts an object into the cluster, as another client would. Its uid is kept or made up.
func (h *Host) Object(object Object) *Host {
	h.t.Helper()
	h.reference(object)
	h.cluster.put(h.object(object))
	return h
}

// MissingNamespace has writes into a namespace answered as the API server does where it does
// not exist.
func (h *Host) MissingNamespace(name string) *Host {
	h.cluster.missing[name] = true
	return h
}

// Fail has the next use of this function of the cluster fail so. Several are used up in order.
func (h *Host) Fail(operation Operation, err cluster.Error) *Host {
	h.failures = append(h.failures, planned{operation, err})
	return h
}

// LogLevel drops lines below this level; all are kept by default.
func (h *Host) LogLevel(level slog.Level) *Host {
	h.logLevel = level
	return h
}

// Now sets the clock. It stands still but for one millisecond with every look at it, so that
// waiting loops end.
func (h *Host) Now(now time.Time) *Host {
	h.now = now
	return h
}

// Validate is what the handler says of its configuration before going into service; nil if it
// is good.
func (h *Host) Validate() []string {
	h.t.Helper()
	var wrong []string
	h.enter(func() {
		if result := setup.ValidateConfig(h.ConfigJSON()); result.Tag() == wittypes.ResultErr {
			wrong = result.Err()
		}
	})
	return wrong
}

// Describe is what the handler asks for, as the host reads it.
func (h *Host) Describe() Object {
	h.t.Helper()
	var text string
	h.enter(func() { text = setup.Describe() })
	return JSON(text)
}

// Add calls Add; the object is in the cluster from then on.
func (h *Host) Add(object Object) (wharf.Outcome, *wharf.Failure) {
	h.t.Helper()
	return h.Call(Call{Change: wharf.ChangeAdd, Current: object})
}

// Update calls Update; the cluster has the current object from then on.
func (h *Host) Update(previous, current Object) (wharf.Outcome, *wharf.Failure) {
	h.t.Helper()
	return h.Call(Call{Change: wharf.ChangeUpdate, Previous: previous, Current: current})
}

// Delete calls Delete with this final state; the object is no longer in the cluster.
func (h *Host) Delete(last Object) (wharf.Outcome, *wharf.Failure) {
	h.t.Helper()
	return h.Call(Call{Change: wharf.ChangeDelete, Previous: last, Current: last})
}

// Call makes a call with everything that a host can say about it.
func (h *Host) Call(call Call) (wharf.Outcome, *wharf.Failure) {
	h.t.Helper()
	delivery := h.begin(call)
	var answer handler.Answer
	h.enter(func() {
		switch call.Change {
		case wharf.ChangeAdd:
			answer = handler.Add(delivery)
		case wharf.ChangeUpdate:
			answer = handler.Update(delivery)
		case wharf.ChangeDelete:
			answer = handler.Delete(delivery)
		default:
			h.t.Fatalf("wharftest: no call is named %q", call.Change)
		}
	})
	h.current, h.previous, h.remaining = nil, nil, 0
	return outcome(answer)
}

// Logs are the log lines of all calls so far.
func (h *Host) Logs() []LogLine { return h.logs }

// Events are the Kubernetes Events of all calls so far.
func (h *Host) Events() []Event { return h.events }

// Writes are the writes of all calls so far that did not fail.
func (h *Host) Writes() []Write { return h.writes }

// Clear forgets log lines, Events and writes.
func (h *Host) Clear() *Host {
	h.logs, h.events, h.writes = nil, nil, nil
	return h
}

// Get is an object of the cluster as it is now; nil if there is none.
func (h *Host) Get(kind wharf.GVK, namespace, name string) Object {
	return h.cluster.get(key{kind, namespace, name})
}

// running lets one test at a time have the process's log and the host's functions.
var running sync.Mutex

// enter runs a call against this host.
func (h *Host) enter(call func()) {
	running.Lock()
	defer running.Unlock()
	before, log := host.Current, slog.Default()
	host.Current = &h.backend
	slog.SetDefault(slog.New(wharf.LogHandler()))
	defer func() {
		host.Current = before
		slog.SetDefault(log)
	}()
	call()
}

// object is a copy of a value as the JSON object that it is.
func (h *Host) object(value any) Object {
	h.t.Helper()
	text, err := jsontext.Encode(value)
	if err != nil {
		h.t.Fatalf("wharftest: %v", err)
	}
	return JSON(text)
}

func (h *Host) reference(object Object) wharf.ObjectRef {
	h.t.Helper()
	target, ok := reference(object)
	if !ok {
		h.t.Fatalf("wharftest: no apiVersion, kind or metadata.name: %v", object)
	}
	return target
}
