package main

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/apps"
	appsscheme "k8s.io/kubernetes/pkg/apis/apps/v1"
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	"k8s.io/kubernetes/pkg/apis/autoscaling"
	autoscalingscheme "k8s.io/kubernetes/pkg/apis/autoscaling/v2"
	autoscalingvalidation "k8s.io/kubernetes/pkg/apis/autoscaling/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	corescheme "k8s.io/kubernetes/pkg/apis/core/v1"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/networking"
	networkingscheme "k8s.io/kubernetes/pkg/apis/networking/v1"
	networkingvalidation "k8s.io/kubernetes/pkg/apis/networking/validation"
	"k8s.io/kubernetes/pkg/apis/policy"
	policyscheme "k8s.io/kubernetes/pkg/apis/policy/v1"
	policyvalidation "k8s.io/kubernetes/pkg/apis/policy/validation"
	"k8s.io/pod-security-admission/api"
	podsecurity "k8s.io/pod-security-admission/policy"
)

// validator does what the Kubernetes API server does: it fills in defaults and then checks rules beyond schemas, such
// as names, ranges and mutually exclusive fields.
type validator struct {
	scheme *runtime.Scheme
	pods   podsecurity.Evaluator
}

func newValidator() (validator, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		core.AddToScheme, corescheme.AddToScheme, apps.AddToScheme, appsscheme.AddToScheme,
		autoscaling.AddToScheme, autoscalingscheme.AddToScheme, networking.AddToScheme, networkingscheme.AddToScheme,
		policy.AddToScheme, policyscheme.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return validator{}, fmt.Errorf("registering the types of Kubernetes: %w", err)
		}
	}
	pods, err := podsecurity.NewEvaluator(podsecurity.DefaultChecks(), nil)
	if err != nil {
		return validator{}, fmt.Errorf("reading the standards of pod security: %w", err)
	}
	return validator{scheme: scheme, pods: pods}, nil
}

// check adds the API server's validation errors. It skips kinds that aren't built into Kubernetes.
func (v validator) check(o object, f *faults) {
	var objections field.ErrorList
	switch value := o.value.(type) {
	case *corev1.ConfigMap:
		objections = validate(v, o, value, &core.ConfigMap{}, f, corevalidation.ValidateConfigMap)
	case *corev1.Secret:
		objections = validate(v, o, value, &core.Secret{}, f, corevalidation.ValidateSecret)
	case *corev1.Service:
		objections = validate(v, o, value, &core.Service{}, f, corevalidation.ValidateServiceCreate)
	case *corev1.ServiceAccount:
		objections = validate(v, o, value, &core.ServiceAccount{}, f, corevalidation.ValidateServiceAccount)
	case *appsv1.Deployment:
		objections = validate(v, o, value, &apps.Deployment{}, f, func(d *apps.Deployment) field.ErrorList {
			return appsvalidation.ValidateDeployment(d, corevalidation.PodValidationOptions{})
		})
	case *networkingv1.NetworkPolicy:
		objections = validate(v, o, value, &networking.NetworkPolicy{}, f, func(p *networking.NetworkPolicy) field.ErrorList {
			return networkingvalidation.ValidateNetworkPolicy(p, networkingvalidation.NetworkPolicyValidationOptions{})
		})
	case *networkingv1.Ingress:
		objections = validate(v, o, value, &networking.Ingress{}, f, networkingvalidation.ValidateIngressCreate)
	case *policyv1.PodDisruptionBudget:
		objections = validate(v, o, value, &policy.PodDisruptionBudget{}, f, func(b *policy.PodDisruptionBudget) field.ErrorList {
			return policyvalidation.ValidatePodDisruptionBudget(b, policyvalidation.PodDisruptionBudgetValidationOptions{})
		})
	case *autoscalingv2.HorizontalPodAutoscaler:
		objections = validate(v, o, value, &autoscaling.HorizontalPodAutoscaler{}, f, func(h *autoscaling.HorizontalPodAutoscaler) field.ErrorList {
			return autoscalingvalidation.ValidateHorizontalPodAutoscaler(h, autoscalingvalidation.HorizontalPodAutoscalerSpecValidationOptions{MinReplicasLowerBound: 1})
		})
	}
	for _, objection := range objections {
		f.add("%s: %v", o, objection)
	}
}

// validate fills in the defaults in a copy of the object, converts it to the API server's internal type, and validates
// it with `ask`.
func validate[T runtime.Object](v validator, o object, value runtime.Object, internal T, f *faults, ask func(T) field.ErrorList) field.ErrorList {
	defaulted := value.DeepCopyObject()
	v.scheme.Default(defaulted)
	if err := v.scheme.Convert(defaulted, internal, nil); err != nil {
		f.add("%s: %v", o, err)
		return nil
	}
	return ask(internal)
}

// checkStandard checks a pod against the "restricted" profile of the Kubernetes pod security standards.
func (v validator) checkStandard(d *appsv1.Deployment, f *faults) {
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	results := v.pods.EvaluatePod(level, &d.Spec.Template.ObjectMeta, &d.Spec.Template.Spec)
	if verdict := podsecurity.AggregateCheckResults(results); !verdict.Allowed {
		f.add("Deployment %s: the profile restricted refuses its pods: %s", d.Name, verdict.ForbiddenDetail())
	}
}
