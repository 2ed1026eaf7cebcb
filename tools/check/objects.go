package main

import (
	"fmt"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// object is a Kubernetes object in its Go type.
type object struct {
	metav1.TypeMeta
	metav1.Object
	value any
}

func (o object) String() string { return o.Kind + " " + o.GetName() }

// kinds maps each kind of object that may be in the chart to its constructor.
var kinds = map[string]func() metav1.Object{
	"v1/ConfigMap":                            func() metav1.Object { return &corev1.ConfigMap{} },
	"v1/Secret":                               func() metav1.Object { return &corev1.Secret{} },
	"v1/Service":                              func() metav1.Object { return &corev1.Service{} },
	"v1/ServiceAccount":                       func() metav1.Object { return &corev1.ServiceAccount{} },
	"apps/v1/Deployment":                      func() metav1.Object { return &appsv1.Deployment{} },
	"autoscaling/v2/HorizontalPodAutoscaler":  func() metav1.Object { return &autoscalingv2.HorizontalPodAutoscaler{} },
	"networking.k8s.io/v1/Ingress":            func() metav1.Object { return &networkingv1.Ingress{} },
	"networking.k8s.io/v1/NetworkPolicy":      func() metav1.Object { return &networkingv1.NetworkPolicy{} },
	"policy/v1/PodDisruptionBudget":           func() metav1.Object { return &policyv1.PodDisruptionBudget{} },
	"monitoring.coreos.com/v1/ServiceMonitor": func() metav1.Object { return &monitoringv1.ServiceMonitor{} },
	"monitoring.coreos.com/v1/PodMonitor":     func() metav1.Object { return &monitoringv1.PodMonitor{} },
	"keda.sh/v1alpha1/ScaledObject":           func() metav1.Object { return &scaledObject{} },
}

// decodeObject decodes one document. Unknown and duplicate fields are errors.
func decodeObject(document []byte) (object, error) {
	var o object
	if err := yaml.Unmarshal(document, &o.TypeMeta); err != nil {
		return o, err
	}
	empty, known := kinds[o.APIVersion+"/"+o.Kind]
	if !known {
		return o, fmt.Errorf("the kind %s of %s is not known to the check", o.Kind, o.APIVersion)
	}
	o.Object = empty()
	o.value = o.Object
	if err := yaml.UnmarshalStrict(document, o.value); err != nil {
		return o, fmt.Errorf("%s %s: %w", o.Kind, o.GetName(), err)
	}
	return o, nil
}

// all returns all objects of one type.
func all[T any](objects []object) []T {
	var out []T
	for _, o := range objects {
		if v, is := o.value.(T); is {
			out = append(out, v)
		}
	}
	return out
}
