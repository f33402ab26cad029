package main

import (
	"bytes"
	"encoding/json"
	"runtime"
	"sync"

	"github.com/wharf-dev/wharf/tests/bench/peers/internal/podgen"
	"github.com/wharf-dev/wharf/tests/bench/peers/internal/record"
)

// store holds every Pod in each wire format. The lock is held for writing
// while events are pushed, so that a list never sees half a push.
type store struct {
	sync.RWMutex
	gen      *podgen.Generator
	pods     [][encodings]body
	versions []int64
	rv       int64
	expired  int64 // watches from below this version are answered with 410

	// Of all Pods in JSON, and of their managedFields.
	jsonBytes, managedBytes int
}

func newStore(gen *podgen.Generator, n int) *store {
	s := &store{gen: gen, pods: make([][encodings]body, n), versions: make([]int64, n), rv: firstVersion + int64(n)}
	var (
		wg sync.WaitGroup
		mu sync.Mutex
	)
	parts := runtime.GOMAXPROCS(0)
	for part := range parts {
		wg.Go(func() {
			var all, managed int
			for i := part; i < n; i += parts {
				m := s.put(i)
				managed += m
				all += len(s.pods[i][jsonEncoding].bytes)
			}
			mu.Lock()
			defer mu.Unlock()
			s.jsonBytes += all
			s.managedBytes += managed
		})
	}
	wg.Wait()
	return s
}

// put makes the i-th Pod and returns how many bytes of its JSON are managedFields.
func (s *store) put(i int) (managed int) {
	pod := s.gen.Pod(i)
	s.versions[i] = firstVersion + int64(i)
	pod.ResourceVersion = version(s.versions[i])
	s.pods[i] = [encodings]body{encodeJSON(pod, pod.ResourceVersion), encodeProtobuf(pod, "v1", "Pod", pod.ResourceVersion)}
	raw, err := json.Marshal(pod.ManagedFields)
	if err != nil {
		panic(err)
	}
	return len(raw) + len(`,"managedFields":`)
}

// rename makes objects of another kind of all that were made. Only in JSON.
func (s *store) rename(from, to string) {
	before, after := []byte(typePrefix(from)), []byte(typePrefix(to))
	s.jsonBytes += len(s.pods) * (len(after) - len(before))
	for i := range s.pods {
		old := &s.pods[i][jsonEncoding]
		*old = locate(body{bytes: bytes.Replace(old.bytes, before, after, 1)}, version(s.versions[i]))
	}
}

func (s *store) sizes() (jsonBytes, protobufBytes int) {
	if len(s.pods) == 0 {
		return 0, 0
	}
	return len(s.pods[0][jsonEncoding].bytes), len(s.pods[0][protobufEncoding].bytes)
}

// commit stores the outcome of n changes made round robin over all Pods.
func (s *store) commit(n int64, ns int64) {
	for i := max(0, n-int64(len(s.pods))); i < n; i++ {
		at := int(i % int64(len(s.pods)))
		s.versions[at] = s.rv + 1 + i
		pod := &s.pods[at]
		for e := range pod {
			pod[e].setVersion(pod[e].bytes, s.versions[at])
			pod[e].setTimestamp(pod[e].bytes, ns)
		}
	}
	s.rv += n
}

// content is what a client that has followed holds.
func (s *store) content() record.Content {
	var content record.Content
	for i := range s.pods {
		content.Add(s.gen.Namespace(i), podgen.Name(i), version(s.versions[i]))
	}
	return content
}
