// What the host says about a call, in Go types.

package wharf

import (
	"time"

	"github.com/wharf-dev/wharf/sdk/go/internal/bindings/wharf_plugin_types"
)

// Change says which function of the handler is called.
type Change string

// The changes, in the words of documents and logs.
const (
	ChangeAdd    Change = "add"
	ChangeUpdate Change = "update"
	ChangeDelete Change = "delete"
)

// Delivery is what the host says about a call.
type Delivery struct {
	// Key is the object that the call is for.
	Key ObjectRef
	// ResourceVersion is its metadata.resourceVersion; compare for equality only.
	ResourceVersion string
	// Deleting: metadata.deletionTimestamp is set, finalizers are still pending.
	Deleting bool
	// Subscription is the name of the subscription that the call is for.
	Subscription string
	// Removal is why Delete is called.
	Removal Removal
	// FinalStateUnknown is only set in Delete: the delete itself was missed, and the current
	// object is an older state, which may lack the last changes.
	FinalStateUnknown bool
	// Cause is why the host calls. Several changes may have been folded into one call, which
	// then has the cause of the last of them.
	Cause Cause
	// Attempt is 1, plus the calls for this key that failed or were interrupted since the last
	// one that succeeded.
	Attempt uint32
	// Queued is the time that the key waited in the queue.
	Queued time.Duration
	// Budget is the wall time that this call may take.
	Budget time.Duration
	// Size is the bytes of the current object's JSON; 0 if it is absent.
	Size uint32
	// Traceparent is the W3C traceparent of the call; empty when not sampled.
	Traceparent string
}

// Cause says why the host is calling.
type Cause string

// The causes, in the contract's words.
const (
	// CauseInitialList: the first full list after the plugin's subscription started.
	CauseInitialList Cause = "initial-list"
	// CauseWatch: the watch reported a change.
	CauseWatch Cause = "watch"
	// CauseResync: a pass over everything; nothing need have changed.
	CauseResync Cause = "resync"
	// CauseRequeue: the plugin asked for it with [RequeueAfter].
	CauseRequeue Cause = "requeue"
	// CauseRetry: the last call for this key failed.
	CauseRetry Cause = "retry"
	// CauseReload: a new revision or configuration of the plugin went into service.
	CauseReload Cause = "reload"
	// CauseChangedOffline: the object changed while no host was watching.
	CauseChangedOffline Cause = "changed-offline"
	// CauseRelated: an object that a subscription maps to this one changed.
	CauseRelated Cause = "related"
	// CauseManual: an operator asked for it.
	CauseManual Cause = "manual"
	// CauseSchedule: a time of the plugin's schedule has come.
	CauseSchedule Cause = "schedule"
)

// Removal says why Delete is called.
type Removal string

// The removals, in the contract's words.
const (
	// RemovalNone: not a delete.
	RemovalNone Removal = "none"
	// RemovalGone: the object was deleted, or its whole kind was.
	RemovalGone Removal = "gone"
	// RemovalUnmatched: the object exists but no longer matches the subscription's selectors.
	RemovalUnmatched Removal = "unmatched"
	// RemovalReplaced: another object (another uid) that matches too has taken its name; Add
	// follows.
	RemovalReplaced Removal = "replaced"
)

// The words at the places of the contract's enumerations.
var (
	causes = [...]Cause{
		wharf_plugin_types.CauseInitialList: CauseInitialList, wharf_plugin_types.CauseWatch: CauseWatch,
		wharf_plugin_types.CauseResync: CauseResync, wharf_plugin_types.CauseRequeue: CauseRequeue,
		wharf_plugin_types.CauseRetry: CauseRetry, wharf_plugin_types.CauseReload: CauseReload,
		wharf_plugin_types.CauseChangedOffline: CauseChangedOffline, wharf_plugin_types.CauseRelated: CauseRelated,
		wharf_plugin_types.CauseManual: CauseManual, wharf_plugin_types.CauseSchedule: CauseSchedule,
	}
	removals = [...]Removal{
		wharf_plugin_types.RemovalNone: RemovalNone, wharf_plugin_types.RemovalGone: RemovalGone,
		wharf_plugin_types.RemovalUnmatched: RemovalUnmatched, wharf_plugin_types.RemovalReplaced: RemovalReplaced,
	}
)

func delivery(wire wharf_plugin_types.Delivery) Delivery {
	kind := wire.Key.Kind
	namespace, _ := wire.Key.Namespace.Get()
	return Delivery{
		Key: ObjectRef{
			Kind:      GVK{Group: kind.Group, Version: kind.Version, Kind: kind.Kind},
			Namespace: namespace, Name: wire.Key.Name, UID: wire.Key.Uid,
		},
		ResourceVersion:   wire.ResourceVersion,
		Deleting:          wire.Deleting,
		Subscription:      wire.Subscription,
		Removal:           removals[wire.Removal],
		FinalStateUnknown: wire.FinalStateUnknown,
		Cause:             causes[wire.Cause],
		Attempt:           wire.Attempt,
		Queued:            time.Duration(wire.QueuedMs) * time.Millisecond,
		Budget:            time.Duration(wire.BudgetMs) * time.Millisecond,
		Size:              wire.Size,
		Traceparent:       wire.Traceparent,
	}
}
