package main

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// world is what was written, as the API server answered it.
type world struct {
	configMaps typedv1.ConfigMapInterface
	mutex      sync.Mutex
	objects    map[string]*corev1.ConfigMap
}

func newWorld(client kubernetes.Interface, namespace string) *world {
	return &world{configMaps: client.CoreV1().ConfigMaps(namespace), objects: map[string]*corev1.ConfigMap{}}
}

// fill creates the first objects.
func (w *world) fill(ctx context.Context, opts options) error {
	return parallel(opts.objects, opts.writers, func(i int) error { return w.create(ctx, name(i), i) })
}

// change updates two of four, replaces one of four by another and recreates one of four. Writers
// do not meet at one object: how informers follow is of interest here, not who wins.
func (w *world) change(ctx context.Context, opts options) error {
	// With fewer objects than changes an object changes again, but by the same writer.
	objects := opts.objects - opts.objects%opts.writers
	if objects == 0 {
		return fmt.Errorf("%d objects are too few for %d writers", opts.objects, opts.writers)
	}
	return parallel(opts.changes, opts.writers, func(i int) error {
		old := name(i % objects)
		switch {
		case i >= objects || i%4 < 2:
			return w.update(ctx, old, i)
		case i%4 == 2:
			if err := w.remove(ctx, old); err != nil {
				return err
			}
			return w.create(ctx, fmt.Sprintf("new-%06d", i), i)
		default:
			if err := w.remove(ctx, old); err != nil {
				return err
			}
			return w.create(ctx, old, -i)
		}
	})
}

func (w *world) create(ctx context.Context, name string, value int) error {
	configMap := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"part": fmt.Sprint(max(value, -value) % 10)}},
		Data:       map[string]string{"value": fmt.Sprint(value), "text": "some words\nin two lines"},
		BinaryData: map[string][]byte{"bytes": {0, 1, 0xff}},
	}
	created, err := w.configMaps.Create(ctx, configMap, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	w.remember(created)
	return nil
}

func (w *world) update(ctx context.Context, name string, value int) error {
	w.mutex.Lock()
	old, there := w.objects[name]
	w.mutex.Unlock()
	if !there {
		return nil
	}
	configMap := old.DeepCopy()
	configMap.Data["value"] = fmt.Sprintf("changed %d", value)
	updated, err := w.configMaps.Update(ctx, configMap, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	w.remember(updated)
	return nil
}

func (w *world) remove(ctx context.Context, name string) error {
	if err := w.configMaps.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	delete(w.objects, name)
	return nil
}

func (w *world) remember(configMap *corev1.ConfigMap) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.objects[configMap.Name] = configMap
}

func (w *world) clear() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	clear(w.objects)
}

// wanted is all of it in the form that compares, by name.
func (w *world) wanted() (map[string]any, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	wanted := make(map[string]any, len(w.objects))
	for name, object := range w.objects {
		plain, err := plainly(object)
		if err != nil {
			return nil, err
		}
		wanted[name] = plain
	}
	return wanted, nil
}

func name(i int) string {
	return fmt.Sprintf("object-%06d", i)
}

// parallel does the numbers below n, those of one remainder by the same writer in their order, and
// answers the first error.
func parallel(n, writers int, do func(int) error) error {
	errors := make(chan error, writers)
	for writer := range writers {
		go func() {
			for i := writer; i < n; i += writers {
				if err := do(i); err != nil {
					errors <- err
					return
				}
			}
			errors <- nil
		}()
	}
	var first error
	for range writers {
		if err := <-errors; err != nil && first == nil {
			first = err
		}
	}
	return first
}
