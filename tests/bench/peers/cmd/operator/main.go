// Command operator is what kubebuilder makes for a team: a manager with one reconciler for Pods and
// one for ConfigMaps of one namespace, which read the object from the cache, look at a label and count.
//
// It says "synced" in its log once the caches are filled, and prints its report when it ends.
package main

import (
	"context"
	"flag"
	"log"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/wharf-dev/wharf/tests/bench/peers/internal/kube"
	"github.com/wharf-dev/wharf/tests/bench/peers/internal/record"
)

func main() {
	rec := record.New("operator")
	conn := kube.AddFlags("protobuf")
	namespace := flag.String("namespace", "default", "the namespace whose objects are watched")
	flag.Parse()
	ctrl.SetLogger(zap.New())

	cfg, err := conn.Config()
	if err != nil {
		log.Fatal(err)
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Cache:                  cache.Options{DefaultNamespaces: map[string]cache.Config{*namespace: {}}},
		Metrics:                server.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
	})
	if err != nil {
		log.Fatal(err)
	}
	kinds := map[string]func() client.Object{
		"pods":       func() client.Object { return &corev1.Pod{} },
		"configmaps": func() client.Object { return &corev1.ConfigMap{} },
	}
	for name, make := range kinds {
		reconciler := &reconciler{client: mgr.GetClient(), make: make, rec: rec}
		if err := ctrl.NewControllerManagedBy(mgr).For(make()).Named(name).Complete(reconciler); err != nil {
			log.Fatal(err)
		}
	}

	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- mgr.Start(ctx) }()
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		log.Fatal("the caches have not synced")
	}
	for _, make := range kinds {
		if _, err := mgr.GetCache().GetInformer(ctx, make()); err != nil {
			log.Fatal(err)
		}
	}
	rec.Synced(0)
	rec.Serve(ctx, record.Source{Content: func() record.Content { return record.Content{} }})
	cancel()
	if err := <-stopped; err != nil {
		log.Fatal(err)
	}
}

type reconciler struct {
	client client.Client
	make   func() client.Object
	rec    *record.Recorder
}

func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	obj := r.make()
	if err := r.client.Get(ctx, req.NamespacedName, obj); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	r.rec.Handled(obj.GetLabels()[record.InstanceLabel], "")
	return ctrl.Result{}, nil
}
