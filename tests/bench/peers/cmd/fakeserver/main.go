// Command fakeserver answers just enough of the Kubernetes API for a Pod
// informer, from memory and in both wire formats, so that the speed of clients
// can be measured without an API server and etcd being the limit.
//
//	GET  /api, /apis, /api/v1                   discovery
//	GET  /api/v1[/namespaces/x]/pods            list (limit and continue when resourceVersion is empty)
//	GET  ...?watch=1                            watch, with sendInitialEvents and bookmarks
//	POST /bench/push?events=K&rate=R            K MODIFIED events to every open watch, R/s (0: as fast as they are read)
//	POST /bench/expire?change=K                 changes K Pods without a word, ends every watch with a 410, and answers
//	                                            410 to watches from older versions, so that clients list again
//	GET  /bench/stats                           what was asked and sent, and what the content is
//
// The path with a namespace serves the Pods of all namespaces: nobody asks for
// one here.
package main

import (
	"flag"
	"fmt"
	"log"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/wharf-dev/wharf/tests/bench/peers/internal/podgen"
)

type server struct {
	store  *store
	jsonly bool
	kind   string

	mu       sync.Mutex
	watchers map[*watcher]struct{}

	lists, watches, full, bytes atomic.Int64
}

func main() {
	addr := flag.String("listen", "127.0.0.1:18080", "address")
	pods := flag.Int("pods", 10000, "number of Pods")
	namespaces := flag.Int("namespaces", 1, "number of namespaces that they are in")
	size := flag.Int("pod-bytes", 8192, "JSON size of a Pod")
	jsonOnly := flag.Bool("json-only", false, "never answer in protobuf")
	configMaps := flag.Bool("as-configmaps", false, "serve the same objects as ConfigMaps, in JSON only")
	flag.Parse()

	// The content is large and never freed; twice as much would be too much.
	debug.SetGCPercent(20)
	s := &server{
		store:    newStore(podgen.New(max(*namespaces, 1), *size), *pods),
		jsonly:   *jsonOnly || *configMaps,
		kind:     "Pod",
		watchers: map[*watcher]struct{}{},
	}
	resource := "pods"
	if *configMaps {
		s.kind, resource = "ConfigMap", "configmaps"
		s.store.rename("Pod", s.kind)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api", static(`{"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":[]}`))
	mux.HandleFunc("GET /apis", static(`{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`))
	mux.HandleFunc("GET /api/v1", static(fmt.Sprintf(
		`{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":%q,"singularName":%q,"namespaced":true,"kind":%q,"verbs":["get","list","watch"]}]}`,
		resource, strings.ToLower(s.kind), s.kind)))
	mux.HandleFunc("GET /version", static(`{"major":"1","minor":"36","gitVersion":"v1.36.3"}`))
	mux.HandleFunc("GET /api/v1/"+resource, s.pods)
	mux.HandleFunc("GET /api/v1/namespaces/{namespace}/"+resource, s.pods)
	mux.HandleFunc("POST /bench/push", s.push)
	mux.HandleFunc("POST /bench/expire", s.expire)
	mux.HandleFunc("GET /bench/stats", s.stats)

	j, p := s.store.sizes()
	log.Printf("%d Pods of %d bytes of JSON, %d of protobuf, on %s", *pods, j, p, *addr)
	log.Fatal(http.ListenAndServe(*addr, mux))
}

func static(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, body)
	}
}

func (s *server) pods(w http.ResponseWriter, r *http.Request) {
	e := jsonEncoding
	if !s.jsonly && strings.Contains(r.Header.Get("Accept"), contentTypes[protobufEncoding]) {
		e = protobufEncoding
	}
	if q := r.URL.Query().Get("watch"); q == "1" || q == "true" {
		s.watch(w, r, e)
		return
	}
	s.list(w, r, e)
}
