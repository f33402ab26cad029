// What a component says of itself, and its JSON text.

package wharf

import (
	"fmt"
	"slices"
	"time"
)

// maxReasons is how many reasons a description may list.
const maxReasons = 16

// Description is what a component says of itself, in the words of the Plugin document. The
// document narrows it and grants; a component never gets more than it asked for here.
type Description struct {
	// Name and Version are for people.
	Name, Version string
	// Subscribe lists the kinds that the plugin asks to be told about.
	Subscribe []Subscription
	// Reasons are failure reasons that shall count by themselves in metrics: CamelCase words, 8
	// at most (16 with those that this package uses itself); what is more counts as Other.
	Reasons []string
	// Memory is a wish for all of an instance, as a quantity: "32Mi".
	Memory string
	// Deadline is a wish for the wall time of one call.
	Deadline time.Duration
	// CPU is a wish for the processor time of one call.
	CPU time.Duration
	// Concurrency is a wish for calls at the same time.
	Concurrency uint32
}

// Subscription is one kind that a plugin asks to be told about.
type Subscription struct {
	// Name is how the Plugin document refers to the subscription.
	Name string
	// APIVersion and Kind are the type, as objects have them.
	APIVersion, Kind string
	// LabelSelector lets only objects through whose labels match.
	LabelSelector string
	// FieldSelector lets only objects through whose metadata.name or metadata.namespace match.
	FieldSelector string
	// Events are the functions that are called; none listed: all of them.
	Events []Change
	// CachedOnly has the kind cached for reading, and never delivered.
	CachedOnly bool
	// OnlyIfChanged are pointers: only changes of a value at one of them count. None: all do.
	OnlyIfChanged []string
	// Filter is a CEL expression over object and old: only changes count for which it is true.
	// old is null where there is nothing to compare with.
	Filter string
	// IgnoreOwnWrites says that changes that the plugin makes itself do not count.
	IgnoreOwnWrites bool
	// Map has a change call the handler for another object that this one names.
	Map *Mapping
}

// Mapping is how an object names another. One of the fields besides To must be there.
type Mapping struct {
	// To is the name of the other's subscription.
	To string `json:"to"`
	// Owner is "any" or "controller".
	Owner string `json:"owner,omitempty"`
	// Label and Annotation are keys, Field is a pointer: the value there is a name.
	Label      string `json:"label,omitempty"`
	Annotation string `json:"annotation,omitempty"`
	Field      string `json:"field,omitempty"`
}

// document is the description as JSON.
func (d Description) document() any {
	document := descriptionJSON{Name: d.Name, Version: d.Version, Reasons: d.reasons(), Subscribe: []subscriptionJSON{}}
	for _, s := range d.Subscribe {
		subscription := subscriptionJSON{
			Name: s.Name, APIVersion: s.APIVersion, Kind: s.Kind, LabelSelector: s.LabelSelector, FieldSelector: s.FieldSelector,
			OnlyIfChanged: s.OnlyIfChanged, Filter: s.Filter, IgnoreOwnWrites: s.IgnoreOwnWrites, Map: s.Map,
		}
		if len(s.Events) > 0 || s.CachedOnly {
			events := s.Events
			if s.CachedOnly {
				events = []Change{}
			}
			subscription.Events = &events
		}
		document.Subscribe = append(document.Subscribe, subscription)
	}
	document.Limits = limitsJSON{d.Memory, inMilliseconds(d.Deadline), inMilliseconds(d.CPU), d.Concurrency}
	return document
}

// reasons are the plugin's own and then this package's. The host refuses a list that has one
// twice.
func (d Description) reasons() []string {
	all := []string{}
	for _, reason := range append(slices.Clone(d.Reasons), reasonConfigInvalid, reasonObjectInvalid, reasonGrantMissing,
		reasonForbidden, reasonConflict, reasonServerUnavailable, reasonAPIError, reasonHandlerError) {
		if !slices.Contains(all, reason) {
			all = append(all, reason)
		}
	}
	return all[:min(len(all), maxReasons)]
}

type descriptionJSON struct {
	Name      string             `json:"name"`
	Version   string             `json:"version"`
	Reasons   []string           `json:"reasons"`
	Subscribe []subscriptionJSON `json:"subscribe"`
	Limits    limitsJSON         `json:"limits"`
}

type subscriptionJSON struct {
	Name          string    `json:"name"`
	APIVersion    string    `json:"apiVersion"`
	Kind          string    `json:"kind"`
	LabelSelector string    `json:"labelSelector,omitempty"`
	FieldSelector string    `json:"fieldSelector,omitempty"`
	Events        *[]Change `json:"events,omitempty"`

	OnlyIfChanged   []string `json:"onlyIfChanged,omitempty"`
	Filter          string   `json:"filter,omitempty"`
	IgnoreOwnWrites bool     `json:"ignoreOwnWrites,omitempty"`
	Map             *Mapping `json:"map,omitempty"`
}

type limitsJSON struct {
	Memory      string `json:"memory,omitempty"`
	Deadline    string `json:"deadline,omitempty"`
	CPU         string `json:"cpu,omitempty"`
	Concurrency uint32 `json:"concurrency,omitempty"`
}

func inMilliseconds(duration time.Duration) string {
	if duration == 0 {
		return ""
	}
	return fmt.Sprintf("%dms", duration.Milliseconds())
}
