// Names of kinds and of objects.

package cluster

import (
	"strings"

	"github.com/wharf-dev/wharf/sdk/go/internal/bindings/wharf_plugin_types"
	"github.com/wharf-dev/wharf/sdk/go/internal/host"
	"github.com/wharf-dev/wharf/sdk/go/internal/wittypes"
)

// GVK is group, version and kind: the name of a Kubernetes type.
type GVK struct {
	// Group is empty for the core group.
	Group string
	// Version is for example "v1".
	Version string
	// Kind is for example "ConfigMap".
	Kind string
}

// Kind is the type with this apiVersion ("v1", "apps/v1") and kind.
func Kind(apiVersion, kind string) GVK {
	if group, version, ok := strings.Cut(apiVersion, "/"); ok {
		return GVK{Group: group, Version: version, Kind: kind}
	}
	return GVK{Version: apiVersion, Kind: kind}
}

// APIVersion is the apiVersion as objects have it.
func (k GVK) APIVersion() string {
	if k.Group == "" {
		return k.Version
	}
	return k.Group + "/" + k.Version
}

func (k GVK) String() string { return k.APIVersion() + " " + k.Kind }

func (k GVK) wire() wharf_plugin_types.Gvk {
	return wharf_plugin_types.Gvk{Group: host.Text(k.Group), Version: host.Text(k.Version), Kind: host.Text(k.Kind)}
}

// ObjectRef says which object is meant.
type ObjectRef struct {
	// Kind is the type.
	Kind GVK
	// Namespace is empty for cluster-scoped kinds; for a namespaced one an empty namespace
	// means the plugin's own.
	Namespace string
	// Name is metadata.name.
	Name string
	// UID is metadata.uid; empty when not known.
	UID string
}

// String is "namespace/name", or the name alone.
func (r ObjectRef) String() string {
	if r.Namespace == "" {
		return r.Name
	}
	return r.Namespace + "/" + r.Name
}

func (r ObjectRef) wire() wharf_plugin_types.ObjectRef {
	return wharf_plugin_types.ObjectRef{
		Kind: r.Kind.wire(), Namespace: option(r.Namespace), Name: host.Text(r.Name), Uid: host.Text(r.UID),
	}
}

// option is absent for an empty string.
func option(text string) wittypes.Option[string] {
	if text == "" {
		return wittypes.None[string]()
	}
	return wittypes.Some(host.Text(text))
}
