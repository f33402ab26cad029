// Package jsontext turns JSON text into Go values and back, as the whole SDK does it.
package jsontext

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
)

// Decode reads a value. A [json.RawMessage] is the text as it came. A null in a list or a map is
// a *[Problem] unless the type has a null.
func Decode[T any](text string) (T, error) {
	var value T
	if raw, ok := any(&value).(*json.RawMessage); ok {
		*raw = json.RawMessage(text)
		return value, nil
	}
	if strings.Contains(text, "null") {
		if err := (checker{}).value(json.RawMessage(text), reflect.TypeFor[T](), ""); err != nil {
			return value, err
		}
	}
	err := json.Unmarshal([]byte(text), &value)
	return value, err
}

// Absent says whether a text stands for no value of the type: encoding/json takes a null for
// anything and leaves the zero value, which would then look like one that is there.
func Absent[T any](text string) bool {
	_, raw := any((*T)(nil)).(*json.RawMessage)
	return text == "null" && !raw
}

// DecodeStrict reads into what a pointer points to, whose fields keep what they have where the
// text says nothing. A field that is not there under exactly this name, or a null for a type that
// has none, is a *[Problem].
func DecodeStrict(text string, into any) error {
	if err := (checker{strict: true}).value(json.RawMessage(text), reflect.TypeOf(into), ""); err != nil {
		return err
	}
	return json.Unmarshal([]byte(text), into)
}

// Encode writes a value, without the escapes that only HTML needs. A [json.RawMessage] stays as
// it is.
func Encode(value any) (string, error) {
	if raw, ok := value.(json.RawMessage); ok {
		return string(raw), nil
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "", err
	}
	return strings.TrimSuffix(text.String(), "\n"), nil
}
