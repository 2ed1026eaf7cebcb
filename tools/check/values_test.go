package main

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"helm.sh/helm/v4/pkg/chart/common"
)

// enough is the minimal set of values for the chart.
const enough = `
nats: {urls: ["nats://nats:4222"]}
milvus: {address: "milvus:19530"}
secrets: {api: {existingSecret: sluice-database}}
`

func TestValuesThatMakeNoSenseAreRefusedByName(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ values, want string }{
		"nothing at all":                    {"", "secrets.api.databaseURL"},
		"no NATS":                           {`{milvus: {address: "milvus:19530"}, secrets: {api: {existingSecret: a}}}`, "nats.urls"},
		"no Milvus":                         {`{nats: {urls: ["nats://nats:4222"]}, secrets: {api: {existingSecret: a}}}`, "milvus.address"},
		"no database":                       {`{nats: {urls: ["nats://nats:4222"]}, milvus: {address: "milvus:19530"}}`, "secrets.api.databaseURL"},
		"a value that does not exist":       {enough + "replicas: 3", "replicas"},
		"a password in an address of NATS":  {`{nats: {urls: ["nats://user:password@nats:4222"]}}`, "urls"},
		"a secret among the settings":       {enough + "settings: {OPENAI_API_KEY: sk}", "settings"},
		"the operator's key in settings":    {enough + "api: {settings: {SLUICE_ADMIN_KEY: 0123456789abcdef}}", "settings"},
		"a short operator's key":            {enough + "secrets: {api: {adminKey: short}}", "adminKey"},
		"KEDA without its source":           {enough + "ingestor: {autoscaling: {mode: keda}}", "keda.monitoringEndpoint"},
		"models from two volumes":           {enough + "models: {directory: {existingClaim: a, image: \"a:1\"}}", "models.directory"},
		"a model without a volume":          {enough + "models: {directory: {path: all-MiniLM-L6-v2}}", "models.directory.path"},
		"a model outside its volume":        {enough + "models: {directory: {existingClaim: a, path: ../../etc}}", "path"},
		"models of an image without a tag":  {enough + "models: {directory: {image: \"registry:5000/models\"}}", "image"},
		"a password in the reranker's url":  {enough + "rerank: {url: \"https://user:password@reranker\"}", "url"},
		"an api that KEDA scales":           {enough + "api: {autoscaling: {mode: keda}}", "mode"},
		"an HPA that begins at zero":        {enough + "ingestor: {autoscaling: {mode: hpa, min: 0}}", "min"},
		"a short key":                       {enough + "secrets: {api: {apiKey: sk_short}}", "apiKey"},
		"two copies of every message":       {enough + "nats: {replicas: 2}", "replicas"},
		"an ingress without a host":         {enough + "ingress: {enabled: true}", "ingress.host"},
		"a client certificate without key":  {enough + "nats: {urls: [\"tls://nats:4222\"], tls: {existingSecret: a, certKey: tls.crt}}", "nats.tls.keyKey"},
		"a pause before the end that fails": {enough + "ingestor: {terminationGracePeriodSeconds: 1}", "terminationGracePeriodSeconds"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			values, err := common.ReadValues([]byte(c.values)) // if a key occurs twice, the last one wins
			if err != nil {
				t.Fatal(err)
			}
			if _, err := render(t.Context(), chartDir, values); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want one that names %q", err, c.want)
			}
		})
	}
}

func TestTheNotesWarnOfAWindowThatIsTooSmallForTheWorkers(t *testing.T) {
	t.Parallel()
	for set, warned := range map[string]bool{"keda": true, "full": false, "minimal": false} {
		notes := renderTest(t, set).notes
		if got := strings.Contains(notes, "ingestor cannot grow to"); got != warned {
			t.Errorf("%s: the notes warn of the window: %t, want %t\n%s", set, got, warned, notes)
		}
	}
}

func TestSettingsRenderAsTheyAreGiven(t *testing.T) {
	t.Parallel()
	const name = "SLUICE_LIMIT_RATE"
	for title, c := range map[string]struct{ settings, component, want string }{
		"a component's false":       {"true", "false", "false"},
		"a component's zero":        {"5", "0", "0"},
		"a component's empty text":  {"5", `""`, ""},
		"a component's number":      {"false", "7", "7"},
		"the setting of all":        {"true", "", "true"},
		"a false for all":           {"false", "", "false"},
		"a fraction":                {"0.5", "", "0.5"},
		"a small fraction":          {"5", "0.00002", "0.00002"},
		"a large fraction":          {"1234567.25", "", "1234567.25"},
		"a large number":            {"20000000", "", "20000000"},
		"a large component's":       {"1", "107374182400", "107374182400"},
		"a negative number":         {"-1000000", "", "-1000000"},
		"a number as text":          {`"1e6"`, "", "1e6"},
		"an empty text for all":     {`""`, "", ""},
		"a zero for all":            {"0", "", "0"},
		"a component's false alone": {"", "false", "false"},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			text := enough
			if c.settings != "" {
				text += "settings: {" + name + ": " + c.settings + "}\n"
			}
			if c.component != "" {
				text += "crawler: {settings: {" + name + ": " + c.component + "}}\n"
			}
			values, ok := configMap(renderValues(t, text), "sluice-crawler")
			got, has := values[name]
			if !ok || got != c.want || has != (c.want != "") {
				t.Errorf("%s is %q (set: %t), want %q", name, got, has, c.want)
			}
		})
	}
}

