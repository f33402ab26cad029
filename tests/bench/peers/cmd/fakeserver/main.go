// Command fakeserver answers just enough of the Kubernetes API for a Pod
// informer, from memory and in both wire formats, so that the speed of clients
// can be measured without an API server and etcd being the limit.
//
//	GET  /api, /apis, /api/v1                   discovery
//	GET  /api/v1[/namespaces/x]/pods            list (limit and continue when resourceVersion is empty)
//	GET  ...?watch=1                            watch, with sendInitialEvents and bookmarks
//	POST /bench/push?events=K&rate=R            K MODIFIED events to every open watch, R/s (0: as fast as they are read)
//	POST /bench/expire                          ends every watch with a 410, so that clients list again
//	GET  /bench/stats                           open watches, requests answered, bytes sent
package main

import (
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wharf-dev/wharf/tests/bench/peers/internal/podgen"
	"github.com/wharf-dev/wharf/tests/bench/peers/internal/record"
)

const flushAt = 128 << 10

type server struct {
	store  *store
	jsonly bool
	kind   string

	mu       sync.Mutex
	watchers map[*watcher]struct{}

	lists, watches, initial, bytes atomic.Int64
}

// watcher receives commands from /bench and runs them on the goroutine that
// owns the response.
type watcher struct {
	commands chan func(*stream) (open bool)
	gone     <-chan struct{}
}

