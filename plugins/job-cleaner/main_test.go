package main

import (
	"testing"
	"time"

	wharf "github.com/wharf-dev/wharf/sdk/go"
	"github.com/wharf-dev/wharf/sdk/go/cluster"
	"github.com/wharf-dev/wharf/sdk/go/wharftest"
)

var (
	jobs  = cluster.Kind("batch/v1", "Job")
	ended = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
)

func job(condition string) wharftest.Object {
	return wharftest.Object{
		"apiVersion": "batch/v1", "kind": "Job",
		"metadata": wharftest.Object{"namespace": "team-a", "name": "report", "uid": "u1"},
		"status": wharftest.Object{"conditions": []any{
			wharftest.Object{"type": "Suspended", "status": "False", "lastTransitionTime": "2026-05-01T11:00:00Z"},
			wharftest.Object{"type": condition, "status": "True", "lastTransitionTime": "2026-05-01T12:00:00Z"},
		}},
	}
}

func host(t *testing.T, now time.Time) *wharftest.Host {
	config := map[string]any{"ttl": "30m", "failedTTL": "24h"}
	return wharftest.New(t).Config(config).Now(now)
}

func TestJobGoesWhenItsTimeIsOver(t *testing.T) {
	host := host(t, ended.Add(31*time.Minute))
	if _, failure := host.Add(job("Complete")); failure != nil {
		t.Fatal(failure)
	}
	if host.Get(jobs, "team-a", "report") != nil {
		t.Error("the Job is still there")
	}
	if logs := host.Logs(); len(logs) != 1 || logs[0].Fields["job"] != "team-a/report" || logs[0].Fields["failed"] != "false" {
		t.Errorf("logs: %+v", logs)
	}
}

func TestJobIsLookedAtAgainWhenItsTimeIsOver(t *testing.T) {
	for condition, want := range map[string]time.Duration{"Complete": 20 * time.Minute, "Failed": 24*time.Hour - 10*time.Minute} {
		host := host(t, ended.Add(10*time.Minute))
		outcome, failure := host.Add(job(condition))
		after, again := outcome.Requeue()
		// The mock's clock goes on by a millisecond with every look at it.
		if failure != nil || !again || want-after != time.Millisecond {
			t.Errorf("%s: %v, %v", condition, outcome, failure)
		}
		if host.Get(jobs, "team-a", "report") == nil {
			t.Errorf("%s: the Job is gone", condition)
		}
	}
}

func TestWithoutATimeOfTheirOwnFailedJobsHaveTheCommonOne(t *testing.T) {
	host := wharftest.New(t).Now(ended.Add(61 * time.Minute))
	if _, failure := host.Add(job("Failed")); failure != nil || host.Get(jobs, "team-a", "report") != nil {
		t.Errorf("%v", failure)
	}
}

func TestJobsOfOthersAndThoseThatRunStay(t *testing.T) {
	kept, own, cron, leaving, running := job("Complete"), job("Complete"), job("Complete"), job("Complete"), job("Suspended")
	kept["metadata"].(wharftest.Object)["annotations"] = wharftest.Object{keepAnnotation: ""}
	own["spec"] = wharftest.Object{"ttlSecondsAfterFinished": 10}
	cron["metadata"].(wharftest.Object)["ownerReferences"] = []any{wharftest.Object{"kind": "CronJob"}}
	leaving["metadata"].(wharftest.Object)["deletionTimestamp"] = "2026-05-01T12:00:01Z"
	for name, object := range map[string]wharftest.Object{"kept": kept, "own": own, "cron": cron, "leaving": leaving, "running": running} {
		host := host(t, ended.Add(1000*time.Hour))
		outcome, failure := host.Add(object)
		if failure != nil || outcome != wharf.Done() || len(host.Writes()) != 0 {
			t.Errorf("%s: %v, %v, %+v", name, outcome, failure, host.Writes())
		}
	}
}

func TestErrorsOfTheClusterAreTriedAgainUnlessTheJobIsGone(t *testing.T) {
	for code, reason := range map[cluster.Code]string{
		cluster.NotFound: "", cluster.Conflict: "", cluster.Forbidden: "Forbidden", cluster.Unavailable: "ServerUnavailable",
	} {
		host := host(t, ended.Add(time.Hour)).Fail(wharftest.Delete, cluster.Error{Code: code})
		_, failure := host.Add(job("Complete"))
		if got := ""; failure != nil {
			got = failure.Reason()
			if got != reason || failure.IsPermanent() {
				t.Errorf("%s: %v", code, failure)
			}
		} else if reason != "" {
			t.Errorf("%s: no failure", code)
		}
	}
}

func TestWrongConfigurationIsRefused(t *testing.T) {
	for _, config := range []map[string]any{{"ttl": "-1s"}, {"ttl": 5}, {"ttl": "soon"}, {"failedTTL": "-1s"}, {"tll": "1h"}} {
		if wrong := wharftest.New(t).Config(config).Validate(); len(wrong) != 1 {
			t.Errorf("%v: %q", config, wrong)
		}
	}
	if wrong := host(t, ended).Validate(); wrong != nil {
		t.Errorf("%q", wrong)
	}
}
