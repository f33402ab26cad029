//go:build !wasm

// What the mock remembers of a handler's work.

package wharftest

import (
	"log/slog"

	wharf "github.com/wharf-dev/wharf/sdk/go"
	"github.com/wharf-dev/wharf/sdk/go/cluster"
)

// Operation is a function of the cluster.
type Operation string

// The functions of the cluster.
const (
	Get        Operation = "get"
	List       Operation = "list"
	Create     Operation = "create"
	Apply      Operation = "apply"
	MergePatch Operation = "merge-patch"
	Delete     Operation = "delete"
)

// LogLine is a line of the log.
type LogLine struct {
	Level   slog.Level
	Message string
	Fields  map[string]string
}

// Event is a Kubernetes Event.
type Event struct {
	About           wharf.ObjectRef
	Type            cluster.EventType
	Reason, Message string
}

// Write is a write that the mock accepted.
type Write struct {
	// Operation is the function.
	Operation Operation
	// Target is the object that was written.
	Target wharf.ObjectRef
	// Body is the object or patch as sent; nil for a delete.
	Body Object
	// DryRun: nothing was stored.
	DryRun bool
	// Force as in the options.
	Force bool
}

// planned is a failure that a test wants.
type planned struct {
	operation Operation
	err       cluster.Error
}
