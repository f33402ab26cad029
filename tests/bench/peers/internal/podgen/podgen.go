// Package podgen builds valid, realistic Pods of a chosen size.
package podgen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/wharf-dev/wharf/tests/bench/peers/internal/record"
)

// Generator makes Pods that differ in name, namespace, labels and identifiers only. They have
// what the API server and the kubelet add: uid, resourceVersion, managedFields and status.
type Generator struct {
	namespaces int
	pad        int
	// managed are those of the first Pod; the others differ in their address only.
	managed []metav1.ManagedFieldsEntry
}

// New spreads the Pods over so many namespaces, and pads their environment until one of them is
// about size bytes of JSON.
func New(namespaces, size int) *Generator {
	g := &Generator{namespaces: namespaces}
	for g.pad < 400 {
		first := g.bare(0)
		g.managed = managedFields(first)
		first.ManagedFields = g.managed
		body, err := json.Marshal(first)
		if err != nil || len(body) >= size {
			break
		}
		g.pad++
	}
	return g
}

var epoch = metav1.NewTime(time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC))

// Name of the i-th Pod.
func Name(i int) string { return fmt.Sprintf("checkout-7c9d8b6f5d-%06d", i) }

func uid(kind string, i int) types.UID {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d", kind, i)
	return types.UID(fmt.Sprintf("%08x-0000-4000-8000-%012x", uint32(h.Sum64()), h.Sum64()&0xffffffffffff))
}

// Namespace of the i-th Pod.
func (g *Generator) Namespace(i int) string {
	if g.namespaces == 1 {
		return "bench"
	}
	return fmt.Sprintf("bench-%03d", i%g.namespaces)
}

// Pod returns the i-th Pod. It is never assigned to a node. Safe for several goroutines.
func (g *Generator) Pod(i int) *corev1.Pod {
	pod := g.bare(i)
	for _, entry := range g.managed {
		raw := bytes.ReplaceAll(entry.FieldsV1.Raw, []byte(address(0)), []byte(address(i)))
		entry.FieldsV1 = &metav1.FieldsV1{Raw: raw}
		pod.ManagedFields = append(pod.ManagedFields, entry)
	}
	return pod
}

// bare is a Pod without managedFields.
func (g *Generator) bare(i int) *corev1.Pod {
	controller := true
	pod := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name:         Name(i),
			GenerateName: "checkout-7c9d8b6f5d-",
			Namespace:    g.Namespace(i),
			Labels: map[string]string{
				"app.kubernetes.io/name":       "checkout",
				record.InstanceLabel:           fmt.Sprintf("app-%d", i%500),
				"app.kubernetes.io/version":    "2026.3.1",
				"app.kubernetes.io/component":  "api",
				"app.kubernetes.io/part-of":    "webshop",
				"app.kubernetes.io/managed-by": "helm",
				"team":                         fmt.Sprintf("team-%02d", i%20),
				"pod-template-hash":            "7c9d8b6f5d",
			},
			Annotations: map[string]string{
				record.TimestampAnnotation:          fmt.Sprintf("%019d", 0),
				"prometheus.io/scrape":              "true",
				"prometheus.io/port":                "9102",
				"checksum/config":                   "5d41402abc4b2a76b9719d911017c592ae2bb3a1c5d0f4f0a4b5a9d9c4f3e2d1",
				"kubectl.kubernetes.io/restartedAt": "2026-03-01T08:00:00Z",
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "checkout-7c9d8b6f5d", UID: uid("rs", 0),
				Controller: &controller, BlockOwnerDeletion: &controller,
			}},
		},
		Spec: g.spec(),
	}
	pod.UID = uid("pod", i)
	pod.CreationTimestamp = epoch
	pod.Status = status(i)
	return pod
}

