// One call, from the configuration to the answer: conversions, panics, the end. It never decides
// what an error means: that is outcome.go.

package wharf

import (
	"fmt"
	"runtime/debug"
	"strings"

	export "github.com/wharf-dev/wharf/sdk/go/internal/bindings/export_wharf_plugin_handler"
	"github.com/wharf-dev/wharf/sdk/go/internal/bindings/wharf_plugin_types"
	"github.com/wharf-dev/wharf/sdk/go/internal/host"
	"github.com/wharf-dev/wharf/sdk/go/internal/jsontext"
	"github.com/wharf-dev/wharf/sdk/go/internal/wittypes"
)

// plugin is a handler as the host sees it: how one call runs, from the configuration to the
// answer. A panic never leaves a call; one in Describe does, since that has no way to fail.
type plugin[H Handler] struct {
	make func() H
	// made is the handler of this instance, whose configuration never changes.
	made *H
}

func (p *plugin[H]) validate(config string) (result wittypes.Result[wittypes.Unit, []string]) {
	defer host.Flush()
	defer func() {
		if value := recover(); value != nil {
			result = refused(fmt.Sprint(value))
		}
	}()
	handler := p.make()
	if err := readConfig(config, handler); err != nil {
		return refused(err.Error())
	}
	if validator, ok := any(handler).(Validator); ok {
		if err := validator.Validate(); err != nil {
			return refused(sentences(err)...)
		}
	}
	return wittypes.Ok[wittypes.Unit, []string](wittypes.Unit{})
}

func (p *plugin[H]) describe() string {
	defer host.Flush()
	handler := p.make()
	if err := readConfig(host.ConfigJSON(), handler); err != nil {
		// The host asks for a description without a configuration too.
		handler = p.make()
	}
	description := handler.Describe()
	text, err := jsontext.Encode(description.document())
	if err != nil {
		panic(err)
	}
	return host.Text(text)
}

func (p *plugin[H]) add(wire wharf_plugin_types.Delivery) export.Answer {
	return p.call(ChangeAdd, wire, func(handler H, event *Event) (Outcome, error) { return handler.Add(event) })
}

func (p *plugin[H]) update(wire wharf_plugin_types.Delivery) export.Answer {
	return p.call(ChangeUpdate, wire, func(handler H, event *Event) (Outcome, error) {
		if updater, ok := any(handler).(Updater); ok {
			return updater.Update(event)
		}
		return handler.Add(event)
	})
}

func (p *plugin[H]) delete(wire wharf_plugin_types.Delivery) export.Answer {
	return p.call(ChangeDelete, wire, func(handler H, event *Event) (Outcome, error) {
		if deleter, ok := any(handler).(Deleter); ok {
			return deleter.Delete(event)
		}
		return Done(), nil
	})
}

func (p *plugin[H]) call(change Change, wire wharf_plugin_types.Delivery, function func(H, *Event) (Outcome, error)) (answer export.Answer) {
	defer host.Flush()
	defer func() {
		if value := recover(); value != nil {
			answer = failed(fault(fmt.Sprint(value) + "\n" + stack()))
		}
	}()
	handler, err := p.handler()
	if err != nil {
		return failed(toFailure(err))
	}
	outcome, err := function(handler, &Event{change: change, delivery: delivery(wire)})
	if err != nil {
		return failed(toFailure(err))
	}
	return wittypes.Ok[wharf_plugin_types.Outcome, wharf_plugin_types.Failure](outcome.wire())
}

// handler is the handler of this instance, or natively one for each call, as if every call had
// an instance of its own.
func (p *plugin[H]) handler() (H, error) {
	if p.made != nil && oneHandler {
		return *p.made, nil
	}
	handler := p.make()
	if err := readConfig(host.ConfigJSON(), handler); err != nil {
		return handler, err
	}
	p.made = &handler
	return handler, nil
}

func refused(sentences ...string) wittypes.Result[wittypes.Unit, []string] {
	return wittypes.Err[wittypes.Unit](host.Texts(sentences))
}

// sentences are the errors that were joined, each by itself.
func sentences(err error) []string {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []string{err.Error()}
	}
	var all []string
	for _, one := range joined.Unwrap() {
		all = append(all, sentences(one)...)
	}
	return all
}

// own is how the frames of this type begin, which called the handler.
const own = "\ngithub.com/wharf-dev/wharf/sdk/go.(*plugin["

// stack is the stack of the panic that is being recovered from, from where it was raised to the
// handler.
func stack() string {
	text := string(debug.Stack())
	if _, below, ok := strings.Cut(text, "\npanic("); ok {
		// The rest of the line, and the line with the place of panic itself.
		if lines := strings.SplitN(below, "\n", 3); len(lines) == 3 {
			text = lines[2]
		}
	}
	handler, _, _ := strings.Cut(text, own)
	return strings.TrimSpace(handler)
}
