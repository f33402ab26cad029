// job-cleaner deletes Jobs some time after they have ended, with their Pods. Jobs that clean up
// after themselves (spec.ttlSecondsAfterFinished) and those that a CronJob owns are left alone.
package main

import (
	"errors"
	"log/slog"
	"time"

	wharf "github.com/wharf-dev/wharf/sdk/go"
	"github.com/wharf-dev/wharf/sdk/go/cluster"
)

// keepAnnotation on a Job keeps it, whatever its value.
const keepAnnotation = "job-cleaner.wharf.dev/keep"

// JobCleaner is the configuration.
type JobCleaner struct {
	// TTL is how long a Job stays after it has ended.
	TTL Duration `json:"ttl"`
	// FailedTTL is the same for Jobs that failed; absent: TTL.
	FailedTTL *Duration `json:"failedTTL"`
}

// Describe asks for Jobs, new and changed ones.
func (c *JobCleaner) Describe() wharf.Description {
	return wharf.Description{
		Name: "job-cleaner", Version: "0.1.0", Memory: "32Mi",
		Subscribe: []wharf.Subscription{{
			Name: "main", APIVersion: "batch/v1", Kind: "Job",
			Events: []wharf.Change{wharf.ChangeAdd, wharf.ChangeUpdate},
		}},
	}
}

// Validate refuses times before the end of a Job.
func (c *JobCleaner) Validate() error {
	var wrong []error
	if c.TTL < 0 {
		wrong = append(wrong, errors.New("ttl: must not be negative"))
	}
	if c.FailedTTL != nil && *c.FailedTTL < 0 {
		wrong = append(wrong, errors.New("failedTTL: must not be negative"))
	}
	return errors.Join(wrong...)
}

// Add deletes a Job whose time is over, or comes back when it is.
func (c *JobCleaner) Add(event *wharf.Event) (wharf.Outcome, error) {
	job, found, err := wharf.Object[Job](event)
	if err != nil || !found || event.Delivery().Deleting || job.isKept() {
		return wharf.Done(), err
	}
	end, ended := job.end()
	if !ended {
		return wharf.Done(), nil // its end is a change
	}
	if left := end.at.Add(c.ttl(end)).Sub(wharf.Now()); left > 0 {
		return wharf.RequeueAfter(left), nil
	}
	err = cluster.Delete(event.Key()) // this very Job, and its Pods in the background
	if errors.Is(err, cluster.NotFound) || errors.Is(err, cluster.Conflict) {
		return wharf.Done(), nil // somebody else was faster
	}
	if err != nil {
		return wharf.Done(), err
	}
	slog.Info("job deleted", "job", event.Key(), "failed", end.failed, "ended", end.at.Format(time.RFC3339))
	return wharf.Done(), nil
}

func (c *JobCleaner) ttl(end end) time.Duration {
	if end.failed && c.FailedTTL != nil {
		return time.Duration(*c.FailedTTL)
	}
	return time.Duration(c.TTL)
}

func init() { wharf.Register(func() *JobCleaner { return &JobCleaner{TTL: Duration(time.Hour)} }) }

func main() {}
