// The plugin's configuration, read strictly.

package wharf

import (
	"errors"
	"fmt"

	"github.com/wharf-dev/wharf/sdk/go/internal/host"
	"github.com/wharf-dev/wharf/sdk/go/internal/jsontext"
)

// Config is the whole configuration, spec.config of the Plugin document, as a type; {} where
// the document has none. The handler itself is read so; this is for everything else.
func Config[T any]() (T, error) {
	var value T
	err := readConfig(host.ConfigJSON(), &value)
	return value, err
}

// ConfigValue is the value at an RFC 6901 pointer of the configuration, and whether there is
// one.
func ConfigValue[T any](pointer string) (T, bool, error) {
	text, found := host.ConfigGet(pointer).Get()
	if !found || jsontext.Absent[T](text) {
		var none T
		return none, false, nil
	}
	value, err := jsontext.Decode[T](text)
	if err != nil {
		return value, false, configError(pointer, err)
	}
	return value, true, nil
}

// ConfigError says that the configuration does not have the asked for type. Returned from a
// handler it is permanent: a new configuration is a new revision, which calls again.
type ConfigError struct {
	// Pointer is where it stands; empty for the whole configuration.
	Pointer string
	// Err is what the JSON reader says.
	Err error
}

func (e *ConfigError) Error() string { return fmt.Sprintf("config%s: %v", e.Pointer, e.Err) }

// Unwrap is what the JSON reader says.
func (e *ConfigError) Unwrap() error { return e.Err }

// readConfig reads into a pointer, whose defaults stay where the configuration says nothing.
func readConfig(text string, into any) error {
	if err := jsontext.DecodeStrict(text, into); err != nil {
		return configError("", err)
	}
	return nil
}

// configError says the place too where it is known.
func configError(pointer string, err error) *ConfigError {
	if problem, ok := errors.AsType[*jsontext.Problem](err); ok {
		return &ConfigError{Pointer: pointer + problem.Pointer, Err: errors.New(problem.Text)}
	}
	return &ConfigError{Pointer: pointer, Err: err}
}
