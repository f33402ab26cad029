// Package cluster reads and writes the cluster, as far as the Plugin document grants it, and
// records Kubernetes Events, all under the plugin's own identity.
//
// Objects go in and out as any type that encoding/json knows: a struct with the few fields that
// matter, map[string]any, or [encoding/json.RawMessage] for text as it is. Each function has a
// short form and one with options (…With). Every call crosses to the host; reads that are not
// served from its cache and all writes also cross the network, and count against the call's
// deadline.
//
// All errors are of type *[Error]; errors.Is(err, cluster.NotFound) and the like tell them
// apart. Returned from a handler they make the host try again.
package cluster

import (
	"github.com/wharf-dev/wharf/sdk/go/internal/bindings/wharf_plugin_cluster"
	"github.com/wharf-dev/wharf/sdk/go/internal/host"
	"github.com/wharf-dev/wharf/sdk/go/internal/jsontext"
	"github.com/wharf-dev/wharf/sdk/go/internal/wittypes"
)

// Get is one object. Kinds that the plugin subscribes to come from the host's cache.
func Get[T any](kind GVK, namespace, name string) (T, error) {
	return GetWith[T](kind, namespace, name, ReadOptions{})
}

// GetWith is [Get] with a choice of fields, or past the cache.
func GetWith[T any](kind GVK, namespace, name string, options ReadOptions) (T, error) {
	answer := host.ClusterGet(kind.wire(), option(namespace), host.Text(name), host.Texts(options.Fields), options.Live)
	if answer.Tag() == wittypes.ResultErr {
		var none T
		return none, fromWire(answer.Err())
	}
	return decode[T](answer.Ok())
}

// List is one page of objects; [ListAll] follows the pages.
func List[T any](kind GVK, options ListOptions) (Page[T], error) {
	answer := host.ClusterList(kind.wire(), options.wire())
	if answer.Tag() == wittypes.ResultErr {
		return Page[T]{}, fromWire(answer.Err())
	}
	wire := answer.Ok()
	page := Page[T]{Items: make([]T, 0, len(wire.Items)), ContinueToken: wire.ContinueToken}
	for _, text := range wire.Items {
		item, err := decode[T](text)
		if err != nil {
			return Page[T]{}, err
		}
		page.Items = append(page.Items, item)
	}
	return page, nil
}

// ListAll is all objects, page by page. All of them are in the plugin's memory at once: ask for
// few fields where there are many.
func ListAll[T any](kind GVK, options ListOptions) ([]T, error) {
	var all []T
	for {
		page, err := List[T](kind, options)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if page.ContinueToken == "" {
			return all, nil
		}
		options.ContinueToken = page.ContinueToken
	}
}

// Create makes an object.
func Create(object any) (Written, error) {
	return CreateWith(object, WriteOptions{})
}

// CreateWith is [Create] with options.
func CreateWith(object any, options WriteOptions) (Written, error) {
	text, err := encode(object)
	if err != nil {
		return Written{}, err
	}
	return written(host.ClusterCreate(text, options.wire()))
}

// Apply is server-side apply: the object has these fields afterwards, and those that the plugin
// applied before and left out now are gone. A field that another manager owns is a [Conflict].
func Apply(object any) (Written, error) {
	return ApplyWith(object, WriteOptions{})
}

// ApplyWith is [Apply] with options, for example Force.
func ApplyWith(object any, options WriteOptions) (Written, error) {
	text, err := encode(object)
	if err != nil {
		return Written{}, err
	}
	return written(host.ClusterApply(text, options.wire()))
}

// MergePatch changes an object by a JSON merge patch.
func MergePatch(target ObjectRef, patch any) (Written, error) {
	return MergePatchWith(target, patch, WriteOptions{})
}

// MergePatchWith is [MergePatch] with options, for example a subresource.
func MergePatchWith(target ObjectRef, patch any, options WriteOptions) (Written, error) {
	text, err := encode(patch)
	if err != nil {
		return Written{}, err
	}
	return written(host.ClusterMergePatch(target.wire(), text, options.wire()))
}

// Delete deletes an object, in the background; only this very one if the target has a UID.
func Delete(target ObjectRef) error {
	return DeleteWith(target, DeleteOptions{IfUID: target.UID})
}

// DeleteWith is [Delete] with options. It checks options.IfUID, not the target's.
func DeleteWith(target ObjectRef, options DeleteOptions) error {
	answer := host.ClusterDelete(target.wire(), options.wire())
	if answer.Tag() == wittypes.ResultErr {
		return fromWire(answer.Err())
	}
	return nil
}

// RecordEvent records a Kubernetes Event about an object: what kubectl describe shows. The host
// folds repeats and limits the rate. Without the grant nothing happens but a line in its log.
func RecordEvent(about ObjectRef, eventType EventType, reason, message string) {
	host.RecordEvent(about.wire(), uint8(eventType), host.Text(reason), host.Text(message))
}

func written(answer wittypes.Result[wharf_plugin_cluster.Written, wharf_plugin_cluster.ApiError]) (Written, error) {
	if answer.Tag() == wittypes.ResultErr {
		return Written{}, fromWire(answer.Err())
	}
	wire := answer.Ok()
	return Written{ResourceVersion: wire.ResourceVersion, Object: wire.Object}, nil
}

func decode[T any](text string) (T, error) {
	value, err := jsontext.Decode[T](text)
	if err != nil {
		return value, undecodable(err)
	}
	return value, nil
}

func encode(object any) (string, error) {
	text, err := jsontext.Encode(object)
	if err != nil {
		return "", undecodable(err)
	}
	return host.Text(text), nil
}
