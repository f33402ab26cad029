package wharf_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	wharf "github.com/wharf-dev/wharf/sdk/go"
	"github.com/wharf-dev/wharf/sdk/go/cluster"
	"github.com/wharf-dev/wharf/sdk/go/wharftest"
)

// script is a plugin that does what a test says.
type script struct {
	Size  int      `json:"size"`
	Names []string `json:"names"`
	add   func(*script, *wharf.Event) (wharf.Outcome, error)
}

func (s *script) Describe() wharf.Description {
	return wharf.Description{
		Name: "script", Version: "1", Memory: "32Mi", Deadline: 2 * time.Second, Concurrency: 2,
		Subscribe: []wharf.Subscription{
			{Name: "main", APIVersion: "apps/v1", Kind: "Deployment", LabelSelector: "team", Events: []wharf.Change{wharf.ChangeAdd}},
			{Name: "maps", APIVersion: "v1", Kind: "ConfigMap", CachedOnly: true},
		},
		Reasons: []string{"NotACopy", "NotACopy", "Conflict"},
	}
}

func (s *script) Validate() error {
	if s.Size == 99 {
		panic("ninety-nine")
	}
	var wrong []error
	if s.Size < 0 {
		wrong = append(wrong, errors.New("size: must not be negative"))
	}
	if len(s.Names) == 0 {
		wrong = append(wrong, errors.New("names: must not be empty"))
	}
	return errors.Join(wrong...)
}

func (s *script) Add(event *wharf.Event) (wharf.Outcome, error) { return s.add(s, event) }

// register makes add the plugin of this package.
func register(add func(*script, *wharf.Event) (wharf.Outcome, error)) {
	wharf.Register(func() *script { return &script{Size: 1, Names: []string{"a"}, add: add} })
}

func deployment() wharftest.Object {
	return wharftest.JSON(`{"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": {"namespace": "team-a", "name": "shop", "uid": "u1", "labels": {"example.com/a~b": "x"}},
		"spec": {"replicas": 3, "paused": null, "big": 9007199254740993, "text": "<&>"}}`)
}

// run is what Add says of a Deployment.
func run(t *testing.T, add func(*script, *wharf.Event) (wharf.Outcome, error)) (wharf.Outcome, *wharf.Failure) {
	t.Helper()
	register(add)
	return wharftest.New(t).Add(deployment())
}

func TestDescriptionIsInTheWordsOfTheDocument(t *testing.T) {
	register(nil)
	want := wharftest.JSON(`{"name": "script", "version": "1",
		"reasons": ["NotACopy", "Conflict", "ConfigInvalid", "ObjectInvalid", "GrantMissing", "Forbidden", "ServerUnavailable", "ApiError", "HandlerError"],
		"subscribe": [
			{"name": "main", "apiVersion": "apps/v1", "kind": "Deployment", "labelSelector": "team", "events": ["add"]},
			{"name": "maps", "apiVersion": "v1", "kind": "ConfigMap", "events": []}],
		"limits": {"memory": "32Mi", "deadline": "2000ms", "concurrency": 2}}`)
	if got := wharftest.New(t).Describe(); !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
}

func TestConfigurationIsReadStrictlyAndCheckedAsAWhole(t *testing.T) {
	register(nil)
	for config, want := range map[string][]string{
		`{}`:                        nil,
		`{"size": -1, "names": []}`: {"size: must not be negative", "names: must not be empty"},
		`{"size": 99}`:              {"ninety-nine"},
		`{"sizes": 1}`:              {`config/sizes: unknown field`},
		`{"SIZE": 1}`:               {`config/SIZE: unknown field`},
		`{"size": null}`:            {`config/size: null is no int`},
		`{"size": "x"}`:             {"config: json: cannot unmarshal string into Go struct field script.size of type int"},
	} {
		if got := wharftest.New(t).Config(wharftest.JSON(config)).Validate(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q", config, got)
		}
	}
}