func (g *Generator) spec() corev1.PodSpec {
	no, mode := false, int32(420)
	resources := corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m"), corev1.ResourceMemory: resource.MustParse("256Mi")},
		Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("512Mi")},
	}
	probe := func(path string) *corev1.Probe {
		return &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString("http"), Scheme: "HTTP"}},
			PeriodSeconds: 10, TimeoutSeconds: 2, SuccessThreshold: 1, FailureThreshold: 3,
		}
	}
	field := func(name, path string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}}}
	}
	secret := func(name, key string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "checkout-db"}, Key: key}}}
	}
	env := []corev1.EnvVar{
		field("POD_NAME", "metadata.name"), field("POD_NAMESPACE", "metadata.namespace"), field("POD_IP", "status.podIP"),
		secret("DB_USER", "username"), secret("DB_PASSWORD", "password"),
	}
	for i := range g.pad {
		env = append(env, corev1.EnvVar{Name: fmt.Sprintf("FEATURE_FLAG_%03d", i), Value: fmt.Sprintf("rollout=%d;owner=team-%02d;expires=2026-12-31", i*7%100, i%20)})
	}
	mounts := []corev1.VolumeMount{
		{Name: "config", MountPath: "/etc/checkout", ReadOnly: true},
		{Name: "tls", MountPath: "/etc/tls", ReadOnly: true},
	}
	container := func(name, portName string, port int32) corev1.Container {
		return corev1.Container{
			Name: name, Image: "registry.example.com/webshop/" + name + ":2026.3.1", ImagePullPolicy: corev1.PullIfNotPresent,
			Ports:                  []corev1.ContainerPort{{Name: portName, ContainerPort: port, Protocol: corev1.ProtocolTCP}},
			TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: corev1.TerminationMessageReadFile,
		}
	}
	main, sidecar := container("checkout", "http", 8080), container("metrics-agent", "metrics", 9102)
	main.Resources, main.VolumeMounts = resources, mounts
	main.Env, main.LivenessProbe, main.ReadinessProbe = env, probe("/healthz"), probe("/readyz")
	grace, runAs := int64(30), int64(10001)
	return corev1.PodSpec{
		Containers:                    []corev1.Container{main, sidecar},
		RestartPolicy:                 corev1.RestartPolicyAlways,
		TerminationGracePeriodSeconds: &grace,
		DNSPolicy:                     corev1.DNSClusterFirst,
		ServiceAccountName:            "checkout",
		AutomountServiceAccountToken:  &no,
		SchedulerName:                 "default-scheduler",
		SecurityContext:               &corev1.PodSecurityContext{RunAsUser: &runAs, FSGroup: &runAs},
		Tolerations: []corev1.Toleration{
			{Key: "node.kubernetes.io/not-ready", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &grace},
			{Key: "node.kubernetes.io/unreachable", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &grace},
		},
		Volumes: []corev1.Volume{
			{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "checkout"}, DefaultMode: &mode}}},
			{Name: "tls", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "checkout-tls", DefaultMode: &mode}}},
		},
	}
}

// address of the i-th Pod; all are of one length.
func address(i int) string {
	return fmt.Sprintf("10.%d.%d.%d", 100+i/10000%100, 100+i/100%100, 100+i%100)
}

// status is what the kubelet would report for a running Pod.
func status(i int) corev1.PodStatus {
	ip := address(i)
	status := corev1.PodStatus{
		Phase: corev1.PodRunning, QOSClass: corev1.PodQOSBurstable, StartTime: &epoch,
		HostIP: "192.0.2.10", PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}},
	}
	for _, t := range []corev1.PodConditionType{corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{Type: t, Status: corev1.ConditionTrue, LastTransitionTime: epoch})
	}
	started := true
	for n, name := range []string{"checkout", "metrics-agent"} {
		id := string(uid(name, i))
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{
			Name: name, Ready: true, Started: &started, RestartCount: int32(n),
			Image:       "registry.example.com/webshop/" + name + ":2026.3.1",
			ImageID:     "registry.example.com/webshop/" + name + "@sha256:" + strings.Repeat("0123456789abcdef", 4),
			ContainerID: "containerd://" + strings.ReplaceAll(id+id, "-", ""),
			State:       corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: epoch}},
		})
	}
	return status
}

// managedFields lists every field of the Pod as owned by two managers.
func managedFields(pod *corev1.Pod) []metav1.ManagedFieldsEntry {
	entry := func(manager, subresource string, fields any) metav1.ManagedFieldsEntry {
		raw, _ := json.Marshal(fields)
		return metav1.ManagedFieldsEntry{
			Manager: manager, Subresource: subresource, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1",
			Time: &epoch, FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: raw},
		}
	}
	var all map[string]any
	body, _ := json.Marshal(pod)
	_ = json.Unmarshal(body, &all)
	labels := map[string]any{"labels": all["metadata"].(map[string]any)["labels"], "annotations": all["metadata"].(map[string]any)["annotations"]}
	return []metav1.ManagedFieldsEntry{
		entry("kube-controller-manager", "", fieldSet(map[string]any{"metadata": labels, "spec": all["spec"]})),
		entry("kubelet", "status", fieldSet(map[string]any{"status": all["status"]})),
	}
}

// atomicLists are owned as a whole, not item by item.
var atomicLists = map[string]bool{"containerStatuses": true, "tolerations": true}

// fieldSet turns a decoded object into the fieldsV1 notation.
func fieldSet(v any) map[string]any {
	out := map[string]any{}
	switch v := v.(type) {
	case map[string]any:
		for k, child := range v {
			if atomicLists[k] {
				out["f:"+k] = map[string]any{}
			} else {
				out["f:"+k] = fieldSet(child)
			}
		}
	case []any:
		for _, child := range v {
			if item, ok := child.(map[string]any); ok {
				for _, key := range []string{"name", "type", "containerPort", "mountPath", "key", "ip"} {
					if id, ok := item[key]; ok {
						keyed, _ := json.Marshal(map[string]any{key: id})
						sub := fieldSet(item)
						sub["."] = map[string]any{}
						out["k:"+string(keyed)] = sub
						break
					}
				}
			}
		}
	}
	return out
}
