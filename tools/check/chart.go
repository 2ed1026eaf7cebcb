package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	commonutil "helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// Name and namespace of the Helm release to render, and the oldest supported Kubernetes version.
const (
	releaseName      = "sluice"
	releaseNamespace = "retrieval"
	minKubernetes    = "v1.30.0"
)

func checkChart(ctx context.Context, repo repository, f *faults) string {
	dir := repo.path("deployments", "helm", "sluice")
	sets, err := filepath.Glob(filepath.Join(dir, "ci", "*-values.yaml"))
	if err != nil || len(sets) == 0 {
		f.add("there are no values in %s/ci", dir)
		return ""
	}
	sort.Strings(sets)
	count, variables := 0, map[string]bool{}
	for _, set := range sets {
		name := strings.TrimSuffix(filepath.Base(set), "-values.yaml")
		values, err := common.ReadValuesFile(set)
		if err != nil {
			f.add("%s: %v", name, err)
			continue
		}
		for _, message := range lint.RunAll(dir, values, releaseNamespace).Messages {
			// Ignore messages less severe than a warning. The only one recommends an icon.
			f.require(message.Severity < support.WarningSev, "%s: lint: %v", name, message)
		}
		r, err := render(ctx, dir, values)
		if err != nil {
			f.add("%s: %v", name, err)
			continue
		}
		count += len(r.objects)
		collectVariables(r, variables)
		checkSecretsAreRefused(ctx, dir, name, values, repo, f)
		var found faults
		for _, fault := range r.faults {
			found.add("%s", fault)
		}
		checkRelease(r, repo, &found)
		for _, fault := range found {
			f.add("%s: %s", name, fault)
		}
	}
	for _, process := range []string{"api", "ingestor"} {
		for _, name := range sorted(repo.settings) {
			needs := isOffered(name) && (process == "api" || !isQuerySetting(name))
			f.require(variables[process+" "+name] || !needs, "no values file in ci makes the chart give %s its %s", process, name)
		}
	}
	return fmt.Sprintf("%d sets of values, %d objects", len(sets), count)
}

// collectVariables records which environment variables the chart sets for each process, in the format "api
// OPENAI_BASE_URL".
func collectVariables(r *rendered, variables map[string]bool) {
	for _, d := range all[*appsv1.Deployment](r.objects) {
		process := d.Spec.Template.Labels["app.kubernetes.io/component"]
		for _, c := range d.Spec.Template.Spec.Containers {
			for _, e := range c.Env {
				variables[process+" "+e.Name] = true
			}
			for _, from := range c.EnvFrom {
				if from.ConfigMapRef == nil {
					continue
				}
				settings, _ := configMap(r, from.ConfigMapRef.Name)
				for name := range settings {
					variables[process+" "+name] = true
				}
			}
		}
	}
}

// checkSecretsAreRefused checks that the chart's schema rejects secrets in `settings`, which ends up in a ConfigMap.
func checkSecretsAreRefused(ctx context.Context, dir, set string, values common.Values, repo repository, f *faults) {
	for _, name := range sorted(repo.settings) {
		if !repo.settings[name] {
			continue
		}
		with := maps.Clone(values)
		with["settings"] = map[string]any{name: composeSecret}
		_, err := render(ctx, dir, with)
		f.require(err != nil && strings.Contains(err.Error(), "settings"), "%s: values.schema.json lets settings hold %s", set, name)
	}
}

// rendered is the chart's output for one set of values.
type rendered struct {
	objects []object
	// Names of the Secrets that the values refer to but the chart doesn't create.
	external map[string]bool
	notes    string
	faults   faults
}

// render runs the chart's templates and decodes their output.
func render(ctx context.Context, dir string, values common.Values) (*rendered, error) {
	names, files, effective, err := execute(ctx, dir, values)
	if err != nil {
		return nil, err
	}
	r := &rendered{external: map[string]bool{}}
	collectSecrets(effective, r.external)
	for _, name := range names {
		switch base := filepath.Base(name); {
		case base == "NOTES.txt":
			r.notes = files[name]
		case strings.HasPrefix(base, "_"):
		default:
			r.decode(base, files[name])
		}
	}
	return r, nil
}

// printChart prints each rendered template below its name.
func printChart(ctx context.Context, root, set string, out io.Writer) error {
	dir := filepath.Join(root, "deployments", "helm", "sluice")
	values, err := common.ReadValuesFile(filepath.Join(dir, "ci", set+"-values.yaml"))
	if err != nil {
		return err
	}
	names, files, _, err := execute(ctx, dir, values)
	for _, name := range names {
		fmt.Fprintf(out, "# %s\n%s\n", name, files[name])
	}
	return err
}

// execute is like `helm template`, but missing values are errors. It returns the sorted names of the rendered files,
// their contents by name, and the values merged with the chart's defaults.
func execute(ctx context.Context, dir string, values common.Values) (names []string, files map[string]string, effective common.Values, err error) {
	chart, err := loader.Load(dir)
	if err != nil {
		return nil, nil, nil, err
	}
	version, err := common.ParseKubeVersion(minKubernetes)
	if err != nil {
		return nil, nil, nil, err
	}
	capabilities := common.DefaultCapabilities.Copy()
	capabilities.KubeVersion = *version
	top, err := commonutil.ToRenderValues(chart, values, common.ReleaseOptions{
		Name: releaseName, Namespace: releaseNamespace, Revision: 1, IsInstall: true,
	}, capabilities)
	if err != nil {
		return nil, nil, nil, err
	}
	effective, isValues := top["Values"].(common.Values)
	if !isValues {
		return nil, nil, nil, fmt.Errorf("the chart's values are a %T", top["Values"])
	}
	if files, err = (engine.Engine{Strict: true}).RenderWithContext(ctx, chart, top); err != nil {
		return nil, nil, nil, err
	}
	return slices.Sorted(maps.Keys(files)), files, effective, nil
}

// decode decodes the documents in a rendered template.
func (r *rendered) decode(source, text string) {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			r.faults.add("%s: %v", source, err)
			return
		}
		if isBlank(document) {
			continue
		}
		o, err := decodeObject(document)
		if err != nil {
			r.faults.add("%s: %v", source, err)
			continue
		}
		r.objects = append(r.objects, o)
	}
}

// isBlank reports whether a document contains only comments.
func isBlank(document []byte) bool {
	for line := range bytes.Lines(document) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && !bytes.Equal(line, []byte("---")) {
			return false
		}
	}
	return true
}

// collectSecrets collects the names of Secrets that the values refer to but the chart doesn't create.
func collectSecrets(values map[string]any, into map[string]bool) {
	for key, value := range values {
		switch v := value.(type) {
		case map[string]any:
			collectSecrets(v, into)
		case string:
			if (key == "existingSecret" || key == "secretName") && v != "" {
				into[v] = true
			}
		}
	}
}
