// What is different in a component.

package wharf

import "log/slog"

// oneHandler: the configuration is fixed for the life of an instance.
const oneHandler = true

// start makes the instance one of a plugin.
func start() { slog.SetDefault(slog.New(LogHandler())) }