func main() {
	addr := flag.String("listen", "127.0.0.1:18080", "address")
	pods := flag.Int("pods", 10000, "number of Pods")
	size := flag.Int("pod-bytes", 8192, "JSON size of a Pod")
	jsonOnly := flag.Bool("json-only", false, "never answer in protobuf")
	configMaps := flag.Bool("as-configmaps", false, "serve the same objects as ConfigMaps, in JSON only")
	flag.Parse()

	s := &server{
		store:    newStore(podgen.New("bench", true, *size), *pods),
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

// stream is a response that is written in large pieces.
type stream struct {
	w     http.ResponseWriter
	e     encoding
	buf   []byte
	bytes *atomic.Int64
}

func (st *stream) flush() error {
	if len(st.buf) > 0 {
		st.bytes.Add(int64(len(st.buf)))
		if _, err := st.w.Write(st.buf); err != nil {
			return err
		}
		st.buf = st.buf[:0]
	}
	return http.NewResponseController(st.w).Flush()
}

func (st *stream) spill() error {
	if len(st.buf) < flushAt {
		return nil
	}
	return st.flush()
}

func (s *server) list(w http.ResponseWriter, r *http.Request, e encoding) {
	s.lists.Add(1)
	s.store.RLock()
	defer s.store.RUnlock()
	q := r.URL.Query()
	from, to, next := 0, len(s.store.pods), ""
	if c := q.Get("continue"); c != "" {
		from, _ = strconv.Atoi(c)
		from = min(max(from, 0), to)
	}
	// Like the API server's watch cache, ignore limit when any version will do.
	if limit, _ := strconv.Atoi(q.Get("limit")); limit > 0 && q.Get("resourceVersion") == "" && from+limit < to {
		to = from + limit
		next = strconv.Itoa(to)
	}
	w.Header().Set("Content-Type", contentTypes[e])
	st := &stream{w: w, e: e, bytes: &s.bytes}
	pods := s.store.pods[from:to]
	if e == jsonEncoding {
		st.buf = fmt.Appendf(st.buf, `{"kind":"%sList","apiVersion":"v1","metadata":{"resourceVersion":"%s","continue":"%s"},"items":[`, s.kind, version(s.store.rv), next)
		for i := range pods {
			if i > 0 {
				st.buf = append(st.buf, ',')
			}
			st.buf = append(st.buf, pods[i][e].bytes...)
			if st.spill() != nil {
				return
			}
		}
		st.buf = append(st.buf, "]}"...)
	} else {
		// PodList{metadata = 1 ListMeta{resourceVersion = 2, continue = 3}, items = 2}
		meta := appendString(appendString(nil, 0x12, version(s.store.rv)), 0x1a, next)
		total := 1 + uvarintLen(len(meta)) + len(meta)
		for i := range pods {
			n := pods[i][e].rawEnd - pods[i][e].rawStart
			total += 1 + uvarintLen(n) + n
		}
		st.buf = appendEnvelope(st.buf, "v1", "PodList", total)
		st.buf = appendString(st.buf, 0x0a, string(meta))
		for i := range pods {
			b := &pods[i][e]
			st.buf = binary.AppendUvarint(append(st.buf, 0x12), uint64(b.rawEnd-b.rawStart))
			st.buf = append(st.buf, b.bytes[b.rawStart:b.rawEnd]...)
			if st.spill() != nil {
				return
			}
		}
		st.buf = append(st.buf, envelopeEnd...)
	}
	_ = st.flush()
}

func (s *server) watch(w http.ResponseWriter, r *http.Request, e encoding) {
	s.watches.Add(1)
	q := r.URL.Query()
	st := &stream{w: w, e: e, bytes: &s.bytes}
	self := &watcher{commands: make(chan func(*stream) bool), gone: r.Context().Done()}

	s.store.RLock()
	rv, _ := strconv.ParseInt(q.Get("resourceVersion"), 10, 64)
	if rv != 0 && rv < s.store.expired {
		s.store.RUnlock()
		w.Header().Set("Content-Type", contentTypes[jsonEncoding])
		w.WriteHeader(http.StatusGone)
		_, _ = w.Write(status(jsonEncoding, gone()))
		return
	}
	contentType := contentTypes[e]
	if e == protobufEncoding {
		contentType += ";stream=watch"
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(http.StatusOK)
	err := s.sendInitial(st, q.Get("sendInitialEvents") == "true", rv)
	s.mu.Lock()
	s.watchers[self] = struct{}{}
	s.mu.Unlock()
	s.store.RUnlock()
	defer func() {
		s.mu.Lock()
		delete(s.watchers, self)
		s.mu.Unlock()
	}()
	if err == nil {
		err = st.flush()
	}

	timeout := 30 * time.Minute
	if n, _ := strconv.Atoi(q.Get("timeoutSeconds")); n > 0 {
		timeout = time.Duration(n) * time.Second
	}
	end := time.After(timeout)
	for err == nil {
		select {
		case command := <-self.commands:
			if !command(st) {
				return
			}
		case <-end:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// sendInitial streams the present Pods when the client asked for them, or when
// it named no version to start from.
func (s *server) sendInitial(st *stream, asked bool, rv int64) error {
	if !asked && rv != 0 {
		return nil
	}
	for i := range s.store.pods {
		st.buf, _ = appendEvent(st.buf, st.e, "ADDED", s.store.pods[i][st.e].bytes)
		if err := st.spill(); err != nil {
			return err
		}
	}
	s.initial.Add(int64(len(s.store.pods)))
	if asked {
		st.buf, _ = appendEvent(st.buf, st.e, "BOOKMARK", bookmark(st.e, s.kind, s.store.rv, true))
	}
	return nil
}

// each runs a command on every open watch and waits for all of them.
func (s *server) each(command func(*stream) bool) int {
	s.mu.Lock()
	var all []*watcher
	for w := range s.watchers {
		all = append(all, w)
	}
	s.mu.Unlock()
	var wg sync.WaitGroup
	for _, w := range all {
		wg.Add(1)
		run := func(st *stream) bool { defer wg.Done(); return command(st) }
		go func() {
			select {
			case w.commands <- run:
			case <-w.gone:
				wg.Done()
			}
		}()
	}
	wg.Wait()
	return len(all)
}

func (s *server) push(w http.ResponseWriter, r *http.Request) {
	events, _ := strconv.ParseInt(r.URL.Query().Get("events"), 10, 64)
	rate, _ := strconv.ParseFloat(r.URL.Query().Get("rate"), 64)
	s.store.Lock()
	defer s.store.Unlock()
	if len(s.store.pods) == 0 || events <= 0 {
		http.Error(w, "nothing to push", http.StatusBadRequest)
		return
	}
	start, cpu, sent := time.Now(), record.CPU(), s.bytes.Load()
	n := s.each(func(st *stream) bool { return s.pump(st, events, rate) == nil })
	took := time.Since(start)
	s.store.commit(events, time.Now().UnixNano())
	_ = json.NewEncoder(w).Encode(map[string]any{
		"watches": n, "events": events, "rate": rate, "seconds": took.Seconds(),
		"events_per_s": float64(events) / took.Seconds(), "bytes": s.bytes.Load() - sent,
		"server_cpu_s": (record.CPU() - cpu).Seconds(),
	})
}

func (s *server) pump(st *stream, events int64, rate float64) error {
	start := time.Now()
	for i := range events {
		if rate > 0 {
			if wait := time.Until(start.Add(time.Duration(float64(i) / rate * 1e9))); wait > 0 {
				if err := st.flush(); err != nil {
					return err
				}
				time.Sleep(wait)
			}
		}
		b := &s.store.pods[int(i%int64(len(s.store.pods)))][st.e]
		var at int
		st.buf, at = appendEvent(st.buf, st.e, "MODIFIED", b.bytes)
		b.setVersion(st.buf[at:], s.store.rv+1+i)
		b.setTimestamp(st.buf[at:], time.Now().UnixNano())
		if err := st.spill(); err != nil {
			return err
		}
	}
	return st.flush()
}

func (s *server) expire(w http.ResponseWriter, _ *http.Request) {
	s.store.Lock()
	s.store.rv++
	s.store.expired = s.store.rv
	s.store.Unlock()
	n := s.each(func(st *stream) bool {
		st.buf, _ = appendEvent(st.buf, st.e, "ERROR", status(st.e, gone()))
		_ = st.flush()
		return false
	})
	_ = json.NewEncoder(w).Encode(map[string]any{"watches": n})
}

func (s *server) stats(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	open := len(s.watchers)
	s.mu.Unlock()
	_ = json.NewEncoder(w).Encode(map[string]any{
		"open_watches": open, "lists": s.lists.Load(), "watches": s.watches.Load(),
		"initial_events": s.initial.Load(), "bytes": s.bytes.Load(),
	})
}
