// Commands that report a value.

package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	wharf "github.com/wharf-dev/wharf/sdk/go"
	"github.com/wharf-dev/wharf/sdk/go/cluster"
)

// counter lives as long as the instance.
var counter uint64

// reports are found by their names.
var reports = map[string]func(call) (any, error){
	"delivery":      delivery,
	"get":           func(c call) (any, error) { return raw(wharf.Get[json.RawMessage](c.view(), c.args.Pointer)) },
	"get-many":      getMany,
	"changed":       func(c call) (any, error) { return c.event.ChangedEach(c.args.Pointers...), nil },
	"string":        typed[string],
	"integer":       typed[int64],
	"number":        typed[float64],
	"boolean":       typed[bool],
	"strings":       typed[[]string],
	"copy":          copyObject,
	"object":        countFields,
	"remaining":     remaining,
	"enabled":       enabled,
	"config":        func(c call) (any, error) { return c.guest, nil },
	"config-value":  func(c call) (any, error) { return raw(wharf.ConfigValue[json.RawMessage](c.args.Pointer)) },
	"count":         func(call) (any, error) { counter++; return counter, nil },
	"churn":         churn,
	"now":           func(call) (any, error) { return wharf.Now().Unix(), nil },
	"native-now":    func(call) (any, error) { return time.Now().Unix(), nil },
	"random":        random,
	"native-random": func(call) (any, error) { return []float64{rand.Float64(), rand.Float64()}, nil },

	"cluster-get":          func(c call) (any, error) { return caught(clusterGet(c)) },
	"cluster-get-uncaught": func(c call) (any, error) { return clusterGet(c) },
	"cluster-list":         func(c call) (any, error) { return caught(clusterList(c)) },
	"cluster-create":       func(c call) (any, error) { return written(cluster.CreateWith(c.args.Object, c.writeOptions())) },
	"cluster-apply":        func(c call) (any, error) { return written(cluster.ApplyWith(c.args.Object, c.writeOptions())) },
	"cluster-patch": func(c call) (any, error) {
		return written(cluster.MergePatchWith(c.target(), c.args.Patch, c.writeOptions()))
	},
	"cluster-delete": func(c call) (any, error) { return caught("deleted", cluster.DeleteWith(c.target(), c.deleteOptions())) },
}

func delivery(c call) (any, error) {
	d := c.event.Delivery()
	var namespace any
	if d.Key.Namespace != "" {
		namespace = d.Key.Namespace
	}
	return map[string]any{
		"event":     c.event.Change(),
		"kind":      map[string]string{"group": d.Key.Kind.Group, "version": d.Key.Kind.Version, "kind": d.Key.Kind.Kind},
		"namespace": namespace, "name": d.Key.Name, "uid": d.Key.UID,
		"resourceVersion": d.ResourceVersion, "deleting": d.Deleting, "subscription": d.Subscription,
		"removal": d.Removal, "finalStateUnknown": d.FinalStateUnknown, "cause": d.Cause, "attempt": d.Attempt,
		"queuedMs": d.Queued.Milliseconds(), "budgetMs": d.Budget.Milliseconds(), "size": d.Size, "traceparent": d.Traceparent,
	}, nil
}

func getMany(c call) (any, error) {
	values, err := wharf.GetMany[json.RawMessage](c.view(), c.args.Pointers...)
	texts := make([]any, len(values))
	for i, value := range values {
		if value != nil {
			texts[i] = string(*value)
		}
	}
	return texts, err
}

func typed[T any](c call) (any, error) {
	value, found, err := wharf.Get[T](c.event, c.args.Pointer)
	if err != nil || !found {
		return nil, err
	}
	return value, nil
}

func copyObject(c call) (any, error) {
	text, found := c.view().JSON()
	if !found {
		return nil, nil
	}
	written, err := cluster.Create(json.RawMessage(text))
	return written.ResourceVersion, err
}

func countFields(c call) (any, error) {
	object, _, err := wharf.Object[map[string]any](c.event)
	return len(object), err
}

func remaining(c call) (any, error) {
	left := c.event.Remaining()
	return left > 0 && left <= c.event.Delivery().Budget, nil
}

func enabled(call) (any, error) {
	answers := map[string]bool{}
	for name, level := range levels {
		answers[name] = slog.Default().Enabled(context.Background(), level)
	}
	return answers, nil
}

func churn(c call) (any, error) {
	text := strings.Repeat("x", c.args.Bytes)
	counter++
	return counter, requireLength(text, c.args.Bytes)
}

// requireLength uses the text, so that it is made.
func requireLength(text string, length int) error {
	if len(text) != length {
		return wharf.Permanent("Custom", "the string has another length")
	}
	return nil
}

func random(c call) (any, error) {
	bytes := wharf.Random(c.args.Len)
	if len(bytes) > 64 {
		return len(bytes), nil
	}
	return hex.EncodeToString(bytes), nil
}

// raw is JSON text as a string, or nil.
func raw(text json.RawMessage, found bool, err error) (any, error) {
	if err != nil || !found {
		return nil, err
	}
	return string(text), nil
}

func (c call) view() wharf.View {
	if c.args.Which == "previous" {
		return c.event.Previous()
	}
	return c.event.Current()
}
