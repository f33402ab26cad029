// Package wittypes has the types of WIT that Go lacks, as the generated bindings use them.
// It knows nothing of memory and of the host.
package wittypes

// The tags of an [Option].
const (
	OptionNone uint8 = iota
	OptionSome
)

// Option is a value or its absence.
type Option[T any] struct {
	tag   uint8
	value T
}

// None is an absent value.
func None[T any]() Option[T] { return Option[T]{} }

// Some is a value that is there.
func Some[T any](value T) Option[T] { return Option[T]{tag: OptionSome, value: value} }

// Tag is [OptionNone] or [OptionSome].
func (o Option[T]) Tag() uint8 { return o.tag }

// Some is the value; it panics if there is none.
func (o Option[T]) Some() T {
	if o.tag != OptionSome {
		panic("wittypes: the option is none")
	}
	return o.value
}

// Get is the value and whether it is there.
func (o Option[T]) Get() (T, bool) { return o.value, o.tag == OptionSome }

// The tags of a [Result].
const (
	ResultOk uint8 = iota
	ResultErr
)

// Result is an answer or an error.
type Result[T, E any] struct {
	tag uint8
	ok  T
	err E
}

// Ok is an answer.
func Ok[T, E any](value T) Result[T, E] { return Result[T, E]{tag: ResultOk, ok: value} }

// Err is an error.
func Err[T, E any](value E) Result[T, E] { return Result[T, E]{tag: ResultErr, err: value} }

// Tag is [ResultOk] or [ResultErr].
func (r Result[T, E]) Tag() uint8 { return r.tag }

// Ok is the answer; it panics if there is an error.
func (r Result[T, E]) Ok() T {
	if r.tag != ResultOk {
		panic("wittypes: the result is an error")
	}
	return r.ok
}

// Err is the error; it panics if there is an answer.
func (r Result[T, E]) Err() E {
	if r.tag != ResultErr {
		panic("wittypes: the result is no error")
	}
	return r.err
}

// Tuple2 is a pair.
type Tuple2[A, B any] struct {
	F0 A
	F1 B
}

// Unit is no value.
type Unit struct{}
