// Log lines, by log/slog.

package wharf

import (
	"context"
	"log/slog"
	"slices"

	"github.com/wharf-dev/wharf/sdk/go/internal/bindings/wharf_plugin_log"
	"github.com/wharf-dev/wharf/sdk/go/internal/host"
)

// LevelTrace is below [slog.LevelDebug]: every step.
const LevelTrace = slog.LevelDebug - 4

// LogHandler writes lines to the host's log, which adds plugin, revision, key and trace, and
// drops what is over the plugin's rate. It is the default of slog in a plugin, so that
// slog.Info and the package log need nothing else.
func LogHandler() slog.Handler { return logHandler{} }

// logHandler has the attributes of a logger as fields, names of groups before theirs.
type logHandler struct {
	fields []host.Field
	prefix string
}

func (h logHandler) Enabled(_ context.Context, level slog.Level) bool {
	return host.LogEnabled(wireLevel(level))
}

func (h logHandler) Handle(_ context.Context, record slog.Record) error {
	fields := slices.Clone(h.fields)
	record.Attrs(func(attr slog.Attr) bool {
		fields = appendField(fields, h.prefix, attr)
		return true
	})
	host.LogEmit(wireLevel(record.Level), record.Message, fields)
	return nil
}

func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	fields := slices.Clone(h.fields)
	for _, attr := range attrs {
		fields = appendField(fields, h.prefix, attr)
	}
	return logHandler{fields, h.prefix}
}

func (h logHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return logHandler{h.fields, h.prefix + name + "."}
}

func appendField(fields []host.Field, prefix string, attr slog.Attr) []host.Field {
	value := attr.Value.Resolve()
	if value.Kind() != slog.KindGroup {
		if attr.Equal(slog.Attr{}) {
			return fields // slog's word for none
		}
		return append(fields, host.Field{F0: prefix + attr.Key, F1: value.String()})
	}
	if attr.Key != "" {
		prefix += attr.Key + "."
	}
	for _, inner := range value.Group() {
		fields = appendField(fields, prefix, inner)
	}
	return fields
}

func wireLevel(level slog.Level) uint8 {
	switch {
	case level < slog.LevelDebug:
		return wharf_plugin_log.LevelTrace
	case level < slog.LevelInfo:
		return wharf_plugin_log.LevelDebug
	case level < slog.LevelWarn:
		return wharf_plugin_log.LevelInfo
	case level < slog.LevelError:
		return wharf_plugin_log.LevelWarn
	}
	return wharf_plugin_log.LevelError
}
