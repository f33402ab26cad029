// Command clientgo-typed is an event handler for Pods as one writes it on
// client-go: a shared informer, a rate limiting work queue and N workers; or,
// without workers, the informer with N handlers alone.
package main

import (
	"context"
	"flag"
	"log"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/wharf-dev/wharf/tests/bench/peers/internal/informer"
	"github.com/wharf-dev/wharf/tests/bench/peers/internal/kube"
	"github.com/wharf-dev/wharf/tests/bench/peers/internal/record"
)

func main() {
	rec := record.New("clientgo-typed")
	conn := kube.AddFlags("json")
	workers := flag.Int("workers", 2, "number of workers; 0: no work queue")
	handlers := flag.Int("handlers", 1, "number of event handlers")
	flag.Parse()
	rec.Set("workers", *workers)
	rec.Set("handlers", *handlers)
	rec.Set("encoding", conn.Encoding)

	cfg, err := conn.Config()
	if err != nil {
		log.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		log.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	factory := informers.NewSharedInformerFactory(client, 0)
	pods := factory.Core().V1().Pods()
	shared, lister := pods.Informer(), pods.Lister()
	if err := shared.AddIndexers(informer.Indexers()); err != nil {
		log.Fatal(err)
	}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	defer queue.ShutDown()
	enqueue := func(obj any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
			queue.Add(key)
		}
	}
	if *workers == 0 {
		enqueue = nil
	}
	stamp := func(obj any) string { return obj.(*corev1.Pod).Annotations[record.TimestampAnnotation] }
	synced := informer.Attach(shared, *handlers, rec, stamp, enqueue)

	factory.Start(ctx.Done())
	informer.Wait(synced)
	rec.Synced(len(shared.GetStore().ListKeys()))
	for range *workers {
		go work(queue, lister, rec)
	}
	lists := informer.Lists{
		Namespace: func(namespace string) int {
			all, err := lister.Pods(namespace).List(labels.Everything())
			if err != nil {
				log.Fatal(err)
			}
			return len(all)
		},
		Instance: func(instance string) int {
			all, err := shared.GetIndexer().ByIndex(informer.InstanceIndex, instance)
			if err != nil {
				log.Fatal(err)
			}
			return len(all)
		},
	}
	rec.Serve(ctx, record.Source{
		Content: func() record.Content { return informer.Content(shared.GetStore()) },
		Reads:   func() map[string]any { return informer.Reads(shared, shared.GetStore(), lists) },
	})
}

func work(queue workqueue.TypedRateLimitingInterface[string], lister listers.PodLister, rec *record.Recorder) {
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		namespace, name, err := cache.SplitMetaNamespaceKey(key)
		if err == nil {
			if pod, err := lister.Pods(namespace).Get(name); err == nil {
				rec.Handled(pod.Labels[record.InstanceLabel], pod.Annotations[record.TimestampAnnotation])
			}
		}
		queue.Forget(key)
		queue.Done(key)
	}
}
