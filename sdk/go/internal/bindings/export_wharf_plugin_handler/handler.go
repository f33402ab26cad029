// Package export_wharf_plugin_handler is where the generated exports look for the handler. The
// name is the generator's. It owns no code: the SDK sets the functions when a plugin
// registers.
package export_wharf_plugin_handler

import (
	"github.com/wharf-dev/wharf/sdk/go/internal/bindings/wharf_plugin_types"
	"github.com/wharf-dev/wharf/sdk/go/internal/wittypes"
)

// Answer is how a call ends.
type Answer = wittypes.Result[wharf_plugin_types.Outcome, wharf_plugin_types.Failure]

// The functions of the interface.
var (
	Add    func(wharf_plugin_types.Delivery) Answer
	Update func(wharf_plugin_types.Delivery) Answer
	Delete func(wharf_plugin_types.Delivery) Answer
)
