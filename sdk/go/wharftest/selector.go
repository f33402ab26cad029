//go:build !wasm

// Label and field selectors.

package wharftest

import (
	"slices"
	"strings"

	"github.com/wharf-dev/wharf/sdk/go/cluster"
)

// selects says whether a selector, as far as tests need them, lets values through: terms
// "a", "!a", "a=b", "a==b", "a!=b", "a in (b, c)", "a notin (b, c)", joined by commas.
func selects(selector string, value func(key string) (string, bool)) (bool, error) {
	for rest := strings.TrimSpace(selector); rest != ""; {
		end := strings.IndexByte(rest, ',')
		if open := strings.IndexByte(rest, '('); open >= 0 && (end < 0 || open < end) {
			end = open + 1 + strings.IndexByte(rest[open:], ')')
		}
		term := rest
		if end >= 0 {
			term, rest = rest[:end], strings.TrimLeft(rest[end:], ", ")
		} else {
			rest = ""
		}
		match, ok := matches(strings.TrimSpace(term), value)
		if !ok {
			return false, &cluster.Error{Code: cluster.Invalid, Text: "selector: " + term}
		}
		if !match {
			return false, nil
		}
	}
	return true, nil
}

// matches is whether a term lets the values through, and whether it is a term.
func matches(term string, value func(key string) (string, bool)) (match, ok bool) {
	key, values, negated := term, []string(nil), false
	if name, list, found := strings.Cut(term, " notin ("); found {
		key, values, negated = name, split(list), true
	} else if name, list, found := strings.Cut(term, " in ("); found {
		key, values = name, split(list)
	} else if name, one, found := strings.Cut(term, "!="); found {
		key, values, negated = name, []string{strings.TrimSpace(one)}, true
	} else if name, one, found := strings.Cut(term, "="); found {
		key, values = name, []string{strings.TrimSpace(strings.TrimPrefix(one, "="))}
	} else if name, found := strings.CutPrefix(term, "!"); found {
		key, negated = name, true
	}
	key = strings.TrimSpace(key)
	if key == "" || strings.ContainsAny(key, " ()=!") {
		return false, false
	}
	actual, found := value(key)
	if values != nil {
		found = found && slices.Contains(values, actual)
	}
	return found != negated, true
}

func split(list string) []string {
	values := strings.Split(strings.TrimSuffix(list, ")"), ",")
	for i := range values {
		values[i] = strings.TrimSpace(values[i])
	}
	return values
}
