// Package informer is what the peers on client-go's SharedIndexInformer share:
// handlers that count, the content to compare, and reads of the cache.
package informer

import (
	"fmt"
	"log"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"

	"github.com/wharf-dev/wharf/tests/bench/peers/internal/record"
)

// InstanceIndex is the name of the index by the instance label.
const InstanceIndex = "instance"

// Instances is how many values the instance label has, "app-0" and so on.
const Instances = 500

// reads is how many lists are measured together.
const reads = 200

// Handlers is what the cache's Informers and client-go's have in common.
type Handlers interface {
	AddEventHandler(cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error)
	RemoveEventHandler(cache.ResourceEventHandlerRegistration) error
}

// Indexers has the index by the instance label.
func Indexers() cache.Indexers {
	return cache.Indexers{InstanceIndex: func(obj any) ([]string, error) {
		m, err := meta.Accessor(obj)
		if err != nil {
			return nil, err
		}
		return []string{m.GetLabels()[record.InstanceLabel]}, nil
	}}
}

// Attach adds n handlers. The first one is the recorder's, the others only
// count. stamp reads the writer's time stamp; then is called with the object
// after the first handler, and may be nil. Returns whether all handlers have
// been told of the initial objects.
func Attach(informer Handlers, n int, rec *record.Recorder, stamp func(any) string, then func(any)) (synced func() bool) {
	if then == nil {
		then = func(any) {}
	}
	var all []cache.ResourceEventHandlerRegistration
	for i := range n {
		handler := cache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { rec.Added(); then(obj) },
			UpdateFunc: func(_, obj any) { rec.Updated(stamp(obj)); then(obj) },
			DeleteFunc: func(obj any) { rec.Deleted(); then(obj) },
		}
		if i > 0 {
			handler = new(counter).handler()
		}
		registration, err := informer.AddEventHandler(handler)
		if err != nil {
			log.Fatal(err)
		}
		all = append(all, registration)
	}
	return func() bool {
		return !slices.ContainsFunc(all, func(r cache.ResourceEventHandlerRegistration) bool { return !r.HasSynced() })
	}
}

// Wait returns when done does.
func Wait(done func() bool) {
	for !done() {
		time.Sleep(2 * time.Millisecond)
	}
}

type counter struct{ n atomic.Int64 }

func (c *counter) handler() cache.ResourceEventHandlerFuncs {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { c.n.Add(1) },
		UpdateFunc: func(_, _ any) { c.n.Add(1) },
		DeleteFunc: func(any) { c.n.Add(1) },
	}
}

// Content of a store.
func Content(store cache.Store) record.Content {
	var content record.Content
	for _, obj := range store.List() {
		m, err := meta.Accessor(obj)
		if err != nil {
			log.Fatal(err)
		}
		content.Add(m.GetNamespace(), m.GetName(), m.GetResourceVersion())
	}
	return content
}

// Lists are the two ways to read a part of the cache; each returns how many
// objects it got.
type Lists struct {
	Namespace func(namespace string) int
	Instance  func(instance string) int
}

// Reads measures lists by namespace and by index, and a handler that comes late.
func Reads(informer Handlers, store cache.Store, lists Lists) map[string]any {
	namespaces := map[string]bool{}
	for _, obj := range store.List() {
		if m, err := meta.Accessor(obj); err == nil {
			namespaces[m.GetNamespace()] = true
		}
	}
	names := make([]string, 0, len(namespaces))
	for name := range namespaces {
		names = append(names, name)
	}
	slices.Sort(names)

	out := map[string]any{}
	if len(names) > 0 {
		measure(out, "list_namespace", func(i int) int { return lists.Namespace(names[i%len(names)]) })
		measure(out, "list_instance", func(i int) int { return lists.Instance(fmt.Sprintf("app-%d", i%Instances)) })
	}
	late := late(informer, len(store.ListKeys()))
	out["late_handler_ms"] = float64(late.Microseconds()) / 1000
	return out
}

func measure(out map[string]any, name string, list func(i int) int) {
	objects := 0
	start := time.Now()
	for i := range reads {
		objects += list(i)
	}
	took := time.Since(start)
	out[name+"_us"] = float64(took.Nanoseconds()) / 1000 / reads
	out[name+"_objects"] = objects
}

// late adds a handler and waits until it was told of so many objects.
func late(informer Handlers, objects int) time.Duration {
	var count counter
	start := time.Now()
	registration, err := informer.AddEventHandler(count.handler())
	if err != nil {
		log.Fatal(err)
	}
	for count.n.Load() < int64(objects) {
		time.Sleep(100 * time.Microsecond)
	}
	took := time.Since(start)
	if err := informer.RemoveEventHandler(registration); err != nil {
		log.Fatal(err)
	}
	return took
}
