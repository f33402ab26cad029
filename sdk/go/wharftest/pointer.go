//go:build !wasm

// Places in JSON values.

package wharftest

import (
	"strconv"
	"strings"

	wharf "github.com/wharf-dev/wharf/sdk/go"
	"github.com/wharf-dev/wharf/sdk/go/cluster"
)

// lookup is the value at an RFC 6901 pointer.
func lookup(value any, pointer string) (any, bool) {
	if pointer == "" {
		return value, true
	}
	if !strings.HasPrefix(pointer, "/") {
		return nil, false
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		var found bool
		switch at := value.(type) {
		case Object:
			value, found = at[unescape(token)]
		case []any:
			if index, err := strconv.Atoi(token); err == nil && index >= 0 && index < len(at) {
				value, found = at[index], true
			}
		}
		if !found {
			return nil, false
		}
	}
	return value, true
}

func unescape(token string) string {
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
}

// textAt is the string at a pointer, or empty.
func textAt(object Object, pointer string) string {
	value, _ := lookup(object, pointer)
	text, _ := value.(string)
	return text
}

// keep is the object cut to some pointers; whole if there are none. What stands in a list is
// not cut out by itself.
func keep(object Object, pointers []string) Object {
	if len(pointers) == 0 {
		return object
	}
	kept := Object{}
	for _, pointer := range pointers {
		value, found := lookup(object, pointer)
		if !found || pointer == "" {
			continue
		}
		place := kept
		tokens := strings.Split(pointer[1:], "/")
		for _, token := range tokens[:len(tokens)-1] {
			next, ok := place[unescape(token)].(Object)
			if !ok {
				next = Object{}
				place[unescape(token)] = next
			}
			place = next
		}
		place[unescape(tokens[len(tokens)-1])] = value
	}
	return kept
}

// reference says which object this is.
func reference(object Object) (wharf.ObjectRef, bool) {
	apiVersion, kind, name := textAt(object, "/apiVersion"), textAt(object, "/kind"), textAt(object, "/metadata/name")
	return wharf.ObjectRef{
		Kind: cluster.Kind(apiVersion, kind), Namespace: textAt(object, "/metadata/namespace"), Name: name,
		UID: textAt(object, "/metadata/uid"),
	}, apiVersion != "" && kind != "" && name != ""
}
