package main

import (
	"slices"
	"strconv"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// scaledObject has the fields of KEDA's ScaledObject that the chart uses; any other field is reported as an error.
// KEDA's own package would pull in large parts of Kubernetes.
type scaledObject struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		ScaleTargetRef struct {
			APIVersion string `json:"apiVersion,omitempty"`
			Kind       string `json:"kind,omitempty"`
			Name       string `json:"name"`
		} `json:"scaleTargetRef"`
		PollingInterval *int32 `json:"pollingInterval,omitempty"`
		CooldownPeriod  *int32 `json:"cooldownPeriod,omitempty"`
		MinReplicaCount *int32 `json:"minReplicaCount,omitempty"`
		MaxReplicaCount *int32 `json:"maxReplicaCount,omitempty"`
		Fallback        *struct {
			FailureThreshold int32 `json:"failureThreshold"`
			Replicas         int32 `json:"replicas"`
		} `json:"fallback,omitempty"`
		Advanced *struct {
			HorizontalPodAutoscalerConfig *struct {
				Behavior *autoscalingv2.HorizontalPodAutoscalerBehavior `json:"behavior,omitempty"`
			} `json:"horizontalPodAutoscalerConfig,omitempty"`
		} `json:"advanced,omitempty"`
		Triggers []scaleTrigger `json:"triggers"`
	} `json:"spec"`
}

type scaleTrigger struct {
	Type       string                         `json:"type"`
	MetricType autoscalingv2.MetricTargetType `json:"metricType,omitempty"`
	Metadata   map[string]string              `json:"metadata"`
}

// streamScaler maps the configuration keys of KEDA's nats-jetstream scaler to whether they are required.
var streamScaler = map[string]bool{
	"natsServerMonitoringEndpoint": true, "account": true, "stream": true, "consumer": true,
	"lagThreshold": true, "activationLagThreshold": false, "useHttps": false,
}

// checkScaledObject checks an autoscaler against KEDA's rules and the workers' names.
func checkScaledObject(s *scaledObject, names workerNames, f *faults) {
	least, most := s.Spec.MinReplicaCount, s.Spec.MaxReplicaCount
	f.require(least != nil && most != nil && *least >= 0 && *least <= *most && *most > 0, "ScaledObject %s: the replicas are not bounded", s.Name)
	lanes := []string{"ingest", "scan"}
	if strings.HasSuffix(s.Name, "-crawler") {
		lanes = []string{"crawl"}
	}
	var watched, want []string
	for _, lane := range lanes {
		want = append(want, names.prefix+lane)
	}
	for _, trigger := range s.Spec.Triggers {
		if trigger.Type != "nats-jetstream" {
			f.add("ScaledObject %s: the check does not know triggers of type %q", s.Name, trigger.Type)
			continue
		}
		for key := range trigger.Metadata {
			_, known := streamScaler[key]
			f.require(known, "ScaledObject %s: the scaler has no %s", s.Name, key)
		}
		for key, must := range streamScaler {
			f.require(!must || trigger.Metadata[key] != "", "ScaledObject %s: the scaler needs %s", s.Name, key)
		}
		for _, key := range []string{"lagThreshold", "activationLagThreshold"} {
			if value := trigger.Metadata[key]; value != "" {
				n, err := strconv.ParseInt(value, 10, 64)
				f.require(err == nil && n >= 0, "ScaledObject %s: %s is %q", s.Name, key, value)
			}
		}
		f.require(trigger.Metadata["stream"] == names.stream, "ScaledObject %s watches stream %q, the jobs are in %s", s.Name, trigger.Metadata["stream"], names.stream)
		watched = append(watched, trigger.Metadata["consumer"])
		// KEDA's fallback requires averages.
		f.require(s.Spec.Fallback == nil || trigger.MetricType == autoscalingv2.AverageValueMetricType, "ScaledObject %s: fallback needs metricType AverageValue", s.Name)
	}
	slices.Sort(watched)
	f.require(slices.Equal(watched, want), "ScaledObject %s watches the consumers %q, the workers use %q", s.Name, watched, want)
}
