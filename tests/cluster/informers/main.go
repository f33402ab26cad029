// Command informers asks an API server for what client-go asks of it: protobuf writes, a typed
// and a dynamic informer that follow them, and leader election. It prints its figures as JSON
// and exits with 1 if anything that the informers hold differs from what was written.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const protobuf = "application/vnd.kubernetes.protobuf"

type options struct {
	namespace string
	objects   int
	changes   int
	writers   int
	timeout   time.Duration
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig file")
	var opts options
	flag.StringVar(&opts.namespace, "namespace", "informers", "namespace to work in; it is made if it is not there")
	flag.IntVar(&opts.objects, "objects", 10_000, "number of ConfigMaps to start with")
	flag.IntVar(&opts.changes, "changes", 5_000, "number of changes to follow")
	flag.IntVar(&opts.writers, "writers", 8, "number of writers at a time")
	flag.DurationVar(&opts.timeout, "timeout", 5*time.Minute, "the longest that all of it may take")
	flag.Parse()

	figures := map[string]any{"objects": opts.objects, "changes": opts.changes}
	err := run(*kubeconfig, opts, figures)
	if err != nil {
		figures["error"] = err.Error()
	}
	out, _ := json.MarshalIndent(figures, "", "  ")
	fmt.Println(string(out))
	if err != nil {
		os.Exit(1)
	}
}

func run(kubeconfig string, opts options, figures map[string]any) error {
	ctx, cancel := context.WithTimeout(context.Background(), opts.timeout)
	defer cancel()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	forProtobuf := rest.CopyConfig(config)
	forProtobuf.ContentType = protobuf
	forProtobuf.AcceptContentTypes = protobuf + ",application/json"
	typed, err := kubernetes.NewForConfig(forProtobuf)
	if err != nil {
		return err
	}
	untyped, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: opts.namespace}}
	_, err = typed.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	if err != nil && !errors.IsAlreadyExists(err) {
		return fmt.Errorf("make the namespace: %w", err)
	}
	if err := follow(ctx, typed, untyped, opts, figures); err != nil {
		return err
	}
	return elect(ctx, typed, opts.namespace, figures)
}

// since is for figures: whole milliseconds.
func since(start time.Time) int64 {
	return time.Since(start).Milliseconds()
}
