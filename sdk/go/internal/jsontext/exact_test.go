package jsontext

import (
	"encoding/json"
	"testing"
	"time"
)

type inner struct {
	Deep string `json:"deep"`
}

type settings struct {
	inner
	Name    string            `json:"name"`
	Plain   int               `json:",omitempty"`
	Maybe   *int              `json:"maybe"`
	Any     any               `json:"any"`
	When    time.Time         `json:"when"`
	List    []string          `json:"list"`
	Map     map[string]string `json:"map"`
	Nested  inner             `json:"nested"`
	Skipped string            `json:"-"`
}

func TestConfigurationsFitExactly(t *testing.T) {
	for text, want := range map[string]string{
		`{"name": "a", "deep": "b", "Plain": 1, "list": ["a"], "map": {"A": "b"}, "nested": {"deep": "c"}}`: "",
		`{"maybe": null, "any": null, "when": null}`:                                                        "",
		`{"NAME": "a"}`:             "/NAME: unknown field",
		`{"plain": 1}`:              "/plain: unknown field",
		`{"Skipped": "a"}`:          "/Skipped: unknown field",
		`{"nested": {"Deep": "c"}}`: "/nested/Deep: unknown field",
		`{"a/b": 1}`:                "/a~1b: unknown field",
		`{"name": null}`:            "/name: null is no string",
		`{"list": ["a", null]}`:     "/list/1: null is no string",
		`{"map": {"a": null}}`:      "/map/a: null is no string",
		`{"list": null}`:            "/list: null is no []string",
	} {
		got := ""
		if err := DecodeStrict(text, &settings{}); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, wanted %q", text, got, want)
		}
	}
}

func TestReadsRefuseNullsThatWouldBecomeZeroValues(t *testing.T) {
	if list, err := Decode[[]string](`["a", null]`); err == nil {
		t.Errorf("%q", list)
	}
	if list, err := Decode[[]*string](`["a", null]`); err != nil || len(list) != 2 || list[1] != nil {
		t.Errorf("%v, %v", list, err)
	}
	// In an object a null is as good as nothing.
	if value, err := Decode[settings](`{"name": null, "unknown": null}`); err != nil || value.Name != "" {
		t.Errorf("%v, %v", value, err)
	}
	if value, err := Decode[json.RawMessage](`[null]`); err != nil || string(value) != "[null]" {
		t.Errorf("%s, %v", value, err)
	}
}
