//go:build !wasm

// One call to be made, and its answer in the SDK's words.

package wharftest

import (
	"cmp"
	"slices"
	"time"

	wharf "github.com/wharf-dev/wharf/sdk/go"
	handler "github.com/wharf-dev/wharf/sdk/go/internal/bindings/export_wharf_plugin_handler"
	"github.com/wharf-dev/wharf/sdk/go/internal/bindings/wharf_plugin_types"
	"github.com/wharf-dev/wharf/sdk/go/internal/jsontext"
	"github.com/wharf-dev/wharf/sdk/go/internal/wittypes"
)

// Call is a call to be made: which function, with which objects, and what the host says of it.
type Call struct {
	// Change is the function.
	Change wharf.Change
	// Current and Previous are the object as it is and as it was; nil if absent. One of them
	// must be there, or Delivery.Key must be set.
	Current, Previous Object
	// Delivery is what the host says. What is not set is what a host says of a first call for
	// a change that the watch reported, for the subscription "main", with ten seconds to go.
	Delivery wharf.Delivery
}

// The enumerations in the contract's order.
var (
	causes = []wharf.Cause{
		wharf.CauseInitialList, wharf.CauseWatch, wharf.CauseResync, wharf.CauseRequeue, wharf.CauseRetry, wharf.CauseReload,
		wharf.CauseChangedOffline, wharf.CauseRelated, wharf.CauseManual, wharf.CauseSchedule,
	}
	removals = []wharf.Removal{wharf.RemovalNone, wharf.RemovalGone, wharf.RemovalUnmatched, wharf.RemovalReplaced}
)

// begin makes the host's state that of the call.
func (h *Host) begin(call Call) wharf_plugin_types.Delivery {
	h.t.Helper()
	d := h.complete(call)
	h.current, h.previous, h.remaining = nil, nil, d.Budget
	if call.Previous != nil {
		h.previous = h.object(call.Previous)
	}
	if call.Current != nil {
		h.current = h.object(call.Current)
		if call.Change != wharf.ChangeDelete {
			h.cluster.put(h.object(call.Current))
		}
	}
	if call.Change == wharf.ChangeDelete && d.Removal == wharf.RemovalGone {
		h.cluster.remove(keyOf(d.Key))
	}
	namespace := wittypes.None[string]()
	if d.Key.Namespace != "" {
		namespace = wittypes.Some(d.Key.Namespace)
	}
	kind := d.Key.Kind
	return wharf_plugin_types.Delivery{
		Key: wharf_plugin_types.ObjectRef{
			Kind:      wharf_plugin_types.Gvk{Group: kind.Group, Version: kind.Version, Kind: kind.Kind},
			Namespace: namespace, Name: d.Key.Name, Uid: d.Key.UID,
		},
		ResourceVersion: d.ResourceVersion, Deleting: d.Deleting, Subscription: d.Subscription,
		Removal: uint8(slices.Index(removals, d.Removal)), FinalStateUnknown: d.FinalStateUnknown,
		Cause: uint8(slices.Index(causes, d.Cause)), Attempt: d.Attempt,
		QueuedMs: uint32(d.Queued.Milliseconds()), BudgetMs: uint32(d.Budget.Milliseconds()),
		Size: d.Size, Traceparent: d.Traceparent,
	}
}

// complete is the call's delivery with everything that the test did not say.
func (h *Host) complete(call Call) wharf.Delivery {
	h.t.Helper()
	d := call.Delivery
	object := call.Current
	if object == nil {
		object = call.Previous
	}
	if d.Key.Name == "" {
		d.Key = h.reference(object)
	}
	if call.Current != nil {
		text, err := jsontext.Encode(call.Current)
		if err != nil {
			h.t.Fatalf("wharftest: %v", err)
		}
		d.Size = uint32(len(text))
		d.ResourceVersion = cmp.Or(d.ResourceVersion, textAt(call.Current, "/metadata/resourceVersion"))
		_, deleting := lookup(call.Current, "/metadata/deletionTimestamp")
		d.Deleting = d.Deleting || deleting
	}
	d.Subscription = cmp.Or(d.Subscription, "main")
	d.Cause = cmp.Or(d.Cause, wharf.CauseWatch)
	d.Attempt = cmp.Or(d.Attempt, 1)
	d.Budget = cmp.Or(d.Budget, 10*time.Second)
	if call.Change == wharf.ChangeDelete {
		d.Removal = cmp.Or(d.Removal, wharf.RemovalGone)
	}
	d.Removal = cmp.Or(d.Removal, wharf.RemovalNone)
	if !slices.Contains(causes, d.Cause) || !slices.Contains(removals, d.Removal) {
		h.t.Fatalf("wharftest: no cause is named %q or no removal %q", d.Cause, d.Removal)
	}
	return d
}

// outcome is the handler's answer in the SDK's words.
func outcome(answer handler.Answer) (wharf.Outcome, *wharf.Failure) {
	if answer.Tag() == wittypes.ResultOk {
		if ok := answer.Ok(); ok.Tag() == wharf_plugin_types.OutcomeRequeueAfter {
			return wharf.RequeueAfter(time.Duration(ok.RequeueAfter()) * time.Millisecond), nil
		}
		return wharf.Done(), nil
	}
	failed := answer.Err()
	if failed.Tag() == wharf_plugin_types.FailurePermanent {
		fault := failed.Permanent()
		return wharf.Done(), wharf.Permanent(fault.Reason, fault.Message)
	}
	fault := failed.Retry()
	failure := wharf.Retry(fault.Reason, fault.Message)
	if after, ok := fault.RetryAfterMs.Get(); ok {
		failure = failure.After(time.Duration(after) * time.Millisecond)
	}
	return wharf.Done(), failure
}