func TestConfigurationThatDoesNotFitIsPermanentInACall(t *testing.T) {
	register(nil)
	_, failure := wharftest.New(t).Config(map[string]any{"size": "x"}).Add(deployment())
	if failure == nil || !failure.IsPermanent() || failure.Reason() != "ConfigInvalid" {
		t.Errorf("%v", failure)
	}
}

func TestValuesAreReadByPointer(t *testing.T) {
	_, failure := run(t, func(_ *script, event *wharf.Event) (wharf.Outcome, error) {
		if replicas, found, err := wharf.Get[int](event, "/spec/replicas"); replicas != 3 || !found || err != nil {
			t.Errorf("replicas: %v, %v, %v", replicas, found, err)
		}
		for _, pointer := range []string{"/spec/nothing", "/spec/paused"} {
			if _, found, err := wharf.Get[bool](event, pointer); found || err != nil {
				t.Errorf("%s: %v, %v", pointer, found, err)
			}
		}
		if big, _, err := wharf.Get[int64](event, "/spec/big"); big != 9007199254740993 || err != nil {
			t.Errorf("big: %v, %v", big, err)
		}
		if raw, found, err := wharf.Get[json.RawMessage](event, "/spec/paused"); string(raw) != "null" || !found || err != nil {
			t.Errorf("paused: %s, %v, %v", raw, found, err)
		}
		if label, found, err := event.Label("example.com/a~b"); label != "x" || !found || err != nil {
			t.Errorf("label: %v, %v, %v", label, found, err)
		}
		if many, err := wharf.GetMany[int](event, "/spec/replicas", "/spec/nothing"); err != nil || *many[0] != 3 || many[1] != nil {
			t.Errorf("many: %v, %v", many, err)
		}
		if _, found := event.Previous().JSON(); found || !event.Changed("/spec/replicas") {
			t.Error("there is a previous state")
		}
		_, _, err := wharf.Get[int](event, "/metadata/name")
		return wharf.Done(), fmt.Errorf("reading: %w", err)
	})
	if failure == nil || !failure.IsPermanent() || failure.Reason() != "ObjectInvalid" || !strings.Contains(failure.Message(), "/metadata/name cannot be read") {
		t.Errorf("%v", failure)
	}
}

func TestErrorsBecomeFailures(t *testing.T) {
	for _, c := range []struct {
		err    error
		reason string
		after  time.Duration
		text   string
	}{
		{&cluster.Error{Code: cluster.NotGranted, Text: "x"}, "GrantMissing", 0, "not granted: x"},
		{&cluster.Error{Code: cluster.Forbidden, Text: "x"}, "Forbidden", 0, "forbidden: x"},
		{&cluster.Error{Code: cluster.NotFound}, "ApiError", 0, "not found"},
		{&cluster.Error{Code: cluster.Conflict, Text: "x"}, "Conflict", 0, "conflict: x"},
		{&cluster.Error{Code: cluster.Throttled, RetryAfter: 300 * time.Millisecond}, "ServerUnavailable", 300 * time.Millisecond, "throttled: try again after 300 ms"},
		{fmt.Errorf("doing: %w", &cluster.Error{Code: cluster.Unavailable, Text: "x"}), "ServerUnavailable", 0, "doing: unavailable: x"},
		{wharf.Retry("Busy", "x").After(time.Second), "Busy", time.Second, "x"},
		{fmt.Errorf("doing: %w", wharf.Retry("Busy", "x")), "Busy", 0, "doing: Busy: x"},
		{errors.New("plain"), "HandlerError", 0, "plain"},
	} {
		_, failure := run(t, func(*script, *wharf.Event) (wharf.Outcome, error) { return wharf.Done(), c.err })
		if failure == nil {
			t.Errorf("%v: no failure", c.err)
			continue
		}
		after, has := failure.RetryAfter()
		if failure.IsPermanent() || failure.Reason() != c.reason || after != c.after || has != (c.after != 0) || failure.Message() != c.text {
			t.Errorf("%v: %v, %v", c.err, failure, after)
		}
	}
}

