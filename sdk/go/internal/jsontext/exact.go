// What encoding/json lets through and the SDK does not: names in another case, and nulls that
// leave a zero value. It finds them, and never reads a value itself.

package jsontext

import (
	"encoding"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Problem is a place in a JSON text that does not fit the type.
type Problem struct {
	// Pointer is the place, by RFC 6901.
	Pointer string
	// Text is what is wrong there.
	Text string
}

func (p *Problem) Error() string { return p.Pointer + ": " + p.Text }

// checker walks a JSON text and a type together. It refuses nulls in lists and maps, where they
// would pass for a zero value; a strict one also those in fields of structs, and unknown fields.
type checker struct{ strict bool }

// value is the first problem in a text. One of another type is none: the JSON reader says so.
func (c checker) value(text json.RawMessage, wanted reflect.Type, pointer string) error {
	if readsItself(wanted) {
		return nil
	}
	switch wanted.Kind() {
	case reflect.Interface:
		return nil
	case reflect.Pointer:
		if string(text) == "null" {
			return nil
		}
		return c.value(text, wanted.Elem(), pointer)
	}
	if string(text) == "null" {
		return &Problem{pointer, "null is no " + wanted.String()}
	}
	switch wanted.Kind() {
	case reflect.Struct:
		return c.object(text, wanted, pointer)
	case reflect.Map:
		return c.members(text, pointer, false, func(string) (reflect.Type, bool) { return wanted.Elem(), true })
	case reflect.Slice, reflect.Array:
		var items []json.RawMessage
		if json.Unmarshal(text, &items) != nil {
			return nil
		}
		for i, item := range items {
			if err := c.value(item, wanted.Elem(), pointer+"/"+strconv.Itoa(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// object is the first problem in an object that is read into a struct.
func (c checker) object(text json.RawMessage, wanted reflect.Type, pointer string) error {
	known := map[string]reflect.Type{}
	addFields(wanted, known)
	return c.members(text, pointer, !c.strict, func(name string) (reflect.Type, bool) {
		field, ok := known[name]
		return field, ok
	})
}

// members is the first problem in the members of an object; a lenient look takes null as absent.
func (c checker) members(text json.RawMessage, pointer string, lenient bool, typeOf func(name string) (reflect.Type, bool)) error {
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		place := pointer + "/" + escape(name)
		wanted, ok := typeOf(name)
		if !ok && c.strict {
			return &Problem{place, "unknown field"}
		}
		if !ok || lenient && string(members[name]) == "null" {
			continue
		}
		if err := c.value(members[name], wanted, place); err != nil {
			return err
		}
	}
	return nil
}

// addFields adds the fields of a struct by their names in JSON. A field of an embedded struct
// does not hide one that is nearer.
func addFields(of reflect.Type, known map[string]reflect.Type) {
	var embedded []reflect.Type
	for i := range of.NumField() {
		field := of.Field(i)
		tag := field.Tag.Get("json")
		name, _, _ := strings.Cut(tag, ",")
		if inner := structOf(field.Type); field.Anonymous && name == "" && inner != nil {
			embedded = append(embedded, inner)
			continue
		}
		if tag == "-" || !field.IsExported() {
			continue
		}
		if name == "" {
			name = field.Name
		}
		if _, hidden := known[name]; !hidden {
			known[name] = field.Type
		}
	}
	for _, inner := range embedded {
		addFields(inner, known)
	}
}

// structOf is the struct that a type is or points to, or nil.
func structOf(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	return t
}

// readsItself says whether a type has a reader of its own, which knows what a null is.
func readsItself(t reflect.Type) bool {
	pointer := reflect.PointerTo(t)
	return pointer.Implements(reflect.TypeFor[json.Unmarshaler]()) || pointer.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// escape makes one token of a pointer.
func escape(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}
