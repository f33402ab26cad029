//go:build !wasm

// The mock's cluster.

package wharftest

import (
	"slices"
	"strconv"
	"strings"

	wharf "github.com/wharf-dev/wharf/sdk/go"
	"github.com/wharf-dev/wharf/sdk/go/cluster"
)

// key is how the mock finds an object.
type key struct {
	kind            wharf.GVK
	namespace, name string
}

func keyOf(target wharf.ObjectRef) key { return key{target.Kind, target.Namespace, target.Name} }

// stored is an object, and what the plugin applied last.
type stored struct {
	object  Object
	applied any
}

// mockCluster is objects by kind and name, with the API server's answers for what is missing,
// taken or changed. One field manager.
type mockCluster struct {
	objects map[key]stored
	missing map[string]bool
	version int
}

func newCluster() *mockCluster {
	return &mockCluster{objects: map[key]stored{}, missing: map[string]bool{}}
}

// put is an object that comes or changes from outside.
func (c *mockCluster) put(object Object) {
	target, _ := reference(object)
	c.store(keyOf(target), object, c.objects[keyOf(target)].applied)
}

func (c *mockCluster) get(k key) Object { return c.objects[k].object }

func (c *mockCluster) remove(k key) { delete(c.objects, k) }

// list is the objects of a page, and the next page's token: how many objects to leave out.
func (c *mockCluster) list(kind wharf.GVK, options cluster.ListOptions) ([]Object, string, error) {
	keys := make([]key, 0, len(c.objects))
	for k, stored := range c.objects {
		label := func(name string) (string, bool) {
			value, found := lookup(stored.object, "/metadata/labels/"+strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1"))
			text, _ := value.(string)
			return text, found
		}
		field := func(path string) (string, bool) {
			return textAt(stored.object, "/"+strings.ReplaceAll(path, ".", "/")), true
		}
		byLabel, err := selects(options.LabelSelector, label)
		if err != nil {
			return nil, "", err
		}
		byField, err := selects(options.FieldSelector, field)
		if err != nil {
			return nil, "", err
		}
		if byLabel && byField && k.kind == kind && (options.Namespace == "" || options.Namespace == k.namespace) {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b key) int {
		return strings.Compare(a.namespace+"/"+a.name, b.namespace+"/"+b.name)
	})
	start := 0
	if options.ContinueToken != "" {
		var err error
		if start, err = strconv.Atoi(options.ContinueToken); err != nil || start < 0 || start > len(keys) {
			return nil, "", &cluster.Error{Code: cluster.Invalid, Text: "the continue token is not one of this host"}
		}
	}
	end, token := len(keys), ""
	if limit := int(options.Limit); limit > 0 && start+limit < end {
		end, token = start+limit, strconv.Itoa(start+limit)
	}
	var page []Object
	for _, k := range keys[start:end] {
		page = append(page, keep(c.get(k), options.Fields))
	}
	return page, token, nil
}

// write is create, apply or merge patch.
func (c *mockCluster) write(operation Operation, target wharf.ObjectRef, body Object, options cluster.WriteOptions) (Object, error) {
	k := keyOf(target)
	live, found := c.objects[k]
	if c.missing[target.Namespace] {
		return nil, &cluster.Error{Code: cluster.NotFound}
	}
	if err := checkVersion(live.object, options.IfResourceVersion); err != nil {
		return nil, err
	}
	object, lastApplied := body, live.applied
	switch operation {
	case Create:
		if found {
			return nil, &cluster.Error{Code: cluster.AlreadyExists}
		}
	case Apply:
		object, lastApplied = applied(live.object, live.applied, body).(Object), body
	case MergePatch:
		if !found {
			return nil, &cluster.Error{Code: cluster.NotFound}
		}
		object = patched(live.object, body).(Object)
	}
	if options.DryRun {
		return object, nil
	}
	return c.store(k, object, lastApplied), nil
}

func (c *mockCluster) delete(target wharf.ObjectRef, options cluster.DeleteOptions) error {
	live := c.get(keyOf(target))
	if live == nil {
		return &cluster.Error{Code: cluster.NotFound}
	}
	if options.IfUID != "" && options.IfUID != textAt(live, "/metadata/uid") {
		return &cluster.Error{Code: cluster.Conflict, Text: "the uid is another one"}
	}
	if err := checkVersion(live, options.IfResourceVersion); err != nil {
		return err
	}
	if !options.DryRun {
		c.remove(keyOf(target))
	}
	return nil
}

// store keeps an object under a new resourceVersion; its uid is kept or made up.
func (c *mockCluster) store(k key, object Object, lastApplied any) Object {
	c.version++
	version := strconv.Itoa(c.version)
	uid := textAt(object, "/metadata/uid")
	if uid == "" {
		uid = textAt(c.get(k), "/metadata/uid")
	}
	if uid == "" {
		uid = "uid-" + version
	}
	object = patched(object, Object{"metadata": Object{"resourceVersion": version, "uid": uid}}).(Object)
	c.objects[k] = stored{object, lastApplied}
	return object
}

func checkVersion(live Object, wanted string) error {
	switch {
	case wanted == "":
		return nil
	case live == nil:
		return &cluster.Error{Code: cluster.NotFound}
	case textAt(live, "/metadata/resourceVersion") != wanted:
		return &cluster.Error{Code: cluster.Conflict, Text: "the object has been modified"}
	}
	return nil
}
