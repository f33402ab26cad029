package main

import (
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/wharf-dev/wharf/tests/bench/peers/internal/record"
)

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
	answer(w, map[string]any{
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

func (s *server) expire(w http.ResponseWriter, r *http.Request) {
	change, _ := strconv.ParseInt(r.URL.Query().Get("change"), 10, 64)
	s.store.Lock()
	change = min(max(change, 0), int64(len(s.store.pods)))
	s.store.commit(change, time.Now().UnixNano())
	s.store.rv++
	s.store.expired = s.store.rv
	s.store.Unlock()
	n := s.each(func(st *stream) bool {
		gone := failure(http.StatusGone, metav1.StatusReasonExpired, tooOld)
		st.buf, _ = appendEvent(st.buf, st.e, "ERROR", status(st.e, gone))
		_ = st.flush()
		return false
	})
	answer(w, map[string]any{"watches": n, "changed": change})
}

// stats counts from the start of the server. full_states is how often all Pods
// were sent, by a list to its last page or by a watch.
func (s *server) stats(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	open := len(s.watchers)
	s.mu.Unlock()
	cpu := record.CPU().Seconds()
	s.store.RLock()
	defer s.store.RUnlock()
	content := s.store.content()
	answer(w, map[string]any{
		"open_watches": open, "lists": s.lists.Load(), "watches": s.watches.Load(),
		"full_states": s.full.Load(), "bytes": s.bytes.Load(), "cpu_s": cpu,
		"objects": content.Objects, "digest": content.Hex(),
		"json_bytes": s.store.jsonBytes, "json_bytes_without_managed_fields": s.store.jsonBytes - s.store.managedBytes,
	})
}

func answer(w http.ResponseWriter, body map[string]any) {
	w.Header().Set("Content-Type", contentTypes[jsonEncoding])
	_ = json.NewEncoder(w).Encode(body)
}
