package main

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
)

const flushAt = 128 << 10

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
	write := s.listJSON
	if e == protobufEncoding {
		write = s.listProtobuf
	}
	if write(st, s.store.pods[from:to], next) == nil && st.flush() == nil && next == "" {
		s.full.Add(1)
	}
}

// listJSON leaves kind and apiVersion out of the items, as the API server does.
func (s *server) listJSON(st *stream, pods [][encodings]body, next string) error {
	st.buf = fmt.Appendf(st.buf, `{"kind":"%sList","apiVersion":"v1","metadata":{"resourceVersion":%q,"continue":%q},"items":[`, s.kind, version(s.store.rv), next)
	skip := len(typePrefix(s.kind))
	for i := range pods {
		if i > 0 {
			st.buf = append(st.buf, ',')
		}
		st.buf = append(st.buf, '{')
		st.buf = append(st.buf, pods[i][st.e].bytes[skip:]...)
		if err := st.spill(); err != nil {
			return err
		}
	}
	st.buf = append(st.buf, "]}"...)
	return nil
}

// listProtobuf writes PodList{metadata = 1 ListMeta{resourceVersion = 2, continue = 3}, items = 2}.
func (s *server) listProtobuf(st *stream, pods [][encodings]body, next string) error {
	meta := appendString(appendString(nil, 0x12, version(s.store.rv)), 0x1a, next)
	total := 1 + uvarintLen(len(meta)) + len(meta)
	for i := range pods {
		n := pods[i][st.e].rawEnd - pods[i][st.e].rawStart
		total += 1 + uvarintLen(n) + n
	}
	st.buf = appendEnvelope(st.buf, "v1", "PodList", total)
	st.buf = appendString(st.buf, 0x0a, string(meta))
	for i := range pods {
		b := &pods[i][st.e]
		st.buf = binary.AppendUvarint(append(st.buf, 0x12), uint64(b.rawEnd-b.rawStart))
		st.buf = append(st.buf, b.bytes[b.rawStart:b.rawEnd]...)
		if err := st.spill(); err != nil {
			return err
		}
	}
	st.buf = append(st.buf, envelopeEnd...)
	return nil
}
