// Options and answers of the functions that read and write.

package cluster

import (
	"github.com/wharf-dev/wharf/sdk/go/internal/bindings/wharf_plugin_cluster"
	"github.com/wharf-dev/wharf/sdk/go/internal/host"
)

// ReadOptions say how one object is read.
type ReadOptions struct {
	// Fields are pointers to keep; empty: everything.
	Fields []string
	// Live reads from the API server, not from the host's cache.
	Live bool
}

// ListOptions say which objects are listed, and how.
type ListOptions struct {
	// Namespace is empty for all namespaces, which must be granted.
	Namespace string
	// LabelSelector is what labels must match; empty: any.
	LabelSelector string
	// FieldSelector is what fields must match; empty: any.
	FieldSelector string
	// Fields are pointers to keep of each item; empty: everything.
	Fields []string
	// Live reads from the API server, not from the host's cache.
	Live bool
	// Limit is the number of items of a page at most; 0: the host's default.
	Limit uint32
	// ContinueToken is empty for the first page, else of the page before.
	ContinueToken string
}

func (o ListOptions) wire() wharf_plugin_cluster.ListOptions {
	return wharf_plugin_cluster.ListOptions{
		Namespace: option(o.Namespace), LabelSelector: host.Text(o.LabelSelector), FieldSelector: host.Text(o.FieldSelector),
		Fields: host.Texts(o.Fields), Live: o.Live, Limit: o.Limit, ContinueToken: host.Text(o.ContinueToken),
	}
}

// Page is some of the objects of a list.
type Page[T any] struct {
	// Items are the objects. A page may be shorter than asked for: bytes are capped too.
	Items []T
	// ContinueToken is for the next page; empty on the last one.
	ContinueToken string
}

// WriteOptions say how an object is written.
type WriteOptions struct {
	// DryRun does everything but the storing.
	DryRun bool
	// Force takes over fields that another manager owns. Only for Apply.
	Force bool
	// IfResourceVersion refuses if the live object has another one; empty: does not check.
	IfResourceVersion string
	// Subresource is for example "status"; empty: the object itself.
	Subresource string
	// Fields are pointers to keep of the answer; empty: only the new resourceVersion.
	Fields []string
}

func (o WriteOptions) wire() wharf_plugin_cluster.WriteOptions {
	return wharf_plugin_cluster.WriteOptions{
		DryRun: o.DryRun, Force: o.Force, IfResourceVersion: host.Text(o.IfResourceVersion),
		Subresource: option(o.Subresource), Fields: host.Texts(o.Fields),
	}
}

// Written is what a write left behind.
type Written struct {
	// ResourceVersion is that of the object as stored.
	ResourceVersion string
	// Object is the object as stored, as JSON text cut to [WriteOptions.Fields]; empty without
	// them.
	Object string
}

// DeleteOptions say how an object is deleted.
type DeleteOptions struct {
	// DryRun does everything but the deleting.
	DryRun bool
	// IfUID refuses if the live object has another one; empty: does not check.
	IfUID string
	// IfResourceVersion refuses if the live object has another one; empty: does not check.
	IfResourceVersion string
	// Propagation is what becomes of the objects that it owns; [Background] if not set.
	Propagation Propagation
}

func (o DeleteOptions) wire() wharf_plugin_cluster.DeleteOptions {
	return wharf_plugin_cluster.DeleteOptions{
		DryRun: o.DryRun, IfUid: host.Text(o.IfUID), IfResourceVersion: host.Text(o.IfResourceVersion), Propagation: uint8(o.Propagation),
	}
}

// Propagation is what becomes of the objects that a deleted one owns.
type Propagation uint8

// The propagations.
const (
	// Background: they are deleted afterwards.
	Background = Propagation(wharf_plugin_cluster.PropagationBackground)
	// Foreground: they are deleted first.
	Foreground = Propagation(wharf_plugin_cluster.PropagationForeground)
	// Orphan: they stay.
	Orphan = Propagation(wharf_plugin_cluster.PropagationOrphan)
)

// EventType says how much a Kubernetes Event matters.
type EventType uint8

// The types of Events.
const (
	// Normal: as it should be.
	Normal = EventType(wharf_plugin_cluster.EventTypeNormal)
	// Warning: something that a user should look at.
	Warning = EventType(wharf_plugin_cluster.EventTypeWarning)
)

func (t EventType) String() string {
	if t == Warning {
		return "Warning"
	}
	return "Normal"
}
