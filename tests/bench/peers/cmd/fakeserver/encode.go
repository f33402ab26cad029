package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/wharf-dev/wharf/tests/bench/peers/internal/record"
)

// encoding is one wire format; body offsets differ between the two.
type encoding int

const (
	jsonEncoding encoding = iota
	protobufEncoding
	encodings
)

var contentTypes = [encodings]string{"application/json", "application/vnd.kubernetes.protobuf"}

// Resource versions and timestamps have a fixed width, so that an event is a
// copy of the stored body with two fields overwritten.
const (
	firstVersion = 1_000_000_000
	versionWidth = 10
	tsWidth      = 19
)

func version(rv int64) string { return fmt.Sprintf("%0*d", versionWidth, rv) }

// body is one serialised object and where its variable fields are.
type body struct {
	bytes    []byte
	rvAt     int
	tsAt     int
	rawStart int // protobuf only: the message inside the envelope
	rawEnd   int
}

func (b *body) setVersion(dst []byte, rv int64) { copy(dst[b.rvAt:], version(rv)) }

func (b *body) setTimestamp(dst []byte, ns int64) {
	if b.tsAt >= 0 {
		copy(dst[b.tsAt:], fmt.Sprintf("%0*d", tsWidth, ns))
	}
}

// typePrefix is how the JSON of an object begins.
func typePrefix(kind string) string { return fmt.Sprintf(`{"kind":%q,"apiVersion":"v1",`, kind) }

func locate(b body, rv string) body {
	b.rvAt = bytes.Index(b.bytes, []byte(rv))
	b.tsAt = -1
	if at := bytes.Index(b.bytes, []byte(record.TimestampAnnotation)); at >= 0 {
		// The next 19 zeros after the key, whatever the format puts between them.
		if off := bytes.Index(b.bytes[at:], bytes.Repeat([]byte("0"), tsWidth)); off >= 0 {
			b.tsAt = at + off
		}
	}
	return b
}

func encodeJSON(obj any, rv string) body {
	raw, err := json.Marshal(obj)
	if err != nil {
		panic(err)
	}
	return locate(body{bytes: raw}, rv)
}

type protoMessage interface{ Marshal() ([]byte, error) }

// encodeProtobuf wraps a message in the envelope that Kubernetes uses: four
// magic bytes and a runtime.Unknown with the type in field 1 and the message in field 2.
func encodeProtobuf(obj protoMessage, apiVersion, kind, rv string) body {
	raw, err := obj.Marshal()
	if err != nil {
		panic(err)
	}
	out := appendEnvelope(nil, apiVersion, kind, len(raw))
	start := len(out)
	out = append(out, raw...)
	end := len(out)
	out = append(out, envelopeEnd...)
	return locate(body{bytes: out, rawStart: start, rawEnd: end}, rv)
}

var envelopeEnd = []byte{0x1a, 0, 0x22, 0}

func appendEnvelope(dst []byte, apiVersion, kind string, size int) []byte {
	typeMeta := appendString(appendString(nil, 0x0a, apiVersion), 0x12, kind)
	dst = append(dst, 'k', '8', 's', 0)
	dst = appendString(dst, 0x0a, string(typeMeta))
	dst = append(dst, 0x12)
	return binary.AppendUvarint(dst, uint64(size))
}

func appendString(dst []byte, tag byte, s string) []byte {
	dst = binary.AppendUvarint(append(dst, tag), uint64(len(s)))
	return append(dst, s...)
}

func uvarintLen(n int) int { return len(binary.AppendUvarint(nil, uint64(n))) }

// appendEvent adds one watch event to dst and returns where the object starts in it.
func appendEvent(dst []byte, e encoding, kind string, object []byte) (out []byte, at int) {
	if e == jsonEncoding {
		dst = append(dst, `{"type":"`...)
		dst = append(dst, kind...)
		dst = append(dst, `","object":`...)
		at = len(dst)
		dst = append(dst, object...)
		return append(dst, "}\n"...), at
	}
	// A frame: length, then WatchEvent{type = 1, object = 2 RawExtension{raw = 1}}.
	rawLen := 1 + uvarintLen(len(object)) + len(object)
	frame := 1 + uvarintLen(len(kind)) + len(kind) + 1 + uvarintLen(rawLen) + rawLen
	dst = binary.BigEndian.AppendUint32(dst, uint32(frame))
	dst = appendString(dst, 0x0a, kind)
	dst = binary.AppendUvarint(append(dst, 0x12), uint64(rawLen))
	dst = binary.AppendUvarint(append(dst, 0x0a), uint64(len(object)))
	at = len(dst)
	return append(dst, object...), at
}

// bookmark is the one that ends the initial events.
func bookmark(e encoding, kind string, rv int64) []byte {
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: kind}}
	pod.ResourceVersion = version(rv)
	pod.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	if e == jsonEncoding {
		return encodeJSON(pod, "").bytes
	}
	return encodeProtobuf(pod, "v1", "Pod", "").bytes
}

func failure(code int32, reason metav1.StatusReason, message string) *metav1.Status {
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: code, Reason: reason, Message: message,
	}
}

func status(e encoding, st *metav1.Status) []byte {
	if e == jsonEncoding {
		return encodeJSON(st, "").bytes
	}
	return encodeProtobuf(st, "v1", "Status", "").bytes
}
