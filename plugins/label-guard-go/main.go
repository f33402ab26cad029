// label-guard reports ConfigMaps without a required label: a warning in the log, and a
// Kubernetes Event that kubectl describe shows. It changes nothing.
package main

import (
	"errors"
	"fmt"
	"log/slog"

	wharf "github.com/wharf-dev/wharf/sdk/go"
	"github.com/wharf-dev/wharf/sdk/go/cluster"
)

// rootCA is in every namespace, made by the cluster itself.
const rootCA = "kube-root-ca.crt"

// LabelGuard is the configuration.
type LabelGuard struct {
	RequiredLabel string `json:"requiredLabel"`
}

// Describe asks for new and changed ConfigMaps.
func (g *LabelGuard) Describe() wharf.Description {
	return wharf.Description{
		Name: "label-guard", Version: "0.1.0", Memory: "32Mi",
		Subscribe: []wharf.Subscription{{
			Name: "main", APIVersion: "v1", Kind: "ConfigMap",
			Events: []wharf.Change{wharf.ChangeAdd, wharf.ChangeUpdate},
		}},
	}
}

// Validate refuses an empty label.
func (g *LabelGuard) Validate() error {
	if g.RequiredLabel == "" {
		return errors.New("requiredLabel: must not be empty")
	}
	return nil
}

// Add reports a ConfigMap that lacks the label.
func (g *LabelGuard) Add(event *wharf.Event) (wharf.Outcome, error) {
	if event.Name() == rootCA || event.Delivery().Deleting {
		return wharf.Done(), nil
	}
	if _, found, err := event.Label(g.RequiredLabel); err != nil || found {
		return wharf.Done(), err
	}
	slog.Warn("label missing", "label", g.RequiredLabel)
	message := fmt.Sprintf("the label %q is required", g.RequiredLabel)
	cluster.RecordEvent(event.Key(), cluster.Warning, "MissingLabel", message)
	return wharf.Done(), nil
}

func init() { wharf.Register(func() *LabelGuard { return &LabelGuard{RequiredLabel: "owner"} }) }

func main() {}
