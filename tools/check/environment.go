package main

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// checkEnvironment checks a process's environment variables. Each one must be a known setting, ConfigMaps and Secrets
// that supply them must exist, and the process must see no secrets but its own.
func checkEnvironment(d *appsv1.Deployment, r *rendered, repo repository, f *faults) {
	where, c := "Deployment "+d.Name, d.Spec.Template.Spec.Containers[0]
	component := d.Spec.Template.Labels["app.kubernetes.io/component"]
	f.require(slices.Contains(processes, component), "%s: component %q is none of the processes", where, component)

	environment, secrets := map[string]string{}, map[string]bool{}
	for _, from := range c.EnvFrom {
		if from.ConfigMapRef == nil {
			f.add("%s takes a whole Secret as its environment", where)
			continue
		}
		settings, exists := configMap(r, from.ConfigMapRef.Name)
		f.require(exists, "%s: ConfigMap %s is not there", where, from.ConfigMapRef.Name)
		for name, value := range settings {
			environment[name] = value
			f.require(!isSecret(name), "%s: %s is a secret in a ConfigMap", where, name)
		}
	}
	for _, e := range c.Env {
		if e.ValueFrom == nil || e.ValueFrom.SecretKeyRef == nil {
			environment[e.Name] = e.Value
			f.require(!isSecret(e.Name), "%s: %s is a secret in plain sight", where, e.Name)
			continue
		}
		ref := e.ValueFrom.SecretKeyRef
		environment[e.Name], secrets[ref.Name] = "(secret)", true
		checkSecretKey(where, ref, r, f)
	}
	for name := range environment {
		repo.settings.check(f, where, name)
	}
	for _, v := range d.Spec.Template.Spec.Volumes {
		if v.Secret != nil {
			secrets[v.Secret.SecretName] = true
			f.require(r.external[v.Secret.SecretName], "%s: Secret %s is not there", where, v.Secret.SecretName)
		}
	}
	checkFiles(where, environment, &c, f)
	f.require(environment["NATS_URL"] != "", "%s has no NATS_URL", where)
	port := ""
	if len(c.Ports) == 1 {
		port = fmt.Sprintf(":%d", c.Ports[0].ContainerPort)
	}
	f.require(environment["SLUICE_ADDR"] == port, "%s listens on %q, its port is %q", where, environment["SLUICE_ADDR"], port)
	if component == "api" {
		f.require(environment["SLUICE_WORKERS"] == "false", "%s does the workers' work too", where)
		for _, name := range databaseSecrets {
			f.require(environment[name] != "", "%s has no %s", where, name)
		}
		checkDrawMemory(f, where, c.Resources.Limits.Memory().Value()-memoryVolumes(d))
		return
	}
	for _, name := range databaseSecrets {
		f.require(environment[name] == "", "%s holds %s, which workers must not", where, name)
	}
	for name := range secrets {
		f.require(!hasDatabaseSecret(r, name), "%s reads Secret %s, which holds the database's credentials", where, name)
	}
	if component == "ingestor" {
		checkExtractMemory(f, where, environment, c.Resources.Limits.Memory().Value()-memoryVolumes(d))
	}
	for name := range environment {
		f.require(component != "crawler" || !isModelSetting(name), "%s gets %s, which a crawler does not need", where, name)
		f.require(!isQuerySetting(name), "%s gets %s, which only queries need", where, name)
	}
}

// checkFiles checks settings whose values are file paths. The paths must be on mounted volumes.
func checkFiles(where string, environment map[string]string, c *corev1.Container, f *faults) {
	for name, value := range environment {
		if !strings.HasPrefix(value, "/") {
			continue
		}
		f.require(slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool {
			return value == m.MountPath || strings.HasPrefix(value, m.MountPath+"/")
		}), "%s: %s names %s, where nothing is mounted", where, name, value)
	}
}

func configMap(r *rendered, name string) (map[string]string, bool) {
	for _, m := range all[*corev1.ConfigMap](r.objects) {
		if m.Name == name {
			return m.Data, true
		}
	}
	return nil, false
}

func secret(r *rendered, name string) *corev1.Secret {
	for _, s := range all[*corev1.Secret](r.objects) {
		if s.Name == name {
			return s
		}
	}
	return nil
}

func checkSecretKey(where string, ref *corev1.SecretKeySelector, r *rendered, f *faults) {
	made := secret(r, ref.Name)
	if made == nil {
		f.require(r.external[ref.Name], "%s: Secret %s is not there", where, ref.Name)
		return
	}
	_, has := made.StringData[ref.Key]
	f.require(has || ref.Optional != nil && *ref.Optional, "%s: Secret %s has no %s", where, ref.Name, ref.Key)
}

// hasDatabaseSecret reports whether a process reads one of the databaseSecrets variables from the named Secret.
func hasDatabaseSecret(r *rendered, name string) bool {
	for _, d := range all[*appsv1.Deployment](r.objects) {
		for _, e := range d.Spec.Template.Spec.Containers[0].Env {
			if slices.Contains(databaseSecrets, e.Name) && e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil && e.ValueFrom.SecretKeyRef.Name == name {
				return true
			}
		}
	}
	return false
}

// memoryVolumes returns the total size limit of a pod's in-memory volumes, in bytes.
func memoryVolumes(d *appsv1.Deployment) (sum int64) {
	for _, v := range d.Spec.Template.Spec.Volumes {
		if v.EmptyDir != nil && v.EmptyDir.Medium == corev1.StorageMediumMemory && v.EmptyDir.SizeLimit != nil {
			sum += v.EmptyDir.SizeLimit.Value()
		}
	}
	return sum
}
