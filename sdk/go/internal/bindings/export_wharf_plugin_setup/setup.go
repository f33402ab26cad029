// Package export_wharf_plugin_setup is where the generated exports look for a plugin's
// description. The name is the generator's. It owns no code: the SDK sets the functions when a
// plugin registers.
package export_wharf_plugin_setup

import "github.com/wharf-dev/wharf/sdk/go/internal/wittypes"

// The functions of the interface.
var (
	ValidateConfig func(config string) wittypes.Result[wittypes.Unit, []string]
	Describe       func() string
)
