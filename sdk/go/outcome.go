// How calls end, and what an error of any kind means to the host. It never decides when a key
// comes back: the host's queue does.

package wharf

import (
	"errors"
	"math"
	"time"

	"github.com/wharf-dev/wharf/sdk/go/cluster"
	export "github.com/wharf-dev/wharf/sdk/go/internal/bindings/export_wharf_plugin_handler"
	"github.com/wharf-dev/wharf/sdk/go/internal/bindings/wharf_plugin_types"
	"github.com/wharf-dev/wharf/sdk/go/internal/host"
	"github.com/wharf-dev/wharf/sdk/go/internal/wittypes"
)

// The reasons that this package uses; every description lists them.
const (
	reasonConfigInvalid     = "ConfigInvalid"
	reasonObjectInvalid     = "ObjectInvalid"
	reasonGrantMissing      = "GrantMissing"
	reasonForbidden         = "Forbidden"
	reasonConflict          = "Conflict"
	reasonServerUnavailable = "ServerUnavailable"
	reasonAPIError          = "ApiError"
	reasonHandlerError      = "HandlerError"
)

// Outcome is how a call that succeeded ends. The zero value is [Done].
type Outcome struct {
	again bool
	after time.Duration
}

// Done forgets the key until it changes again.
func Done() Outcome { return Outcome{} }

// RequeueAfter has the handler called again after this time even if nothing changes. To the
// millisecond, at most 49 days.
func RequeueAfter(after time.Duration) Outcome { return Outcome{again: true, after: after} }

// Requeue is the time asked for with [RequeueAfter], and whether it was.
func (o Outcome) Requeue() (time.Duration, bool) { return o.after, o.again }

func (o Outcome) wire() wharf_plugin_types.Outcome {
	if o.again {
		return wharf_plugin_types.MakeOutcomeRequeueAfter(milliseconds(o.after))
	}
	return wharf_plugin_types.MakeOutcomeDone()
}

// Failure is a call that failed, as an error that a handler returns. Other errors fit as well:
// those of this SDK have a reason each, any other one is a retry with the reason HandlerError.
type Failure struct {
	permanent       bool
	reason, message string
	after           wittypes.Option[uint32]
}

// Retry has the call made again, with the queue's backoff. The reason is one CamelCase word and
// a metric label: list it in [Description.Reasons], else it counts as Other.
func Retry(reason, message string) *Failure { return &Failure{reason: reason, message: message} }

// Permanent gives the object up until it changes.
func Permanent(reason, message string) *Failure {
	return &Failure{permanent: true, reason: reason, message: message}
}

// After is the same failure, tried again not before this time instead of the queue's backoff.
// Without effect on a permanent one.
func (f *Failure) After(after time.Duration) *Failure {
	later := *f
	later.after = wittypes.Some(milliseconds(after))
	return &later
}

// IsPermanent says whether the object is given up until it changes.
func (f *Failure) IsPermanent() bool { return f.permanent }

// Reason is the CamelCase word.
func (f *Failure) Reason() string { return f.reason }

// Message is what happened, for people.
func (f *Failure) Message() string { return f.message }

// RetryAfter is the time asked for with [Failure.After], and whether it was.
func (f *Failure) RetryAfter() (time.Duration, bool) {
	after, ok := f.after.Get()
	return time.Duration(after) * time.Millisecond, ok
}

func (f *Failure) Error() string { return f.reason + ": " + f.message }

func (f *Failure) wire() wharf_plugin_types.Failure {
	fault := wharf_plugin_types.Fault{Reason: host.Text(f.reason), Message: host.Text(f.message), RetryAfterMs: f.after}
	if f.permanent {
		return wharf_plugin_types.MakeFailurePermanent(fault)
	}
	return wharf_plugin_types.MakeFailureRetry(fault)
}

// toFailure is the failure that an error stands for, also one that is wrapped. The text is that
// of the whole error.
func toFailure(err error) *Failure {
	if failure, ok := errors.AsType[*Failure](err); ok {
		if error(failure) == err {
			return failure
		}
		wrapped := *failure
		wrapped.message = err.Error()
		return &wrapped
	}
	if api, ok := errors.AsType[*cluster.Error](err); ok {
		failure := Retry(apiReason(api.Code), err.Error())
		if api.Code == cluster.Throttled {
			failure = failure.After(api.RetryAfter)
		}
		return failure
	}
	if _, ok := errors.AsType[*ReadError](err); ok {
		return Permanent(reasonObjectInvalid, err.Error())
	}
	if _, ok := errors.AsType[*ConfigError](err); ok {
		return Permanent(reasonConfigInvalid, err.Error())
	}
	return fault(err.Error())
}

func apiReason(code cluster.Code) string {
	switch code {
	case cluster.NotGranted:
		return reasonGrantMissing
	case cluster.Forbidden:
		return reasonForbidden
	case cluster.Conflict:
		return reasonConflict
	case cluster.Throttled, cluster.Unavailable:
		return reasonServerUnavailable
	case cluster.Undecodable:
		return reasonObjectInvalid
	}
	return reasonAPIError
}

// fault is a failure that nobody has a name for.
func fault(text string) *Failure { return Retry(reasonHandlerError, text) }

func failed(failure *Failure) export.Answer {
	return wittypes.Err[wharf_plugin_types.Outcome](failure.wire())
}

func milliseconds(duration time.Duration) uint32 {
	return uint32(min(max(duration.Milliseconds(), 0), math.MaxUint32))
}
