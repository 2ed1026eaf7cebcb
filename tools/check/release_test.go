package main

import (
	"path/filepath"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v4/pkg/chart/common"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const chartDir = "../../deployments/helm/sluice"

func renderTest(t *testing.T, set string) *rendered {
	t.Helper()
	values, err := common.ReadValuesFile(filepath.Join(chartDir, "ci", set+"-values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return mustRender(t, values)
}

// renderValues renders the chart with values in YAML.
func renderValues(t *testing.T, text string) *rendered {
	t.Helper()
	values, err := common.ReadValues([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return mustRender(t, values)
}

func mustRender(t *testing.T, values common.Values) *rendered {
	t.Helper()
	r, err := render(t.Context(), chartDir, values)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// named returns the object with the given type and name.
func named[T interface{ GetName() string }](t *testing.T, r *rendered, name string) T {
	t.Helper()
	for _, v := range all[T](r.objects) {
		if v.GetName() == name {
			return v
		}
	}
	t.Fatalf("there is no %s", name)
	panic("not reached")
}

func TestAReleaseThatBreaksARuleIsAFault(t *testing.T) {
	t.Parallel()
	repo := openTestRepository(t)
	type deployment = *appsv1.Deployment
	no, yes, root, short := false, true, int64(0), int64(5)
	for name, c := range map[string]struct {
		change func(t *testing.T, r *rendered)
		want   string
	}{
		"service links are on": {func(t *testing.T, r *rendered) {
			named[deployment](t, r, "sluice-api").Spec.Template.Spec.EnableServiceLinks = nil
		}, "service links are on"},
		"a token of Kubernetes is mounted": {func(t *testing.T, r *rendered) {
			named[deployment](t, r, "sluice-api").Spec.Template.Spec.AutomountServiceAccountToken = &yes
		}, "token of Kubernetes"},
		"a pod runs as root": {func(t *testing.T, r *rendered) {
			named[deployment](t, r, "sluice-api").Spec.Template.Spec.SecurityContext.RunAsUser = &root
		}, "runs as root"},
		"a container runs as root": {func(t *testing.T, r *rendered) {
			named[deployment](t, r, "sluice-api").Spec.Template.Spec.Containers[0].SecurityContext.RunAsUser = &root
		}, "runs as root"},
		"the root file system can be written": {func(t *testing.T, r *rendered) {
			named[deployment](t, r, "sluice-crawler").Spec.Template.Spec.Containers[0].SecurityContext.ReadOnlyRootFilesystem = &no
		}, "can write its root file system"},
		"a capability is added": {func(t *testing.T, r *rendered) {
			named[deployment](t, r, "sluice-crawler").Spec.Template.Spec.Containers[0].SecurityContext.Capabilities.Add = []corev1.Capability{"NET_RAW"}
		}, "keeps capabilities"},
		"system calls are not filtered": {func(t *testing.T, r *rendered) {
			named[deployment](t, r, "sluice-crawler").Spec.Template.Spec.SecurityContext.SeccompProfile = nil
		}, "system calls"},
		"a folder of the node is mounted": {func(t *testing.T, r *rendered) {
			volumes := named[deployment](t, r, "sluice-crawler").Spec.Template.Spec.Volumes
			volumes[0].VolumeSource = corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}
		}, "restricted profile"},
		"the restricted profile refuses a pod": {func(t *testing.T, r *rendered) {
			named[deployment](t, r, "sluice-crawler").Spec.Template.Spec.Containers[0].SecurityContext.AllowPrivilegeEscalation = &yes
		}, "the profile restricted refuses its pods"},
		"a volume is not bounded": {func(t *testing.T, r *rendered) {
			named[deployment](t, r, "sluice-crawler").Spec.Template.Spec.Volumes[0].EmptyDir.SizeLimit = nil
		}, "fill the node's disk"},
		"there is no /tmp": {func(t *testing.T, r *rendered) {
			c := &named[deployment](t, r, "sluice-ingestor").Spec.Template.Spec.Containers[0]
			c.VolumeMounts = c.VolumeMounts[:1]
		}, "no /tmp"},
		"an image has no tag": {func(t *testing.T, r *rendered) {
			named[deployment](t, r, "sluice-api").Spec.Template.Spec.Containers[0].Image = "localhost:5000/sluice-api"
		}, "not pinned by a tag"},
		"a probe asks for a port that is not there": {func(t *testing.T, r *rendered) {
			named[deployment](t, r, "sluice-api").Spec.Template.Spec.Containers[0].ReadinessProbe.HTTPGet.Port = intstr.FromString("web")
		}, "none of the container's"},
		"a probe asks for the wrong thing": {func(t *testing.T, r *rendered) {
			named[deployment](t, r, "sluice-api").Spec.Template.Spec.Containers[0].LivenessProbe.HTTPGet.Path = "/readyz"
		}, "liveness probe asks /readyz"},
		"a process is killed before it has stopped": {func(t *testing.T, r *rendered) {
			named[deployment](t, r, "sluice-api").Spec.Template.Spec.TerminationGracePeriodSeconds = &short
		}, "killed before it has stopped"},
		"an ingestor's documents do not fit into its memory": {func(t *testing.T, r *rendered) {
			named[deployment](t, r, "sluice-ingestor").Spec.Template.Spec.Containers[0].Resources.Limits[corev1.ResourceMemory] = resource.MustParse("4Gi")
		}, "may need 9GiB"},
		"the number of scans depends on the node": {func(t *testing.T, r *rendered) {
			delete(named[*corev1.ConfigMap](t, r, "sluice-ingestor").Data, "SLUICE_OCR_CONCURRENCY")
		}, "depend on the machine's processors"},
		"a worker holds the database's address": {func(t *testing.T, r *rendered) {
			api := named[deployment](t, r, "sluice-api").Spec.Template.Spec.Containers[0]
			worker := &named[deployment](t, r, "sluice-ingestor").Spec.Template.Spec.Containers[0]
			worker.Env = append(worker.Env, api.Env[0])
		}, "holds DATABASE_URL"},
		"a worker reads the database's Secret under another name": {func(t *testing.T, r *rendered) {
			worker := named[deployment](t, r, "sluice-crawler").Spec.Template.Spec.Containers[0]
			worker.Env[0].ValueFrom.SecretKeyRef.Name = "sluice-database"
		}, "holds the database's credentials"},
		"a crawler is told of Milvus": {func(t *testing.T, r *rendered) {
			named[*corev1.ConfigMap](t, r, "sluice-crawler").Data["MILVUS_ADDR"] = "milvus:19530"
		}, "a crawler does not need"},
		"an ingestor is told of the reranker": {func(t *testing.T, r *rendered) {
			named[*corev1.ConfigMap](t, r, "sluice-ingestor").Data["RERANK_URL"] = "http://reranker"
		}, "which only queries need"},
		"a crawler is told of a model": {func(t *testing.T, r *rendered) {
			named[*corev1.ConfigMap](t, r, "sluice-crawler").Data["SLUICE_EMBED_DIR"] = "/var/lib/sluice/models/a"
		}, "a crawler does not need"},
		"models lie where nothing is mounted": {func(t *testing.T, r *rendered) {
			named[*corev1.ConfigMap](t, r, "sluice-ingestor").Data["SLUICE_EMBED_DIR"] = "/models"
		}, "where nothing is mounted"},
		"models can be written": {func(t *testing.T, r *rendered) {
			for i, v := range named[deployment](t, r, "sluice-ingestor").Spec.Template.Spec.Volumes {
				if v.PersistentVolumeClaim != nil {
					named[deployment](t, r, "sluice-ingestor").Spec.Template.Spec.Volumes[i].PersistentVolumeClaim.ReadOnly = false
				}
			}
		}, "volume models is a claim that can be written"},
		"a setting does not exist": {func(t *testing.T, r *rendered) {
			named[*corev1.ConfigMap](t, r, "sluice-api").Data["SLUICE_LOGLEVEL"] = "warn"
		}, "SLUICE_LOGLEVEL, which is not in docs/configuration.md"},
		"a secret is in a ConfigMap": {func(t *testing.T, r *rendered) {
			named[*corev1.ConfigMap](t, r, "sluice-api").Data["OPENAI_API_KEY"] = "sk"
		}, "secret in a ConfigMap"},
		"a file lies where nothing is mounted": {func(t *testing.T, r *rendered) {
			named[*corev1.ConfigMap](t, r, "sluice-api").Data["NATS_CA"] = "/etc/ssl/ca.crt"
		}, "where nothing is mounted"},
		"a process listens on another port": {func(t *testing.T, r *rendered) {
			named[*corev1.ConfigMap](t, r, "sluice-ingestor").Data["SLUICE_ADDR"] = ":9000"
		}, "listens on"},
		"a Secret that nobody makes is read": {func(_ *testing.T, r *rendered) { delete(r.external, "sluice-engines") }, "Secret sluice-engines is not there"},
		"a budget guards nothing": {func(t *testing.T, r *rendered) {
			named[*policyv1.PodDisruptionBudget](t, r, "sluice-api").Spec.Selector.MatchLabels["app.kubernetes.io/component"] = "web"
		}, "does not guard one deployment"},
		"a service leads nowhere": {func(t *testing.T, r *rendered) {
			named[*corev1.Service](t, r, "sluice-api").Spec.Ports[0].TargetPort = intstr.FromString("web")
		}, "leads nowhere"},
		"an ingress leads to another service": {func(t *testing.T, r *rendered) {
			named[*networkingv1.Ingress](t, r, "sluice").Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name = "web"
		}, "Service that is not there"},
		"an autoscaler asks for another consumer": {func(t *testing.T, r *rendered) {
			named[*scaledObject](t, r, "sluice-ingestor").Spec.Triggers[0].Metadata["consumer"] = "ingest"
		}, `watches the consumers ["ingest" "worker-scan"]`},
		"an autoscaler overlooks scans": {func(t *testing.T, r *rendered) {
			s := named[*scaledObject](t, r, "sluice-ingestor")
			s.Spec.Triggers = s.Spec.Triggers[:1]
		}, `watches the consumers ["worker-ingest"]`},
		"an autoscaler has a key that its scaler does not read": {func(t *testing.T, r *rendered) {
			named[*scaledObject](t, r, "sluice-ingestor").Spec.Triggers[0].Metadata["threshold"] = "1"
		}, "the scaler has no threshold"},
		"two autoscalers fight": {func(t *testing.T, r *rendered) {
			named[*scaledObject](t, r, "sluice-ingestor").Spec.ScaleTargetRef.Name = "sluice-api"
		}, "which fight"},
		"replicas are said beside an autoscaler": {func(t *testing.T, r *rendered) {
			one := int32(1)
			named[deployment](t, r, "sluice-api").Spec.Replicas = &one
		}, "would undo"},
		"the crawler may reach private addresses": {func(t *testing.T, r *rendered) {
			block := webBlock(t, r)
			block.Except = block.Except[:1]
		}, "lets the crawler reach 10.0.0.0/8"},
		"what is taken out of a block is not in it": {func(t *testing.T, r *rendered) {
			block := webBlock(t, r)
			block.Except = append(block.Except, "fc00::/7")
		}, "not a part of"},
		"a worker may reach the database": {func(t *testing.T, r *rendered) {
			p, api := named[*networkingv1.NetworkPolicy](t, r, "sluice-ingestor"), named[*networkingv1.NetworkPolicy](t, r, "sluice-api")
			p.Spec.Egress = append(p.Spec.Egress, api.Spec.Egress[len(api.Spec.Egress)-1])
		}, "lets a worker reach the database"},
		"a worker may reach everything": {func(t *testing.T, r *rendered) {
			p := named[*networkingv1.NetworkPolicy](t, r, "sluice-ingestor")
			p.Spec.Egress = append(p.Spec.Egress, networkingv1.NetworkPolicyEgressRule{})
		}, "every port of every address"},
		"a process has no network policy": {func(t *testing.T, r *rendered) {
			named[*networkingv1.NetworkPolicy](t, r, "sluice-ingestor").Spec.PodSelector.MatchLabels["app.kubernetes.io/component"] = "api"
		}, "sluice-ingestor has 0 network policies"},
		"the API server would refuse a value": {func(t *testing.T, r *rendered) {
			named[deployment](t, r, "sluice-api").Spec.Template.Spec.Containers[0].ImagePullPolicy = "Sometimes"
		}, "spec.template.spec.containers[0].imagePullPolicy"},
		"the API server would miss a value": {func(t *testing.T, r *rendered) {
			named[deployment](t, r, "sluice-api").Spec.Selector = nil
		}, "spec.selector: Required value"},
		"a monitor watches nothing": {func(t *testing.T, r *rendered) {
			named[*monitoringv1.PodMonitor](t, r, "sluice-workers").Spec.Selector.MatchExpressions[0].Values = []string{"ingestor"}
		}, "sluice-crawler is watched by 0 monitors"},
		"a monitor asks a port that is not there": {func(t *testing.T, r *rendered) {
			named[*monitoringv1.ServiceMonitor](t, r, "sluice-api").Spec.Endpoints[0].Port = "metrics"
		}, "has no port metrics"},
		"the browser may reach something": {func(t *testing.T, r *rendered) {
			p := named[*networkingv1.NetworkPolicy](t, r, "sluice-browser")
			p.Spec.Egress = []networkingv1.NetworkPolicyEgressRule{{}}
		}, "lets the browser reach something"},
		"everyone may reach the browser": {func(t *testing.T, r *rendered) {
			named[*networkingv1.NetworkPolicy](t, r, "sluice-browser").Spec.Ingress[0].From = nil
		}, "sluice-browser lets everyone in"},
		"the browser is told a secret": {func(t *testing.T, r *rendered) {
			c := &named[deployment](t, r, "sluice-browser").Spec.Template.Spec.Containers[0]
			c.Env = append(c.Env, named[deployment](t, r, "sluice-crawler").Spec.Template.Spec.Containers[0].Env...)
		}, "the browser gets SLUICE_NATS_TOKEN"},
		"the browser may send UDP": {func(t *testing.T, r *rendered) {
			named[deployment](t, r, "sluice-browser").Spec.Template.Spec.Containers[0].Args = nil
		}, "runs without --webrtc"},
		"the crawler looks for the browser elsewhere": {func(t *testing.T, r *rendered) {
			named[*corev1.ConfigMap](t, r, "sluice-crawler").Data["CHROME_URL"] = "http://browser:9222"
		}, "the crawler looks for the browser at"},
		"an object is there twice": {func(_ *testing.T, r *rendered) { r.objects = append(r.objects, r.objects[0]) }, "is there twice"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := renderTest(t, "full")
			c.change(t, r)
			var f faults
			checkRelease(r, repo, &f)
			wantFault(t, f, c.want)
		})
	}
}

// webBlock returns the address block for the web in the crawler's network policy.
func webBlock(t *testing.T, r *rendered) *networkingv1.IPBlock {
	t.Helper()
	for _, rule := range named[*networkingv1.NetworkPolicy](t, r, "sluice-crawler").Spec.Egress {
		for _, peer := range rule.To {
			if peer.IPBlock != nil && peer.IPBlock.CIDR == "0.0.0.0/0" {
				return peer.IPBlock
			}
		}
	}
	t.Fatal("the crawler's policy does not let it reach the web")
	return nil
}

func TestADocumentThatIsNotItsKindIsAFault(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ document, want string }{
		"a field that does not exist": {"apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {port: 80}", `unknown field "port"`},
		"a field that comes twice":    {"apiVersion: v1\nkind: Service\nmetadata: {name: a, name: b}", "already set"},
		"a value of another type":     {"apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: 80}", "ports"},
		"a kind that is not known":    {"apiVersion: v1\nkind: Pod\nmetadata: {name: a}", "the kind Pod of v1"},
		"another version of a kind":   {"apiVersion: apps/v1beta1\nkind: Deployment\nmetadata: {name: a}", "apps/v1beta1"},
		"an unknown field of KEDA's":  {"apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: a}\nspec: {minReplicas: 1}", "minReplicas"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := decodeObject([]byte(c.document)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want one that says %q", err, c.want)
			}
		})
	}
}
