package main

import (
	"net/http"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// watcher receives commands from /bench and runs them on the goroutine that
// owns the response.
type watcher struct {
	commands chan func(*stream) (open bool)
	gone     <-chan struct{}
}

func (s *server) watch(w http.ResponseWriter, r *http.Request, e encoding) {
	s.watches.Add(1)
	q := r.URL.Query()
	st := &stream{w: w, e: e, bytes: &s.bytes}
	self := &watcher{commands: make(chan func(*stream) bool), gone: r.Context().Done()}
	initial := q.Get("sendInitialEvents") == "true"
	if initial && q.Get("resourceVersionMatch") != string(metav1.ResourceVersionMatchNotOlderThan) {
		refuse(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "sendInitialEvents needs resourceVersionMatch=NotOlderThan")
		return
	}

	s.store.RLock()
	rv, _ := strconv.ParseInt(q.Get("resourceVersion"), 10, 64)
	// With initial events any state that is not older will do, and the present one is.
	if !initial && rv != 0 && rv < s.store.expired {
		s.store.RUnlock()
		refuse(w, http.StatusGone, metav1.StatusReasonExpired, tooOld)
		return
	}
	contentType := contentTypes[e]
	if e == protobufEncoding {
		contentType += ";stream=watch"
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(http.StatusOK)
	var err error
	if initial || rv == 0 {
		err = s.sendInitial(st, initial && q.Get("allowWatchBookmarks") == "true")
	}
	if err == nil {
		err = st.flush()
	}
	s.mu.Lock()
	s.watchers[self] = struct{}{}
	s.mu.Unlock()
	s.store.RUnlock()
	defer func() {
		s.mu.Lock()
		delete(s.watchers, self)
		s.mu.Unlock()
	}()

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

// sendInitial streams the present Pods, and says so at their end if that was asked.
func (s *server) sendInitial(st *stream, mark bool) error {
	for i := range s.store.pods {
		st.buf, _ = appendEvent(st.buf, st.e, "ADDED", s.store.pods[i][st.e].bytes)
		if err := st.spill(); err != nil {
			return err
		}
	}
	if mark {
		st.buf, _ = appendEvent(st.buf, st.e, "BOOKMARK", bookmark(st.e, s.kind, s.store.rv))
	}
	s.full.Add(1)
	return nil
}

const tooOld = "too old resource version"

// refuse answers with a Status.
func refuse(w http.ResponseWriter, code int32, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", contentTypes[jsonEncoding])
	w.WriteHeader(int(code))
	_, _ = w.Write(status(jsonEncoding, failure(code, reason, message)))
}