func TestPanicsBecomeFailuresWithAStack(t *testing.T) {
	for _, value := range []any{errors.New("went wrong"), "went wrong"} {
		_, failure := run(t, func(*script, *wharf.Event) (wharf.Outcome, error) { return crash(value) })
		if failure == nil || failure.IsPermanent() || failure.Reason() != "HandlerError" {
			t.Fatalf("%v", failure)
		}
		first, stack, _ := strings.Cut(failure.Message(), "\n")
		if first != "went wrong" || !strings.HasPrefix(stack, "github.com/wharf-dev/wharf/sdk/go_test.crash(") || strings.Contains(stack, "plugin.go") {
			t.Errorf("%s", failure.Message())
		}
	}
}

//go:noinline
func crash(value any) (wharf.Outcome, error) { panic(value) }

func TestOutcomesAndTheDefaultsOfUpdateAndDelete(t *testing.T) {
	register(func(*script, *wharf.Event) (wharf.Outcome, error) { return wharf.RequeueAfter(90 * time.Second), nil })
	host := wharftest.New(t)
	if outcome, failure := host.Update(deployment(), deployment()); outcome != wharf.RequeueAfter(90*time.Second) || failure != nil {
		t.Errorf("update: %v, %v", outcome, failure)
	}
	if outcome, failure := host.Delete(deployment()); outcome != wharf.Done() || failure != nil {
		t.Errorf("delete: %v, %v", outcome, failure)
	}
}

func TestSlogBecomesFields(t *testing.T) {
	register(func(*script, *wharf.Event) (wharf.Outcome, error) {
		slog.With("a", 1).WithGroup("g").Warn("careful", "b", true, slog.Group("h", "c", "x"), slog.Group("", "d", time.Second))
		slog.Debug("dropped")
		return wharf.Done(), nil
	})
	host := wharftest.New(t).LogLevel(slog.LevelInfo)
	host.Add(deployment())
	want := []wharftest.LogLine{{
		Level: slog.LevelWarn, Message: "careful", Fields: map[string]string{"a": "1", "g.b": "true", "g.h.c": "x", "g.d": "1s"},
	}}
	if !reflect.DeepEqual(host.Logs(), want) {
		t.Errorf("%+v", host.Logs())
	}
}

func TestDeliveryIsHandedOnWhole(t *testing.T) {
	want := wharf.Delivery{
		Key:             wharf.ObjectRef{Kind: cluster.Kind("v1", "Namespace"), Name: "shop", UID: "u2"},
		ResourceVersion: "7", Subscription: "other", Removal: wharf.RemovalReplaced, FinalStateUnknown: true,
		Cause: wharf.CauseChangedOffline, Attempt: 3, Queued: 5 * time.Millisecond, Budget: time.Second, Traceparent: "00-1",
	}
	var got wharf.Delivery
	wharf.Register(func() *deleter { return &deleter{&got} })
	if _, failure := wharftest.New(t).Call(wharftest.Call{Change: wharf.ChangeDelete, Delivery: want}); failure != nil {
		t.Fatal(failure)
	}
	if got != want {
		t.Errorf("%+v", got)
	}
}

// deleter keeps what it is told.
type deleter struct{ got *wharf.Delivery }

func (d *deleter) Describe() wharf.Description { return wharf.Description{} }

func (d *deleter) Add(*wharf.Event) (wharf.Outcome, error) { return wharf.Done(), nil }

func (d *deleter) Delete(event *wharf.Event) (wharf.Outcome, error) {
	*d.got = *event.Delivery()
	return wharf.Done(), nil
}

func TestTimeAndConfigurationByThemselves(t *testing.T) {
	_, failure := run(t, func(*script, *wharf.Event) (wharf.Outcome, error) {
		if now := wharf.Now(); now.Unix() != 1_700_000_000 {
			t.Errorf("now: %v", now)
		}
		if bytes := wharf.Random(4); len(bytes) != 4 {
			t.Errorf("random: %v", bytes)
		}
		if _, found, err := wharf.ConfigValue[int]("/size"); found || err != nil {
			t.Errorf("config value: %v, %v", found, err)
		}
		_, err := wharf.Config[struct{}]()
		return wharf.Done(), err
	})
	if failure != nil {
		t.Error(failure)
	}
}
