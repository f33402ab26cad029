// The conformance guest in Go: does what an object tells it to. See ../README.md for the
// commands; this file owns the description, the configuration and the way to a command.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	wharf "github.com/wharf-dev/wharf/sdk/go"
)

// Guest is the configuration.
type Guest struct {
	Greeting string   `json:"greeting"`
	Number   int64    `json:"number"`
	Tags     []string `json:"tags"`
}

// Describe is the description, or a panic if the configuration wants one.
func (g *Guest) Describe() wharf.Description {
	if g.Greeting == "throw-in-describe" {
		panic("thrown in describe")
	}
	return wharf.Description{
		Name: "conformance-go", Version: "0.1.0",
		Subscribe: []wharf.Subscription{{Name: "main", APIVersion: "v1", Kind: "ConfigMap"}},
		Reasons:   []string{"Custom", "UnknownCommand"},
	}
}

// Validate checks the values.
func (g *Guest) Validate() error {
	if g.Greeting == "throw" {
		panic("thrown in validate")
	}
	var wrong []error
	if g.Greeting == "" {
		wrong = append(wrong, errors.New("greeting: must not be empty"))
	}
	if g.Number < 0 {
		wrong = append(wrong, errors.New("number: must not be negative"))
	}
	return errors.Join(wrong...)
}

// Add runs the object's command.
func (g *Guest) Add(event *wharf.Event) (wharf.Outcome, error) {
	name, _, err := wharf.Get[string](event, "/do")
	if err != nil {
		return wharf.Done(), err
	}
	args, _, err := wharf.Get[Args](event, "/args")
	if err != nil {
		return wharf.Done(), err
	}
	if command, ok := commands[name]; ok {
		return command(call{g, event, args})
	}
	if report, ok := reports[name]; ok {
		value, err := report(call{g, event, args})
		if err != nil {
			return wharf.Done(), err
		}
		return wharf.Done(), answer(value)
	}
	return wharf.Done(), wharf.Permanent("UnknownCommand", fmt.Sprintf("there is no command %q", name))
}

// Delete runs the command too.
func (g *Guest) Delete(event *wharf.Event) (wharf.Outcome, error) { return g.Add(event) }

// Args are the arguments of all commands.
type Args struct {
	Pointer  string   `json:"pointer"`
	Pointers []string `json:"pointers"`
	Which    string   `json:"which"`

	Level   string      `json:"level"`
	Message string      `json:"message"`
	Fields  [][2]string `json:"-"`
	Reason  string      `json:"reason"`
	Ms      *uint32     `json:"ms"`
	Bytes   int         `json:"bytes"`
	Len     uint32      `json:"len"`
	Type    string      `json:"type"`

	Kind              kind            `json:"kind"`
	Namespace         string          `json:"namespace"`
	Name              string          `json:"name"`
	Live              bool            `json:"live"`
	Keep              []string        `json:"-"`
	LabelSelector     string          `json:"labelSelector"`
	Limit             uint32          `json:"limit"`
	Object            json.RawMessage `json:"object"`
	Patch             json.RawMessage `json:"patch"`
	DryRun            bool            `json:"dryRun"`
	Force             bool            `json:"force"`
	Subresource       string          `json:"subresource"`
	IfResourceVersion string          `json:"ifResourceVersion"`
	IfUID             string          `json:"ifUid"`
	Propagation       string          `json:"propagation"`
}

type kind struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// UnmarshalJSON reads `fields`, which are pairs for `log` and pointers for the cluster.
func (a *Args) UnmarshalJSON(text []byte) error {
	type plain Args
	all := struct {
		*plain
		Fields json.RawMessage `json:"fields"`
	}{plain: (*plain)(a)}
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	if all.Fields == nil || json.Unmarshal(all.Fields, &a.Keep) == nil {
		return nil
	}
	a.Keep = nil
	return json.Unmarshal(all.Fields, &a.Fields)
}

// call is what a command gets.
type call struct {
	guest *Guest
	event *wharf.Event
	args  Args
}

// answer reports a value.
func answer(value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	slog.Info("result", "value", string(text))
	return nil
}

func init() { wharf.Register(func() *Guest { return &Guest{Greeting: "hello", Tags: []string{}} }) }

func main() {}
