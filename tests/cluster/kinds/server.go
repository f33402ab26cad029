package main

// What a running API server tells: its version, its resources, its OpenAPI definitions.

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	discovery "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/deprecation"
	"k8s.io/client-go/kubernetes/scheme"
)

const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

var stable = regexp.MustCompile(`^v[0-9]+$`)

type api struct {
	client *http.Client
	server string
	token  string
}

func connect(server, token, authority string) (*api, error) {
	pem, err := os.ReadFile(authority)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	return &api{client: &http.Client{Transport: transport, Timeout: time.Minute}, server: server, token: token}, nil
}

func (a *api) get(path, accept string, into any) error {
	request, err := http.NewRequest(http.MethodGet, a.server+path, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", accept)
	request.Header.Set("Authorization", "Bearer "+a.token)
	response, err := a.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s: %s", path, response.Status, body)
	}
	return json.Unmarshal(body, into)
}

func (a *api) version() (string, error) {
	var info struct{ GitVersion string }
	err := a.get("/version", "application/json", &info)
	return info.GitVersion, err
}

// groups waits until the server has put its groups together: it goes on with that after it is ready.
func (a *api) groups() ([]discovery.APIGroupDiscovery, error) {
	var before []discovery.APIGroupDiscovery
	for range 60 {
		var now []discovery.APIGroupDiscovery
		settled := true
		for _, path := range []string{"/api", "/apis"} {
			var list discovery.APIGroupDiscoveryList
			if err := a.get(path, aggregated, &list); err != nil {
				return nil, err
			}
			now = append(now, list.Items...)
		}
		for _, group := range now {
			for _, version := range group.Versions {
				settled = settled && version.Freshness == discovery.DiscoveryFreshnessCurrent
			}
		}
		if settled && reflect.DeepEqual(before, now) {
			return now, nil
		}
		before = now
		time.Sleep(2 * time.Second)
	}
	return nil, fmt.Errorf("the groups of the API server do not come to rest")
}

func writeGroups(out io.Writer, groups []discovery.APIGroupDiscovery) {
	for _, group := range groups {
		fmt.Fprintln(out, strings.TrimSpace("group "+group.Name))
		for _, version := range group.Versions {
			if !stable.MatchString(version.Version) {
				continue
			}
			fmt.Fprintln(out, "version", version.Version)
			slices.SortFunc(version.Resources, func(a, b discovery.APIResourceDiscovery) int { return strings.Compare(a.Resource, b.Resource) })
			for _, one := range version.Resources {
				writeResource(out, one)
				if warning := deprecated(group.Name, version.Version, one); warning != "" {
					fmt.Fprintln(out, "deprecated", warning)
				}
			}
		}
	}
}

func writeResource(out io.Writer, one discovery.APIResourceDiscovery) {
	scope := "cluster"
	if one.Scope == discovery.ScopeNamespace {
		scope = "namespaced"
	}
	kind := "-"
	if one.ResponseKind != nil {
		kind = one.ResponseKind.Kind
	}
	fmt.Fprintln(out, "resource", one.Resource, kind, one.SingularResource, scope, words(one.Verbs), words(one.ShortNames), words(one.Categories))
	slices.SortFunc(one.Subresources, func(a, b discovery.APISubresourceDiscovery) int { return strings.Compare(a.Subresource, b.Subresource) })
	for _, sub := range one.Subresources {
		version, kind := "-", "-"
		if sub.ResponseKind != nil {
			version, kind = join(sub.ResponseKind.Group, sub.ResponseKind.Version), sub.ResponseKind.Kind
		}
		fmt.Fprintln(out, "subresource", sub.Subresource, version, kind, words(sub.Verbs))
	}
}

// deprecated is what every answer about the resource warns of, or nothing.
func deprecated(group, version string, one discovery.APIResourceDiscovery) string {
	if one.ResponseKind == nil {
		return ""
	}
	kind := schema.GroupVersionKind{Group: group, Version: version, Kind: one.ResponseKind.Kind}
	object, err := scheme.Scheme.New(kind)
	if err != nil {
		return "" // One of an API server that is no part of client-go's.
	}
	object.GetObjectKind().SetGroupVersionKind(kind)
	return deprecation.WarningMessage(object)
}

func join(group, version string) string {
	switch {
	case version == "":
		return "-"
	case group == "":
		return version
	default:
		return group + "/" + version
	}
}

func words(list []string) string {
	if len(list) == 0 {
		return "-"
	}
	return strings.Join(list, ",")
}

// definition is what server-side apply needs of an OpenAPI schema.
type definition struct {
	Default    json.RawMessage       `json:"default"`
	ListType   string                `json:"x-kubernetes-list-type"`
	Keys       []string              `json:"x-kubernetes-list-map-keys"`
	MapType    string                `json:"x-kubernetes-map-type"`
	Properties map[string]definition `json:"properties"`
}

// definitions come from the third version of OpenAPI: the second leaves defaults out.
func (a *api) definitions() (map[string]definition, error) {
	var index struct {
		Paths map[string]struct{ ServerRelativeURL string }
	}
	if err := a.get("/openapi/v3", "application/json", &index); err != nil {
		return nil, err
	}
	all := map[string]definition{}
	for _, name := range slices.Sorted(maps.Keys(index.Paths)) {
		if !stable.MatchString(path.Base(name)) {
			continue
		}
		var document struct {
			Components struct{ Schemas map[string]definition }
		}
		if err := a.get(index.Paths[name].ServerRelativeURL, "application/json", &document); err != nil {
			return nil, err
		}
		maps.Copy(all, document.Components.Schemas)
	}
	return all, nil
}
