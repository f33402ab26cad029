package wharftest

import "testing"

func TestSelectors(t *testing.T) {
	for _, c := range []struct {
		selector, value string
		want            bool
	}{
		{"a", "x", true}, {"a", "", false}, {"!a", "", true}, {"a=x", "x", true}, {"a==x", "y", false}, {"a!=x", "", true},
		{"a in (x, y)", "y", true}, {"a notin (x, y)", "y", false}, {"a in (x, y), a!=y", "y", false}, {"", "", true},
	} {
		got, err := selects(c.selector, func(string) (string, bool) { return c.value, c.value != "" })
		if got != c.want || err != nil {
			t.Errorf("%q of %q: %v, %v", c.selector, c.value, got, err)
		}
	}
	for _, wrong := range []string{"=x", "a b"} {
		if _, err := selects(wrong, func(string) (string, bool) { return "", false }); err == nil {
			t.Errorf("%q is a selector", wrong)
		}
	}
}
