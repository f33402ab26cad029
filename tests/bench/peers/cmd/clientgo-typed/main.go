// Command clientgo-typed is an event handler for Pods as one writes it on
// client-go: a shared informer, a rate limiting work queue and N workers.
package main

import (
	"context"
	"flag"
	"log"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/wharf-dev/wharf/tests/bench/peers/internal/kube"
	"github.com/wharf-dev/wharf/tests/bench/peers/internal/record"
)

func main() {
	rec := record.New("clientgo-typed")
	conn := kube.AddFlags("json")
	workers := flag.Int("workers", 2, "number of workers")
	flag.Parse()
	rec.Set("workers", *workers)
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
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	defer queue.ShutDown()

	enqueue := func(obj any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
			queue.Add(key)
		}
	}
	_, err = pods.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { rec.Added(); enqueue(obj) },
		UpdateFunc: func(_, obj any) { rec.Updated(obj.(*corev1.Pod).Annotations[record.TimestampAnnotation]); enqueue(obj) },
		DeleteFunc: func(obj any) { rec.Deleted(); enqueue(obj) },
	})
	if err != nil {
		log.Fatal(err)
	}

	factory.Start(ctx.Done())
	for !pods.Informer().HasSynced() {
		time.Sleep(5 * time.Millisecond)
	}
	rec.Synced(len(pods.Informer().GetStore().ListKeys()))
	for range *workers {
		go work(queue, pods.Lister(), rec)
	}
	rec.Serve(ctx)
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
