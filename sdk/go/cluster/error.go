// Why a use of the cluster failed.

package cluster

import (
	"fmt"
	"time"

	"github.com/wharf-dev/wharf/sdk/go/internal/bindings/wharf_plugin_cluster"
)

// Code says why a use of the cluster failed, in the contract's words. It is an error itself, so
// that [errors.Is] finds it: errors.Is(err, cluster.NotFound).
type Code string

// The codes.
const (
	// NotGranted: the Plugin document does not grant it; nothing was sent.
	NotGranted Code = "not-granted"
	// Forbidden: the plugin's identity does not have the right.
	Forbidden Code = "forbidden"
	// NotFound: no such object; for a write also: no such namespace.
	NotFound Code = "not-found"
	// Conflict: another state, or a field of another manager.
	Conflict Code = "conflict"
	// AlreadyExists: the name is taken.
	AlreadyExists Code = "already-exists"
	// Invalid: the API server does not accept the object or the request.
	Invalid Code = "invalid"
	// Throttled: too many requests; try again after [Error.RetryAfter].
	Throttled Code = "throttled"
	// Unavailable: the API server cannot be reached or is not able to answer.
	Unavailable Code = "unavailable"
	// TooLarge: the object or the answer is larger than the host hands over.
	TooLarge Code = "too-large"
	// Undecodable: the answer does not have the asked for type, or the object cannot be written
	// as JSON. The host never says this.
	Undecodable Code = "undecodable"
)

func (c Code) Error() string { return string(c) }

// Error is why a use of the cluster failed. Returned from a handler it becomes a retry.
type Error struct {
	// Code is the kind of failure.
	Code Code
	// Text is what the host or the API server says; empty where the code says it all.
	Text string
	// RetryAfter is only set with [Throttled].
	RetryAfter time.Duration
}

func (e *Error) Error() string {
	switch {
	case e.Code == Throttled:
		return fmt.Sprintf("throttled: try again after %d ms", e.RetryAfter.Milliseconds())
	case e.Code == Undecodable:
		return "cannot be read: " + e.Text
	case e.Text == "":
		return words(e.Code)
	}
	return words(e.Code) + ": " + e.Text
}

// Is says whether the target is the error's code.
func (e *Error) Is(target error) bool {
	code, ok := target.(Code)
	return ok && code == e.Code
}

func words(code Code) string {
	text := []byte(code)
	for i, b := range text {
		if b == '-' {
			text[i] = ' '
		}
	}
	return string(text)
}

func undecodable(err error) *Error { return &Error{Code: Undecodable, Text: err.Error()} }

func fromWire(wire wharf_plugin_cluster.ApiError) *Error {
	switch wire.Tag() {
	case wharf_plugin_cluster.ApiErrorNotGranted:
		return &Error{Code: NotGranted, Text: wire.NotGranted()}
	case wharf_plugin_cluster.ApiErrorForbidden:
		return &Error{Code: Forbidden, Text: wire.Forbidden()}
	case wharf_plugin_cluster.ApiErrorNotFound:
		return &Error{Code: NotFound}
	case wharf_plugin_cluster.ApiErrorConflict:
		return &Error{Code: Conflict, Text: wire.Conflict()}
	case wharf_plugin_cluster.ApiErrorAlreadyExists:
		return &Error{Code: AlreadyExists}
	case wharf_plugin_cluster.ApiErrorInvalid:
		return &Error{Code: Invalid, Text: wire.Invalid()}
	case wharf_plugin_cluster.ApiErrorThrottled:
		return &Error{Code: Throttled, RetryAfter: time.Duration(wire.Throttled()) * time.Millisecond}
	case wharf_plugin_cluster.ApiErrorUnavailable:
		return &Error{Code: Unavailable, Text: wire.Unavailable()}
	default:
		return &Error{Code: TooLarge}
	}
}
