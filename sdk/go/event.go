// Lazy, typed access to the object of the running call.

package wharf

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wharf-dev/wharf/sdk/go/internal/bindings/wharf_plugin_event"
	"github.com/wharf-dev/wharf/sdk/go/internal/host"
	"github.com/wharf-dev/wharf/sdk/go/internal/jsontext"
)

// Event is a change of one object, shown to a handler. It is only useful during the call that
// it was made for. The object's bytes stay on the host until asked for.
type Event struct {
	change   Change
	delivery Delivery
}

// Change says which function of the handler is called.
func (e *Event) Change() Change { return e.change }

// Delivery is everything that the host says about the call.
func (e *Event) Delivery() *Delivery { return &e.delivery }

// Key is the object that the call is for.
func (e *Event) Key() ObjectRef { return e.delivery.Key }

// Name is metadata.name.
func (e *Event) Name() string { return e.delivery.Key.Name }

// Namespace is metadata.namespace; empty for cluster-scoped kinds.
func (e *Event) Namespace() string { return e.delivery.Key.Namespace }

// Current is the object now; in Delete its final state, which may be absent after a restart of
// the host.
func (e *Event) Current() View { return View{wharf_plugin_event.RevisionCurrent} }

// Previous is the object at the last successful call (or as filtered since). It is absent in
// Add, and maybe after a restart of the host.
func (e *Event) Previous() View { return View{wharf_plugin_event.RevisionPrevious} }

// JSON is [View.JSON] of the current object.
func (e *Event) JSON() (string, bool) { return e.Current().JSON() }

// Label is a label of the current object, and whether it is there.
func (e *Event) Label(key string) (string, bool, error) { return e.Current().Label(key) }

// Annotation is an annotation of the current object, and whether it is there.
func (e *Event) Annotation(key string) (string, bool, error) { return e.Current().Annotation(key) }

// Changed says whether what is at a pointer differs between previous and current; with several
// pointers, at least one of them, in one crossing. It is true where there is no previous.
func (e *Event) Changed(pointers ...string) bool {
	return slices.Contains(host.EventChanged(pointers), true)
}

// ChangedEach is [Event.Changed] for each of several pointers, in one crossing.
func (e *Event) ChangedEach(pointers ...string) []bool { return host.EventChanged(pointers) }

// Remaining is the wall time left before the host ends this call.
func (e *Event) Remaining() time.Duration {
	return time.Duration(host.EventRemainingMs()) * time.Millisecond
}

func (e *Event) view() View { return e.Current() }

// View is the object of the event as it is or as it was.
type View struct{ revision uint8 }

// JSON is the whole object as JSON text, and whether it is there. It costs the object's size:
// prefer [Get].
func (v View) JSON() (string, bool) { return host.EventJSON(v.revision).Get() }

// Label is a label, and whether it is there.
func (v View) Label(key string) (string, bool, error) {
	return Get[string](v, "/metadata/labels/"+escape(key))
}

// Annotation is an annotation, and whether it is there.
func (v View) Annotation(key string) (string, bool, error) {
	return Get[string](v, "/metadata/annotations/"+escape(key))
}

func (v View) view() View { return v }

// Source is what can be read from: an *[Event] (its current object) or a [View].
type Source interface{ view() View }

// Get is the value at an RFC 6901 pointer, and whether there is one:
//
//	replicas, found, err := wharf.Get[int](event, "/spec/replicas")
//
// A [encoding/json.RawMessage] is the value's JSON text; for all other types a null counts as
// absent. A value of another type is a *[ReadError], and so is a null in a list or a map of a type
// that has no null. Fields of structs are found as encoding/json finds them, also under a name in
// another case.
func Get[T any](from Source, pointer string) (T, bool, error) {
	text, found := host.EventGet(from.view().revision, pointer).Get()
	if !found || jsontext.Absent[T](text) {
		var none T
		return none, false, nil
	}
	value, err := read[T](pointer, text)
	return value, err == nil, err
}

// GetMany is the values at several pointers, in one crossing; as many as there are pointers,
// nil where nothing is.
func GetMany[T any](from Source, pointers ...string) ([]*T, error) {
	values := make([]*T, len(pointers))
	for i, answer := range host.EventGetMany(from.view().revision, pointers) {
		text, found := answer.Get()
		if !found || jsontext.Absent[T](text) {
			continue
		}
		value, err := read[T](pointers[i], text)
		if err != nil {
			return nil, err
		}
		values[i] = &value
	}
	return values, nil
}

// Object is the whole object, and whether it is there. It costs the object's size: prefer
// [Get].
func Object[T any](from Source) (T, bool, error) {
	text, found := from.view().JSON()
	if !found {
		var none T
		return none, false, nil
	}
	value, err := read[T]("", text)
	return value, err == nil, err
}

// ReadError says that a part of the object does not have the asked for type. Returned from a
// handler it is permanent: the object stays as it is until it changes.
type ReadError struct {
	// Pointer is where it stands; empty for the whole object.
	Pointer string
	// Err is what the JSON reader says.
	Err error
}

func (e *ReadError) Error() string {
	what := e.Pointer
	if what == "" {
		what = "the object"
	}
	return fmt.Sprintf("%s cannot be read: %v", what, e.Err)
}

// Unwrap is what the JSON reader says.
func (e *ReadError) Unwrap() error { return e.Err }

func read[T any](pointer, text string) (T, error) {
	value, err := jsontext.Decode[T](text)
	if problem, ok := errors.AsType[*jsontext.Problem](err); ok {
		return value, &ReadError{Pointer: pointer + problem.Pointer, Err: errors.New(problem.Text)}
	}
	if err != nil {
		return value, &ReadError{Pointer: pointer, Err: err}
	}
	return value, nil
}

// escape makes one token of a pointer.
func escape(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}