func TestSettingsOverrideValuesOfTheChart(t *testing.T) {
	t.Parallel()
	r := renderValues(t, enough+"api: {settings: {SLUICE_NATS_REPLICAS: 1}}\ningestor: {settings: {SLUICE_NATS_REPLICAS: \"\"}}\n")
	for component, want := range map[string]string{"api": "1", "ingestor": "", "crawler": "3"} {
		if values, _ := configMap(r, "sluice-"+component); values["SLUICE_NATS_REPLICAS"] != want {
			t.Errorf("%s: SLUICE_NATS_REPLICAS is %q, want %q", component, values["SLUICE_NATS_REPLICAS"], want)
		}
	}
}

func TestALargeNumberInAFileStaysANumber(t *testing.T) {
	t.Parallel()
	values, ok := configMap(renderTest(t, "hpa"), "sluice-retrieval-api")
	if !ok || values["SLUICE_QUOTA_TOKENS"] != "20000000" {
		t.Errorf("SLUICE_QUOTA_TOKENS is %q", values["SLUICE_QUOTA_TOKENS"])
	}
}

func TestTheNotesReadTheWindowOfTheAPI(t *testing.T) {
	t.Parallel()
	const keda = enough + `
keda: {monitoringEndpoint: "nats:8222"}
ingestor: {autoscaling: {mode: keda, max: 40, lag: 16}}
`
	for settings, warned := range map[string]bool{
		"settings: {SLUICE_WINDOW: 640}":                                           false,
		"settings: {SLUICE_WINDOW: 64}\napi: {settings: {SLUICE_WINDOW: 640}}":     false,
		"settings: {SLUICE_WINDOW: 640}\napi: {settings: {SLUICE_WINDOW: 0}}":      true,
		"settings: {SLUICE_WINDOW: 640}\napi: {settings: {SLUICE_WINDOW: \"\"}}":   true,
		"settings: {SLUICE_WINDOW: 2000000}\napi: {settings: {SLUICE_WORKERS: 1}}": false,
	} {
		if got := strings.Contains(renderValues(t, keda+settings).notes, "ingestor cannot grow to"); got != warned {
			t.Errorf("%s: the notes warn of the window: %t, want %t", settings, got, warned)
		}
	}
}

func TestTheNotesWarnOfMetricsThatNobodyMayRead(t *testing.T) {
	t.Parallel()
	for values, warned := range map[string]bool{
		"monitoring: {enabled: true}": true,
		"monitoring: {enabled: true}\nnetworkPolicy: {metrics: {from: [{podSelector: {}}]}}": false,
		"monitoring: {enabled: true}\nnetworkPolicy: {enabled: false}":                       false,
		"monitoring: {enabled: false}":                                                       false,
	} {
		if got := strings.Contains(renderValues(t, enough+values).notes, "networkPolicy.metrics.from"); got != warned {
			t.Errorf("%s: the notes warn of metrics: %t, want %t", values, got, warned)
		}
	}
}

func TestOnlyTheAPIGetsTheCertificateOfPostgreSQL(t *testing.T) {
	t.Parallel()
	r := renderTest(t, "full")
	for _, component := range processes {
		mounted := false
		for _, m := range named[*appsv1.Deployment](t, r, "sluice-"+component).Spec.Template.Spec.Containers[0].VolumeMounts {
			mounted = mounted || m.MountPath == "/etc/sluice/postgres-tls"
		}
		if mounted != (component == "api") {
			t.Errorf("%s: the certificate of PostgreSQL is mounted: %t", component, mounted)
		}
	}
}

func TestTheCollectorOfTracesIsReachedOnlyIfItHasAPort(t *testing.T) {
	t.Parallel()
	for set, want := range map[string]bool{"full": true, "minimal": false} {
		for _, component := range processes {
			reached := false
			for _, rule := range named[*networkingv1.NetworkPolicy](t, renderTest(t, set), "sluice-"+component).Spec.Egress {
				for _, port := range rule.Ports {
					reached = reached || port.Port.IntValue() == 4318 && len(rule.To) == 1
				}
			}
			if reached != want {
				t.Errorf("%s: %s may reach the collector: %t, want %t", set, component, reached, want)
			}
		}
	}
}
