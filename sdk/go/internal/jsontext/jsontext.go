// Package jsontext turns JSON text into Go values and back, as the whole SDK does it.
package jsontext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Decode reads a value. A [json.RawMessage] is the text as it came.
func Decode[T any](text string) (T, error) {
	var value T
	if raw, ok := any(&value).(*json.RawMessage); ok {
		*raw = json.RawMessage(text)
		return value, nil
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
// text says nothing. A field that is not there is an error.
func DecodeStrict(text string, into any) error {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return fmt.Errorf("there is something behind the JSON value")
	}
	return nil
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
