// Commands that read and write the cluster.

package main

import (
	"encoding/json"
	"errors"

	"github.com/wharf-dev/wharf/sdk/go/cluster"
)

func clusterGet(c call) (json.RawMessage, error) {
	options := cluster.ReadOptions{Fields: c.args.Keep, Live: c.args.Live}
	return cluster.GetWith[json.RawMessage](c.gvk(), c.args.Namespace, c.args.Name, options)
}

func clusterList(c call) (map[string]any, error) {
	type named struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	options := cluster.ListOptions{Namespace: c.args.Namespace, LabelSelector: c.args.LabelSelector, Limit: c.args.Limit}
	pages, names := 0, []string{}
	for {
		page, err := cluster.List[named](c.gvk(), options)
		if err != nil {
			return nil, err
		}
		pages++
		for _, item := range page.Items {
			names = append(names, item.Metadata.Name)
		}
		if page.ContinueToken == "" {
			return map[string]any{"pages": pages, "names": names}, nil
		}
		options.ContinueToken = page.ContinueToken
	}
}

func (c call) gvk() cluster.GVK { return cluster.Kind(c.args.Kind.APIVersion, c.args.Kind.Kind) }

func (c call) target() cluster.ObjectRef {
	return cluster.ObjectRef{Kind: c.gvk(), Namespace: c.args.Namespace, Name: c.args.Name}
}

func (c call) writeOptions() cluster.WriteOptions {
	return cluster.WriteOptions{
		DryRun: c.args.DryRun, Force: c.args.Force, Fields: c.args.Keep,
		Subresource: c.args.Subresource, IfResourceVersion: c.args.IfResourceVersion,
	}
}

func (c call) deleteOptions() cluster.DeleteOptions {
	propagation := map[string]cluster.Propagation{"foreground": cluster.Foreground, "orphan": cluster.Orphan}
	return cluster.DeleteOptions{IfUID: c.args.IfUID, Propagation: propagation[c.args.Propagation]}
}

// written reports the answer to a write.
func written(answer cluster.Written, err error) (any, error) {
	var object any
	if answer.Object != "" {
		object = json.RawMessage(answer.Object)
	}
	return caught(map[string]any{"resourceVersion": answer.ResourceVersion, "object": object}, err)
}

// caught reports an error of the cluster as a value.
func caught(value any, err error) (any, error) {
	api, ok := errors.AsType[*cluster.Error](err)
	if !ok {
		return value, err
	}
	report := map[string]any{"error": api.Code}
	if api.Text != "" {
		report["text"] = api.Text
	}
	if api.Code == cluster.Throttled {
		report["retryAfterMs"] = api.RetryAfter.Milliseconds()
	}
	return report, nil
}
