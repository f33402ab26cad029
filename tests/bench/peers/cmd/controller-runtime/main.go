// Command controller-runtime is the cache that operators made with kubebuilder
// read from, with N handlers at its informer of Pods.
package main

import (
	"context"
	"flag"
	"log"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/wharf-dev/wharf/tests/bench/peers/internal/informer"
	"github.com/wharf-dev/wharf/tests/bench/peers/internal/kube"
	"github.com/wharf-dev/wharf/tests/bench/peers/internal/record"
)

func main() {
	rec := record.New("controller-runtime")
	conn := kube.AddFlags("default")
	handlers := flag.Int("handlers", 1, "number of event handlers")
	flag.Parse()
	rec.Set("handlers", *handlers)
	rec.Set("encoding", conn.Encoding)
	ctrl.SetLogger(zap.New())

	cfg, err := conn.Config()
	if err != nil {
		log.Fatal(err)
	}
	reader, err := cache.New(cfg, cache.Options{})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if err := reader.IndexField(ctx, &corev1.Pod{}, informer.InstanceIndex, instance); err != nil {
		log.Fatal(err)
	}
	shared, err := reader.GetInformer(ctx, &corev1.Pod{}, cache.BlockUntilSynced(false))
	if err != nil {
		log.Fatal(err)
	}
	stamp := func(obj any) string { return obj.(*corev1.Pod).Annotations[record.TimestampAnnotation] }
	synced := informer.Attach(shared, *handlers, rec, stamp, nil)

	stopped := make(chan error, 1)
	go func() { stopped <- reader.Start(ctx) }()
	informer.Wait(synced)
	// The interface has no way to the store, and only its content is compared through it.
	store := shared.(toolscache.SharedIndexInformer).GetStore()
	rec.Synced(len(store.ListKeys()))
	list := func(options ...client.ListOption) int {
		var pods corev1.PodList
		if err := reader.List(ctx, &pods, options...); err != nil {
			log.Fatal(err)
		}
		return len(pods.Items)
	}
	lists := informer.Lists{
		Namespace: func(namespace string) int { return list(client.InNamespace(namespace)) },
		Instance:  func(instance string) int { return list(client.MatchingFields{informer.InstanceIndex: instance}) },
	}
	rec.Serve(ctx, record.Source{
		Content: func() record.Content { return informer.Content(store) },
		Reads:   func() map[string]any { return informer.Reads(shared, store, lists) },
	})
	cancel()
	if err := <-stopped; err != nil {
		log.Fatal(err)
	}
}

func instance(obj client.Object) []string { return []string{obj.GetLabels()[record.InstanceLabel]} }
