package main

// Objects as protobuf, as typed clients send them, and as the JSON of the same Go values: what the table's readers are tested with.

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	apps "k8s.io/api/apps/v1"
	authorization "k8s.io/api/authorization/v1"
	autoscaling "k8s.io/api/autoscaling/v1"
	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	events "k8s.io/api/events/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
)

var moment = time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)

func writeSamples(folder string) error {
	all := runtime.NewScheme()
	if err := scheme.AddToScheme(all); err != nil {
		return err
	}
	if err := apiextensions.AddToScheme(all); err != nil {
		return err
	}
	serializer := protobuf.NewSerializer(all, all)
	for name, object := range samples() {
		var wire bytes.Buffer
		if err := serializer.Encode(object, &wire); err != nil {
			return err
		}
		text, err := json.MarshalIndent(object, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, name+".pb"), wire.Bytes(), 0o644); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, name+".json"), append(text, '\n'), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func samples() map[string]runtime.Object {
	port := func(number int32, name string) core.ContainerPort {
		return core.ContainerPort{Name: name, ContainerPort: number, Protocol: core.ProtocolTCP}
	}
	// Maps with one entry only: protobuf does not sort the others.
	resources := core.ResourceRequirements{
		Limits:   core.ResourceList{core.ResourceMemory: resource.MustParse("1024Mi")},
		Requests: core.ResourceList{core.ResourceCPU: resource.MustParse("0.5")},
	}
	container := core.Container{
		Name: "web", Image: "web:1", Args: []string{"a", ""}, Ports: []core.ContainerPort{port(80, "http"), port(443, "")}, Resources: resources,
		Env: []core.EnvVar{
			{Name: "A", Value: "1"},
			{Name: "B", ValueFrom: &core.EnvVarSource{SecretKeyRef: &core.SecretKeySelector{LocalObjectReference: core.LocalObjectReference{Name: "s"}, Key: "k", Optional: ptr.To(false)}}},
		},
		VolumeMounts:    []core.VolumeMount{{Name: "v", MountPath: "/v", ReadOnly: true}},
		ReadinessProbe:  &core.Probe{ProbeHandler: core.ProbeHandler{HTTPGet: &core.HTTPGetAction{Path: "/", Port: intstr.FromString("http")}}, PeriodSeconds: 3},
		LivenessProbe:   &core.Probe{ProbeHandler: core.ProbeHandler{TCPSocket: &core.TCPSocketAction{Port: intstr.FromInt32(80)}}, TerminationGracePeriodSeconds: ptr.To[int64](0)},
		SecurityContext: &core.SecurityContext{RunAsUser: ptr.To[int64](0), Privileged: ptr.To(false)},
	}
	labels := map[string]string{"app": "web"}
	deployment := &apps.Deployment{
		TypeMeta:   meta.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: meta.ObjectMeta{Name: "web", Namespace: "default", Labels: labels, CreationTimestamp: meta.NewTime(moment), Finalizers: []string{"a.b/c"}},
		Spec: apps.DeploymentSpec{
			Replicas: ptr.To[int32](0),
			Selector: &meta.LabelSelector{MatchLabels: labels, MatchExpressions: []meta.LabelSelectorRequirement{{Key: "x", Operator: meta.LabelSelectorOpExists}}},
			Strategy: apps.DeploymentStrategy{RollingUpdate: &apps.RollingUpdateDeployment{MaxUnavailable: ptr.To(intstr.FromString("25%")), MaxSurge: ptr.To(intstr.FromInt32(0))}},
			Template: core.PodTemplateSpec{
				ObjectMeta: meta.ObjectMeta{Labels: labels},
				Spec: core.PodSpec{
					Containers:         []core.Container{container},
					Volumes:            []core.Volume{{Name: "v", VolumeSource: core.VolumeSource{EmptyDir: &core.EmptyDirVolumeSource{SizeLimit: ptr.To(resource.MustParse("1500m"))}}}},
					EnableServiceLinks: ptr.To(false),
					SecurityContext:    &core.PodSecurityContext{},
				},
			},
		},
	}
	minimum, maximum := 0.0, 10.5
	schema := apiextensions.JSONSchemaProps{
		Type:     "object",
		Required: []string{"spec"},
		Properties: map[string]apiextensions.JSONSchemaProps{"spec": {
			Type:                   "object",
			XPreserveUnknownFields: ptr.To(true),
			Default:                &apiextensions.JSON{Raw: []byte(`{"a":[1,null,"x"]}`)},
			AdditionalProperties: &apiextensions.JSONSchemaPropsOrBool{Allows: true, Schema: &apiextensions.JSONSchemaProps{
				Type:      "array",
				XListType: ptr.To("map"), XListMapKeys: []string{"name"},
				Items: &apiextensions.JSONSchemaPropsOrArray{Schema: &apiextensions.JSONSchemaProps{Type: "number", Minimum: &minimum, Maximum: &maximum, Enum: []apiextensions.JSON{{Raw: []byte("1")}, {Raw: []byte(`"a"`)}}}},
			}},
		}},
	}
	definition := &apiextensions.CustomResourceDefinition{
		TypeMeta:   meta.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: meta.ObjectMeta{Name: "widgets.example.com"},
		Spec: apiextensions.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensions.NamespaceScoped,
			Names: apiextensions.CustomResourceDefinitionNames{Plural: "widgets", Kind: "Widget"},
			Versions: []apiextensions.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true, Schema: &apiextensions.CustomResourceValidation{OpenAPIV3Schema: &schema},
				Subresources:             &apiextensions.CustomResourceSubresources{Status: &apiextensions.CustomResourceSubresourceStatus{}},
				AdditionalPrinterColumns: []apiextensions.CustomResourceColumnDefinition{{Name: "Size", Type: "integer", JSONPath: ".spec.size"}},
			}},
		},
	}
	involved := core.ObjectReference{Kind: "Pod", Namespace: "default", Name: "p"}
	return map[string]runtime.Object{
		"deployment": deployment,
		"definition": definition,
		"secret": &core.Secret{
			TypeMeta: meta.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: meta.ObjectMeta{Name: "s"},
			Data: map[string][]byte{"k": {0, 255, 254}}, Immutable: ptr.To(false),
		},
		"configmap": &core.ConfigMap{TypeMeta: meta.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: meta.ObjectMeta{GenerateName: "c-"}, Data: map[string]string{"k": ""}},
		"service": &core.Service{
			TypeMeta: meta.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: meta.ObjectMeta{Name: "s"},
			Spec: core.ServiceSpec{Selector: labels, Ports: []core.ServicePort{{Port: 80, TargetPort: intstr.FromString("http")}, {Port: 81}}},
		},
		"lease": &coordination.Lease{
			TypeMeta: meta.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}, ObjectMeta: meta.ObjectMeta{Name: "l"},
			Spec: coordination.LeaseSpec{HolderIdentity: ptr.To(""), LeaseDurationSeconds: ptr.To[int32](15), RenewTime: ptr.To(meta.NewMicroTime(moment)), LeaseTransitions: ptr.To[int32](0)},
		},
		"event": &core.Event{
			TypeMeta: meta.TypeMeta{APIVersion: "v1", Kind: "Event"}, ObjectMeta: meta.ObjectMeta{Name: "e"}, InvolvedObject: involved,
			Reason: "R", FirstTimestamp: meta.NewTime(moment), Count: 2, Type: "Normal", Source: core.EventSource{Component: "c"},
		},
		"newevent": &events.Event{
			TypeMeta: meta.TypeMeta{APIVersion: "events.k8s.io/v1", Kind: "Event"}, ObjectMeta: meta.ObjectMeta{Name: "e"}, EventTime: meta.NewMicroTime(moment),
			Series: &events.EventSeries{Count: 3, LastObservedTime: meta.NewMicroTime(moment.Add(time.Hour))}, Regarding: involved, Note: "n", Action: "a",
		},
		"networkpolicy": &networking.NetworkPolicy{
			TypeMeta: meta.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"}, ObjectMeta: meta.ObjectMeta{Name: "n"},
			Spec: networking.NetworkPolicySpec{Ingress: []networking.NetworkPolicyIngressRule{{}}, PolicyTypes: []networking.PolicyType{networking.PolicyTypeIngress}},
		},
		"ingress": &networking.Ingress{
			TypeMeta: meta.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "Ingress"}, ObjectMeta: meta.ObjectMeta{Name: "i"},
			Spec: networking.IngressSpec{Rules: []networking.IngressRule{{Host: "h", IngressRuleValue: networking.IngressRuleValue{HTTP: &networking.HTTPIngressRuleValue{
				Paths: []networking.HTTPIngressPath{{Path: "/", PathType: ptr.To(networking.PathTypePrefix), Backend: networking.IngressBackend{Service: &networking.IngressServiceBackend{Name: "s", Port: networking.ServiceBackendPort{Number: 80}}}}},
			}}}}},
		},
		"limitrange": &core.LimitRange{
			TypeMeta: meta.TypeMeta{APIVersion: "v1", Kind: "LimitRange"}, ObjectMeta: meta.ObjectMeta{Name: "l"},
			Spec: core.LimitRangeSpec{Limits: []core.LimitRangeItem{{Type: core.LimitTypeContainer, Default: core.ResourceList{core.ResourceCPU: resource.MustParse("2e3")}}}},
		},
		"review": &authorization.SubjectAccessReview{
			TypeMeta: meta.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SubjectAccessReview"},
			Spec:     authorization.SubjectAccessReviewSpec{User: "u", Groups: []string{"g"}, Extra: map[string]authorization.ExtraValue{"k": {"a", "b"}}, ResourceAttributes: &authorization.ResourceAttributes{Verb: "get", Resource: "pods"}},
		},
		"scale": &autoscaling.Scale{TypeMeta: meta.TypeMeta{APIVersion: "autoscaling/v1", Kind: "Scale"}, ObjectMeta: meta.ObjectMeta{Name: "d"}},
		"eviction": &policy.Eviction{
			TypeMeta: meta.TypeMeta{APIVersion: "policy/v1", Kind: "Eviction"}, ObjectMeta: meta.ObjectMeta{Name: "p"}, DeleteOptions: &meta.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)},
		},
		"deleteoptions": &meta.DeleteOptions{
			TypeMeta: meta.TypeMeta{APIVersion: "apps/v1", Kind: "DeleteOptions"}, GracePeriodSeconds: ptr.To[int64](0),
			PropagationPolicy: ptr.To(meta.DeletePropagationForeground), Preconditions: &meta.Preconditions{ResourceVersion: ptr.To("7")}, DryRun: []string{"All"},
		},
	}
}
