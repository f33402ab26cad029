package main

import (
	"log/slog"
	"reflect"
	"testing"

	"github.com/wharf-dev/wharf/sdk/go/cluster"
	"github.com/wharf-dev/wharf/sdk/go/wharftest"
)

func configMap(name string, labels map[string]any) wharftest.Object {
	return wharftest.Object{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": wharftest.Object{"namespace": "team-a", "name": name, "uid": "u1", "labels": labels},
	}
}

func TestMissingLabelIsReportedInLogAndEvent(t *testing.T) {
	host := wharftest.New(t)
	if _, failure := host.Add(configMap("settings", map[string]any{"app": "x"})); failure != nil {
		t.Fatal(failure)
	}
	line := wharftest.LogLine{Level: slog.LevelWarn, Message: "label missing", Fields: map[string]string{"label": "owner"}}
	if logs := host.Logs(); len(logs) != 1 || !reflect.DeepEqual(logs[0], line) {
		t.Errorf("logs: %+v", logs)
	}
	events := host.Events()
	if len(events) != 1 {
		t.Fatalf("events: %+v", events)
	}
	event := events[0]
	if event.Type != cluster.Warning || event.Reason != "MissingLabel" || event.Message != `the label "owner" is required` {
		t.Errorf("event: %+v", event)
	}
	if event.About.String() != "team-a/settings" || event.About.UID != "u1" {
		t.Errorf("event about %+v", event.About)
	}
}

func TestLabelledAndTheClustersOwnAreLeftAlone(t *testing.T) {
	host := wharftest.New(t)
	leaving := configMap("leaving", nil)
	leaving["metadata"].(wharftest.Object)["deletionTimestamp"] = "2026-01-01T00:00:00Z"
	for _, object := range []wharftest.Object{configMap("settings", map[string]any{"owner": "me"}), configMap(rootCA, nil), leaving} {
		if _, failure := host.Update(object, object); failure != nil {
			t.Error(failure)
		}
	}
	if len(host.Logs())+len(host.Events()) != 0 {
		t.Errorf("logs: %+v, events: %+v", host.Logs(), host.Events())
	}
}

func TestLabelIsConfigurableAndMayHaveAPrefix(t *testing.T) {
	host := wharftest.New(t).Config(map[string]any{"requiredLabel": "example.com/team"})
	without := configMap("settings", map[string]any{"owner": "me"})
	host.Add(without)
	host.Update(without, configMap("settings", map[string]any{"example.com/team": "a"}))
	if events := host.Events(); len(events) != 1 {
		t.Errorf("events: %+v", events)
	}
}

func TestWrongConfigurationIsRefused(t *testing.T) {
	for _, config := range []map[string]any{{"requiredLabel": ""}, {"requiredLabels": "owner"}, {"requiredLabel": 1}} {
		if wrong := wharftest.New(t).Config(config).Validate(); len(wrong) != 1 {
			t.Errorf("%v: %q", config, wrong)
		}
	}
	if wrong := wharftest.New(t).Validate(); wrong != nil {
		t.Errorf("without a configuration: %q", wrong)
	}
}
