// Command clientgo-dynamic is the dynamic informer of client-go with N
// handlers: objects are unstructured maps, as in tools that do not know their
// types beforehand.
package main

import (
	"context"
	"flag"
	"log"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"

	"github.com/wharf-dev/wharf/tests/bench/peers/internal/informer"
	"github.com/wharf-dev/wharf/tests/bench/peers/internal/kube"
	"github.com/wharf-dev/wharf/tests/bench/peers/internal/record"
)

func main() {
	rec := record.New("clientgo-dynamic")
	conn := kube.AddFlags("default")
	handlers := flag.Int("handlers", 1, "number of event handlers")
	flag.Parse()
	rec.Set("handlers", *handlers)
	rec.Set("encoding", "json")

	cfg, err := conn.Config()
	if err != nil {
		log.Fatal(err)
	}
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		log.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	pods := factory.ForResource(schema.GroupVersionResource{Version: "v1", Resource: "pods"})
	shared, lister := pods.Informer(), pods.Lister()
	if err := shared.AddIndexers(informer.Indexers()); err != nil {
		log.Fatal(err)
	}
	synced := informer.Attach(shared, *handlers, rec, stamp, nil)

	factory.Start(ctx.Done())
	informer.Wait(synced)
	rec.Synced(len(shared.GetStore().ListKeys()))
	lists := informer.Lists{
		Namespace: func(namespace string) int {
			all, err := lister.ByNamespace(namespace).List(labels.Everything())
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

// stamp reads one annotation without a copy of all of them.
func stamp(obj any) string {
	value, _, _ := unstructured.NestedString(obj.(*unstructured.Unstructured).Object, "metadata", "annotations", record.TimestampAnnotation)
	return value
}
