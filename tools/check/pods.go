package main

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// checkPod checks that a pod is fit for untrusted input: no privileges, no writable file system except its own volumes,
// no Kubernetes token, and limits on all resources.
func checkPod(d *appsv1.Deployment, f *faults) {
	where, pod := "Deployment "+d.Name, d.Spec.Template.Spec
	f.require(pod.EnableServiceLinks != nil && !*pod.EnableServiceLinks, "%s: service links are on: SLUICE_…_SERVICE_HOST would be an unknown setting", where)
	f.require(pod.AutomountServiceAccountToken != nil && !*pod.AutomountServiceAccountToken, "%s holds a token of Kubernetes", where)
	f.require(!pod.HostNetwork && !pod.HostPID && !pod.HostIPC, "%s shares the node's network, processes or memory", where)
	if s := pod.SecurityContext; s == nil {
		f.add("%s has no security context", where)
	} else {
		f.require(s.RunAsNonRoot != nil && *s.RunAsNonRoot, "%s may run as root", where)
		f.require(s.RunAsUser != nil && *s.RunAsUser > 0, "%s runs as root", where)
		f.require(s.FSGroup != nil && *s.FSGroup > 0, "%s: its user could not write its volumes", where)
		f.require(s.SeccompProfile != nil && s.SeccompProfile.Type == corev1.SeccompProfileTypeRuntimeDefault, "%s: system calls are not filtered", where)
	}
	f.require(len(pod.TopologySpreadConstraints) > 0, "%s: all its pods may land on one node", where)
	volumes := map[string]corev1.Volume{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = v
		switch {
		case v.EmptyDir != nil:
			f.require(v.EmptyDir.SizeLimit != nil && v.EmptyDir.SizeLimit.Value() > 0, "%s: volume %s may fill the node's disk", where, v.Name)
		case v.PersistentVolumeClaim != nil:
			f.require(v.PersistentVolumeClaim.ReadOnly, "%s: volume %s is a claim that can be written", where, v.Name)
		case v.Secret == nil && v.ConfigMap == nil && v.Image == nil:
			f.add("%s: volume %s is of a kind that the restricted profile does not need", where, v.Name)
		}
	}
	f.require(len(pod.Containers) == 1 && len(pod.InitContainers) == 0, "%s runs more than its process", where)
	for i := range pod.Containers {
		paths := processPaths
		if isBrowser(d) {
			paths = browserPaths
		}
		checkContainer(where, &pod.Containers[i], volumes, paths, f)
		checkGrace(where, &pod, &pod.Containers[i], f)
	}
}

// probePaths are the liveness and readiness probes' paths.
type probePaths struct{ alive, ready string }

var (
	processPaths = probePaths{"/healthz", "/readyz"}
	browserPaths = probePaths{"/json/version", "/json/version"}
)

func checkContainer(where string, c *corev1.Container, volumes map[string]corev1.Volume, paths probePaths, f *faults) {
	if s := c.SecurityContext; s == nil {
		f.add("%s: container %s has no security context", where, c.Name)
	} else {
		f.require(s.ReadOnlyRootFilesystem != nil && *s.ReadOnlyRootFilesystem, "%s: container %s can write its root file system", where, c.Name)
		f.require(s.AllowPrivilegeEscalation != nil && !*s.AllowPrivilegeEscalation, "%s: container %s may gain rights", where, c.Name)
		f.require(s.Privileged == nil || !*s.Privileged, "%s: container %s is privileged", where, c.Name)
		f.require(s.RunAsNonRoot == nil || *s.RunAsNonRoot, "%s: container %s may run as root", where, c.Name)
		f.require(s.RunAsUser == nil || *s.RunAsUser > 0, "%s: container %s runs as root", where, c.Name)
		f.require(s.Capabilities != nil && len(s.Capabilities.Drop) == 1 && s.Capabilities.Drop[0] == "ALL" && len(s.Capabilities.Add) == 0, "%s: container %s keeps capabilities", where, c.Name)
	}
	_, tag, tagged := strings.Cut(c.Image[strings.LastIndex(c.Image, "/")+1:], ":")
	f.require(tagged && tag != "" && tag != "latest", "%s: the image %s is not pinned by a tag", where, c.Image)
	f.require(!c.Resources.Requests.Cpu().IsZero() && !c.Resources.Requests.Memory().IsZero(), "%s: container %s requests nothing", where, c.Name)
	f.require(!c.Resources.Limits.Memory().IsZero(), "%s: container %s may take all memory of its node", where, c.Name)

	ports := map[string]bool{}
	for _, p := range c.Ports {
		ports[p.Name] = true
		f.require(p.HostPort == 0, "%s: port %s is a port of the node", where, p.Name)
	}
	for kind, probe := range map[string]*corev1.Probe{"startup": c.StartupProbe, "liveness": c.LivenessProbe, "readiness": c.ReadinessProbe} {
		want := paths.alive
		if kind == "readiness" {
			want = paths.ready
		}
		if probe == nil || probe.HTTPGet == nil {
			f.add("%s: container %s has no %s probe", where, c.Name, kind)
			continue
		}
		f.require(probe.HTTPGet.Path == want, "%s: the %s probe asks %s", where, kind, probe.HTTPGet.Path)
		f.require(probe.HTTPGet.Port.Type == intstr.String && ports[probe.HTTPGet.Port.StrVal], "%s: the %s probe's port %s is none of the container's", where, kind, probe.HTTPGet.Port.String())
	}
	writable := map[string]bool{}
	for _, mount := range c.VolumeMounts {
		v, exists := volumes[mount.Name]
		f.require(exists, "%s: container %s mounts %s, which is no volume", where, c.Name, mount.Name)
		f.require(mount.ReadOnly || v.EmptyDir != nil, "%s: container %s can write %s", where, c.Name, mount.Name)
		writable[mount.MountPath] = v.EmptyDir != nil && !mount.ReadOnly
	}
	f.require(writable["/tmp"], "%s: container %s has no /tmp to write to", where, c.Name)
}

// Seconds that a process may take to shut down. An api process completes its requests (SLUICE_SHUTDOWN_GRACE, 10 s by
// default). A worker returns its jobs at once, but may have to wait for NATS.
const shutdownSeconds = 30

func checkGrace(where string, pod *corev1.PodSpec, c *corev1.Container, f *faults) {
	need := int64(shutdownSeconds)
	if c.Lifecycle != nil && c.Lifecycle.PreStop != nil && c.Lifecycle.PreStop.Sleep != nil {
		need += c.Lifecycle.PreStop.Sleep.Seconds
	}
	f.require(c.Lifecycle == nil || c.Lifecycle.PreStop == nil || c.Lifecycle.PreStop.Exec == nil, "%s: the image has no program for preStop to run", where)
	f.require(pod.TerminationGracePeriodSeconds != nil && *pod.TerminationGracePeriodSeconds >= need, "%s is killed before it has stopped: it may need %d s", where, need)
}
