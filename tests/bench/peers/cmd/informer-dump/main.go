// Command informer-dump follows the ConfigMaps of one namespace with a shared informer, and says
// what its store holds: once it has synced, for every line of its input, and when the input ends.
//
// A dump is one line for each object, in the order of the keys, and an empty line after the last:
//
//	namespace/name uid resourceVersion sha256-of-data
//
// The sum is over the JSON of `data`, whose keys encoding/json writes in order; without data it is
// that of `{}`.
package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"sort"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/wharf-dev/wharf/tests/bench/peers/internal/kube"
)

func main() {
	conn := kube.AddFlags("json")
	namespace := flag.String("namespace", "", "the namespace to follow; empty for all")
	flag.Parse()

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
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(*namespace))
	informer := factory.Core().V1().ConfigMaps().Informer()
	factory.Start(ctx.Done())
	cache.WaitForCacheSync(ctx.Done(), informer.HasSynced)

	dump(informer.GetStore())
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		dump(informer.GetStore())
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
	dump(informer.GetStore())
}

func dump(store cache.Store) {
	out := bufio.NewWriter(os.Stdout)
	var lines []string
	for _, item := range store.List() {
		object := item.(*corev1.ConfigMap)
		data := object.Data
		if data == nil {
			data = map[string]string{}
		}
		text, err := json.Marshal(data)
		if err != nil {
			log.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%s/%s %s %s %x", object.Namespace, object.Name, object.UID, object.ResourceVersion, sha256.Sum256(text)))
	}
	sort.Strings(lines)
	for _, line := range lines {
		fmt.Fprintln(out, line)
	}
	fmt.Fprintln(out)
	if err := out.Flush(); err != nil {
		log.Fatal(err)
	}
}
