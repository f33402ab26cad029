// Package host is the host's functions: the component's imports in WebAssembly, a mock
// natively. It is the only place that knows which of the two it is. It speaks the generated
// types; the public packages have their own.
package host

import (
	"strings"
	"unicode/utf8"

	"github.com/wharf-dev/wharf/sdk/go/internal/bindings/wharf_plugin_cluster"
	"github.com/wharf-dev/wharf/sdk/go/internal/wittypes"
)

// Answers of the cluster.
type (
	GetResult     = wittypes.Result[string, wharf_plugin_cluster.ApiError]
	ListResult    = wittypes.Result[wharf_plugin_cluster.Page, wharf_plugin_cluster.ApiError]
	WrittenResult = wittypes.Result[wharf_plugin_cluster.Written, wharf_plugin_cluster.ApiError]
	DeletedResult = wittypes.Result[wittypes.Unit, wharf_plugin_cluster.ApiError]
)

// Field is a name and a value of a log line.
type Field = wittypes.Tuple2[string, string]

// Text is s as UTF-8: a string that is none would end the instance at the border.
func Text(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// Texts is [Text] of each.
func Texts(all []string) []string {
	for i, s := range all {
		if !utf8.ValidString(s) {
			clean := append([]string(nil), all...)
			for j := i; j < len(clean); j++ {
				clean[j] = Text(clean[j])
			}
			return clean
		}
	}
	return all
}
