package cluster_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	wharf "github.com/wharf-dev/wharf/sdk/go"
	"github.com/wharf-dev/wharf/sdk/go/cluster"
	"github.com/wharf-dev/wharf/sdk/go/wharftest"
)

var configMaps = cluster.Kind("v1", "ConfigMap")

// plugin does what a test says.
type plugin struct{ do func() error }

func (p *plugin) Describe() wharf.Description { return wharf.Description{} }

func (p *plugin) Add(*wharf.Event) (wharf.Outcome, error) { return wharf.Done(), p.do() }

// in runs a function in a call of a host.
func in(t *testing.T, host *wharftest.Host, do func() error) *wharf.Failure {
	t.Helper()
	wharf.Register(func() *plugin { return &plugin{do} })
	_, failure := host.Add(object("trigger", ""))
	return failure
}

func object(name, team string) wharftest.Object {
	return wharftest.Object{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": wharftest.Object{"namespace": "a", "name": name, "labels": wharftest.Object{"team": team}},
		"data":     wharftest.Object{"key": "<v>"},
	}
}

func ref(name string) cluster.ObjectRef {
	return cluster.ObjectRef{Kind: configMaps, Namespace: "a", Name: name}
}

func TestKindsAndReferencesAreWrittenAsUsual(t *testing.T) {
	for _, apiVersion := range []string{"v1", "apps/v1"} {
		if got := cluster.Kind(apiVersion, "X").APIVersion(); got != apiVersion {
			t.Errorf("%s: %s", apiVersion, got)
		}
	}
	if got := ref("x").String(); got != "a/x" {
		t.Error(got)
	}
}

func TestReads(t *testing.T) {
	host := wharftest.New(t).Object(object("one", "x")).Object(object("two", "y")).Object(object("three", "x"))
	failure := in(t, host, func() error {
		type data struct{ Data map[string]string }
		one, err := cluster.Get[data](configMaps, "a", "one")
		if err != nil || one.Data["key"] != "<v>" {
			t.Errorf("%v, %v", one, err)
		}
		cut, err := cluster.GetWith[json.RawMessage](configMaps, "a", "one", cluster.ReadOptions{Fields: []string{"/data/key", "/no"}})
		if err != nil || string(cut) != `{"data":{"key":"<v>"}}` {
			t.Errorf("%s, %v", cut, err)
		}
		all, err := cluster.ListAll[json.RawMessage](configMaps, cluster.ListOptions{LabelSelector: "team in (x, z)", Limit: 1})
		if err != nil || len(all) != 2 {
			t.Errorf("%s, %v", all, err)
		}
		if _, err := cluster.Get[int](configMaps, "a", "one"); !errors.Is(err, cluster.Undecodable) {
			t.Errorf("%v", err)
		}
		_, err = cluster.Get[data](configMaps, "a", "none")
		if !errors.Is(err, cluster.NotFound) || errors.Is(err, cluster.Conflict) {
			t.Errorf("%v", err)
		}
		return err
	})
	if failure == nil || failure.Reason() != "ApiError" {
		t.Errorf("%v", failure)
	}
}

func TestWrites(t *testing.T) {
	host := wharftest.New(t)
	failure := in(t, host, func() error {
		if _, err := cluster.Create(json.RawMessage(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"a","name":"raw"}}`)); err != nil {
			return err
		}
		if _, err := cluster.Create(object("raw", "")); !errors.Is(err, cluster.AlreadyExists) {
			t.Errorf("%v", err)
		}
		if _, err := cluster.Apply(object("made", "x")); err != nil {
			return err
		}
		other := object("made", "y")
		delete(other, "data")
		answer, err := cluster.ApplyWith(other, cluster.WriteOptions{Fields: []string{"/data", "/metadata/labels"}})
		if err != nil || answer.Object != `{"metadata":{"labels":{"team":"y"}}}` || answer.ResourceVersion == "" {
			t.Errorf("%+v, %v", answer, err)
		}
		stale := cluster.WriteOptions{IfResourceVersion: "0"}
		if _, err := cluster.MergePatchWith(ref("made"), map[string]any{}, stale); !errors.Is(err, cluster.Conflict) {
			t.Errorf("%v", err)
		}
		if _, err := cluster.MergePatch(ref("made"), map[string]any{"metadata": map[string]any{"labels": nil}}); err != nil {
			return err
		}
		if err := cluster.Delete(cluster.ObjectRef{Kind: configMaps, Namespace: "a", Name: "raw", UID: "other"}); !errors.Is(err, cluster.Conflict) {
			t.Errorf("%v", err)
		}
		cluster.RecordEvent(ref("made"), cluster.Normal, "Made", "it is there")
		return cluster.Delete(ref("raw"))
	})
	if failure != nil {
		t.Fatal(failure)
	}
	made := host.Get(configMaps, "a", "made")
	if _, labelled := made["metadata"].(wharftest.Object)["labels"]; labelled || host.Get(configMaps, "a", "raw") != nil {
		t.Errorf("%v", made)
	}
	if writes := host.Writes(); len(writes) != 5 || writes[4].Operation != wharftest.Delete {
		t.Errorf("%+v", writes)
	}
	if events := host.Events(); len(events) != 1 || events[0].Reason != "Made" {
		t.Errorf("%+v", events)
	}
}

func TestPlannedFailuresAreUsedUpInOrder(t *testing.T) {
	host := wharftest.New(t).
		Fail(wharftest.Get, cluster.Error{Code: cluster.Throttled, RetryAfter: time.Second}).
		Fail(wharftest.Get, cluster.Error{Code: cluster.TooLarge})
	failure := in(t, host, func() error {
		for _, want := range []cluster.Code{cluster.Throttled, cluster.TooLarge, cluster.NotFound} {
			if _, err := cluster.Get[any](configMaps, "a", "none"); !errors.Is(err, want) {
				t.Errorf("%v instead of %v", err, want)
			}
		}
		return nil
	})
	if failure != nil {
		t.Error(failure)
	}
}
