package main

import (
	"slices"
	"strings"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// checkRelease checks references between a release's objects.
func checkRelease(r *rendered, repo repository, f *faults) {
	seen := map[string]bool{}
	for _, o := range r.objects {
		f.require(!seen[o.String()], "%s is there twice", o)
		seen[o.String()] = true
		f.require(o.GetNamespace() == releaseNamespace, "%s is in namespace %q", o, o.GetNamespace())
		repo.server.check(o, f)
	}
	deployments := all[*appsv1.Deployment](r.objects)
	own := slices.DeleteFunc(slices.Clone(deployments), isBrowser)
	f.require(len(own) == len(processes), "%d deployments of processes, want %d", len(own), len(processes))
	f.require(len(deployments)-len(own) <= 1, "there are several browsers")
	for _, d := range deployments {
		f.require(d.Spec.Selector != nil && matches(d.Spec.Selector, d.Spec.Template.Labels), "%s: its selector does not match its pods", d.Name)
		repo.server.checkStandard(d, f)
		checkPod(d, f)
		if isBrowser(d) {
			checkBrowserPod(d, r, f)
		} else {
			checkEnvironment(d, r, repo, f)
		}
	}
	checkSelectors(r, deployments, f)
	checkMonitors(r, own, f)
	checkScaling(r, deployments, repo, f)
	checkNetwork(r, deployments, f)
	for _, ingress := range all[*networkingv1.Ingress](r.objects) {
		for _, rule := range ingress.Spec.Rules {
			for _, path := range rule.HTTP.Paths {
				f.require(path.Backend.Service != nil && seen["Service "+path.Backend.Service.Name], "Ingress %s leads to a Service that is not there", ingress.Name)
			}
		}
	}
	f.require(strings.Contains(r.notes, "rollout status"), "the notes do not say how to see that it runs")
}

// isBrowser reports whether a deployment is the browser, which runs untrusted scripts, and not one of Sluice's
// processes.
func isBrowser(d *appsv1.Deployment) bool {
	return d.Spec.Template.Labels["app.kubernetes.io/component"] == "browser"
}

// checkBrowserPod checks that the browser gets no secrets and has the host name that crawlers use.
func checkBrowserPod(d *appsv1.Deployment, r *rendered, f *faults) {
	pod := d.Spec.Template.Spec
	f.require(len(pod.Containers[0].EnvFrom) == 0, "the browser gets the environment of the processes")
	for _, e := range pod.Containers[0].Env {
		f.require(e.ValueFrom == nil, "the browser gets %s, a secret", e.Name)
	}
	f.require(slices.Contains(pod.Containers[0].Args, udpPolicy), "the browser runs without %s", udpPolicy)
	address := "http://" + d.Name + ":9222"
	for _, m := range all[*corev1.ConfigMap](r.objects) {
		if m.Labels["app.kubernetes.io/component"] == "crawler" {
			f.require(m.Data["CHROME_URL"] == address, "the crawler looks for the browser at %q, it is at %s", m.Data["CHROME_URL"], address)
		}
	}
	f.require(len(all[*networkingv1.NetworkPolicy](r.objects)) > 0, "the browser has a network")
}

func matches(selector *metav1.LabelSelector, of labels.Set) bool {
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && !s.Empty() && s.Matches(of)
}

// selected returns the deployments with pods that match a selector.
func selected(selector *metav1.LabelSelector, deployments []*appsv1.Deployment) (chosen []*appsv1.Deployment) {
	for _, d := range deployments {
		if matches(selector, d.Spec.Template.Labels) {
			chosen = append(chosen, d)
		}
	}
	return chosen
}

func checkSelectors(r *rendered, deployments []*appsv1.Deployment, f *faults) {
	for _, budget := range all[*policyv1.PodDisruptionBudget](r.objects) {
		f.require(len(selected(budget.Spec.Selector, deployments)) == 1, "PodDisruptionBudget %s does not guard one deployment", budget.Name)
		f.require(budget.Spec.MaxUnavailable != nil && budget.Spec.MinAvailable == nil, "PodDisruptionBudget %s could block a drain of one replica", budget.Name)
	}
	for _, service := range all[*corev1.Service](r.objects) {
		chosen := selected(&metav1.LabelSelector{MatchLabels: service.Spec.Selector}, deployments)
		if len(chosen) != 1 {
			f.add("Service %s does not lead to one deployment", service.Name)
			continue
		}
		for _, port := range service.Spec.Ports {
			f.require(slices.ContainsFunc(chosen[0].Spec.Template.Spec.Containers[0].Ports, func(p corev1.ContainerPort) bool {
				return p.Name == port.TargetPort.StrVal
			}), "Service %s: port %s leads nowhere", service.Name, port.Name)
		}
	}
}

// checkMonitors checks that Prometheus scrapes each process exactly once.
func checkMonitors(r *rendered, deployments []*appsv1.Deployment, f *faults) {
	found := map[string]int{}
	for _, m := range all[*monitoringv1.ServiceMonitor](r.objects) {
		for _, service := range all[*corev1.Service](r.objects) {
			if !matches(&m.Spec.Selector, service.Labels) {
				continue
			}
			for _, d := range selected(&metav1.LabelSelector{MatchLabels: service.Spec.Selector}, deployments) {
				found[d.Name]++
			}
			for _, endpoint := range m.Spec.Endpoints {
				f.require(slices.ContainsFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == endpoint.Port }),
					"ServiceMonitor %s: Service %s has no port %s", m.Name, service.Name, endpoint.Port)
			}
		}
	}
	for _, m := range all[*monitoringv1.PodMonitor](r.objects) {
		for _, d := range selected(&m.Spec.Selector, deployments) {
			found[d.Name]++
		}
	}
	for _, d := range deployments {
		f.require(len(found) == 0 || found[d.Name] == 1, "%s is watched by %d monitors, want 1", d.Name, found[d.Name])
	}
}

func checkScaling(r *rendered, deployments []*appsv1.Deployment, repo repository, f *faults) {
	byName := map[string]*appsv1.Deployment{}
	for _, d := range deployments {
		byName[d.Name] = d
	}
	scaled := map[string]int{}
	for _, h := range all[*autoscalingv2.HorizontalPodAutoscaler](r.objects) {
		scaled[h.Spec.ScaleTargetRef.Name]++
		f.require(h.Spec.MinReplicas != nil && *h.Spec.MinReplicas >= 1 && *h.Spec.MinReplicas <= h.Spec.MaxReplicas, "HorizontalPodAutoscaler %s: the replicas are not bounded", h.Name)
		f.require(len(h.Spec.Metrics) > 0, "HorizontalPodAutoscaler %s measures nothing", h.Name)
	}
	for _, s := range all[*scaledObject](r.objects) {
		scaled[s.Spec.ScaleTargetRef.Name]++
		checkScaledObject(s, repo.workers, f)
	}
	for name, count := range scaled {
		d := byName[name]
		if d == nil {
			f.add("an autoscaler is for %s, which is not there", name)
			continue
		}
		f.require(count == 1, "%s has %d autoscalers, which fight", name, count)
		f.require(d.Spec.Replicas == nil, "%s: an upgrade would undo what the autoscaler has chosen", name)
	}
	for name, d := range byName {
		f.require(scaled[name] == 1 || d.Spec.Replicas != nil, "%s has neither replicas nor an autoscaler", name)
	}
}
