package main

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// watched is one informer with what it was told.
type watched struct {
	name                       string
	informer                   cache.SharedIndexInformer
	adds, updates, deletes     atomic.Int64
	withoutPredecessor, synced atomic.Int64
}

func watch(name string, informer cache.SharedIndexInformer) (*watched, error) {
	w := &watched{name: name, informer: informer}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { w.adds.Add(1) },
		UpdateFunc: func(before, after any) {
			w.updates.Add(1)
			if before.(metav1.Object).GetUID() != after.(metav1.Object).GetUID() {
				w.withoutPredecessor.Add(1)
			}
		},
		DeleteFunc: func(any) { w.deletes.Add(1) },
	})
	return w, err
}

// follow lets both informers sync, changes what they watch and compares what they hold in the end.
func follow(ctx context.Context, typed kubernetes.Interface, untyped dynamic.Interface, opts options, figures map[string]any) error {
	start := time.Now()
	world := newWorld(typed, opts.namespace)
	if err := world.fill(ctx, opts); err != nil {
		return fmt.Errorf("write the objects: %w", err)
	}
	figures["writeMillis"] = since(start)

	typedFactory := informers.NewSharedInformerFactoryWithOptions(typed, 0, informers.WithNamespace(opts.namespace))
	dynamicFactory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(untyped, 0, opts.namespace, nil)
	one, err := watch("typed", typedFactory.Core().V1().ConfigMaps().Informer())
	if err != nil {
		return err
	}
	other, err := watch("dynamic", dynamicFactory.ForResource(corev1.SchemeGroupVersion.WithResource("configmaps")).Informer())
	if err != nil {
		return err
	}
	both := []*watched{one, other}
	for _, w := range both {
		start := time.Now()
		go w.informer.RunWithContext(ctx)
		if !cache.WaitForCacheSync(ctx.Done(), w.informer.HasSynced) {
			return fmt.Errorf("the %s informer did not sync", w.name)
		}
		w.synced.Store(since(start))
	}
	if err := same(ctx, world, both); err != nil {
		return fmt.Errorf("after the sync: %w", err)
	}

	start = time.Now()
	if err := world.change(ctx, opts); err != nil {
		return fmt.Errorf("change the objects: %w", err)
	}
	figures["changeMillis"] = since(start)
	start = time.Now()
	if err := same(ctx, world, both); err != nil {
		return fmt.Errorf("after the changes: %w", err)
	}
	figures["catchUpMillis"] = since(start)
	for _, w := range both {
		figures[w.name] = map[string]int64{
			"syncMillis": w.synced.Load(), "adds": w.adds.Load(), "updates": w.updates.Load(), "deletes": w.deletes.Load(),
			"updatesOfAnother": w.withoutPredecessor.Load(), "held": int64(len(w.informer.GetStore().ListKeys())),
		}
	}

	start = time.Now()
	err = typed.CoreV1().ConfigMaps(opts.namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("delete the collection: %w", err)
	}
	world.clear()
	if err := same(ctx, world, both); err != nil {
		return fmt.Errorf("after the end of all: %w", err)
	}
	figures["deleteMillis"] = since(start)
	return nil
}

// same waits until both informers hold what was written, whole objects compared, and until a list
// says the same.
func same(ctx context.Context, world *world, both []*watched) error {
	wanted, err := world.wanted()
	if err != nil {
		return err
	}
	for _, w := range both {
		for {
			err := differs(wanted, w.informer.GetStore().List())
			if err == nil {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("the %s informer: %w", w.name, err)
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
	list, err := world.configMaps.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	listed := make([]any, 0, len(list.Items))
	for i := range list.Items {
		listed = append(listed, &list.Items[i])
	}
	if err := differs(wanted, listed); err != nil {
		return fmt.Errorf("the list: %w", err)
	}
	return nil
}

func differs(wanted map[string]any, held []any) error {
	if len(held) != len(wanted) {
		return fmt.Errorf("%d objects instead of %d", len(held), len(wanted))
	}
	for _, object := range held {
		name := object.(metav1.Object).GetName()
		plain, err := plainly(object)
		if err != nil {
			return err
		}
		if !reflect.DeepEqual(plain, wanted[name]) {
			return fmt.Errorf("%s is %v instead of %v", name, plain, wanted[name])
		}
	}
	return nil
}

// plainly turns an object, typed or not, into maps that compare.
func plainly(object any) (any, error) {
	if untyped, ok := object.(*unstructured.Unstructured); ok {
		object = untyped.Object
	}
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var plain map[string]any
	if err := json.Unmarshal(text, &plain); err != nil {
		return nil, err
	}
	// Typed objects of a list or a protobuf answer do not tell them.
	delete(plain, "kind")
	delete(plain, "apiVersion")
	return plain, nil
}
