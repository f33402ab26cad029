// What matters of a Job, and when it ended.

package main

import (
	"encoding/json"
	"time"
)

// Job is what matters of a Job.
type Job struct {
	Metadata struct {
		Annotations     map[string]string `json:"annotations"`
		OwnerReferences []struct {
			Kind string `json:"kind"`
		} `json:"ownerReferences"`
	} `json:"metadata"`
	Spec struct {
		TTLSecondsAfterFinished *int64 `json:"ttlSecondsAfterFinished"`
	} `json:"spec"`
	Status struct {
		Conditions []struct {
			Type               string    `json:"type"`
			Status             string    `json:"status"`
			LastTransitionTime time.Time `json:"lastTransitionTime"`
		} `json:"conditions"`
	} `json:"status"`
}

// isKept says whether somebody else takes care of the Job.
func (j *Job) isKept() bool {
	if _, kept := j.Metadata.Annotations[keepAnnotation]; kept || j.Spec.TTLSecondsAfterFinished != nil {
		return true
	}
	for _, owner := range j.Metadata.OwnerReferences {
		if owner.Kind == "CronJob" {
			return true
		}
	}
	return false
}

// end is when and how a Job ended.
type end struct {
	at     time.Time
	failed bool
}

func (j *Job) end() (end, bool) {
	for _, condition := range j.Status.Conditions {
		if condition.Status == "True" && (condition.Type == "Complete" || condition.Type == "Failed") {
			return end{condition.LastTransitionTime, condition.Type == "Failed"}, true
		}
	}
	return end{}, false
}

// Duration is a time.Duration that configurations write as "1h30m".
type Duration time.Duration

// UnmarshalJSON reads the text.
func (d *Duration) UnmarshalJSON(text []byte) error {
	var words string
	if err := json.Unmarshal(text, &words); err != nil {
		return err
	}
	duration, err := time.ParseDuration(words)
	*d = Duration(duration)
	return err
}
