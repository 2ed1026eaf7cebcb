package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"sort"
	"strings"

	"sigs.k8s.io/yaml"
)

// settingName matches words that can only be setting names.
var settingName = regexp.MustCompile(`\b(SLUICE_[A-Z0-9_]*[A-Z0-9]|NATS_(?:URL|CREDS|CA|CERT|KEY)|MILVUS_[A-Z_]*[A-Z]|OPENAI_[A-Z_]*[A-Z]|AZURE_OPENAI_[A-Z_]*[A-Z]|ANTHROPIC_[A-Z_]*[A-Z]|RERANK_[A-Z_]*[A-Z]|DATABASE_URL)\b`)

// chartRow matches a row in the documentation's table of chart values. An asterisk in the name stands for every
// process.
var chartRow = regexp.MustCompile("(?m)^\\| `([a-zA-Z.*]+)` \\|")

// checkDocuments compares the setting names and the table of values in the documentation with the code. It returns a
// summary.
func checkDocuments(_ context.Context, repo repository, f *faults) string {
	readme := repo.path("deployments", "helm", "sluice", "README.md")
	for _, path := range []string{repo.path("docs", "deployment.md"), readme, repo.path("deployments", "compose", ".env.example"), repo.path("deployments", "helm", "sluice", "values.yaml")} {
		text, err := os.ReadFile(path)
		if err != nil {
			f.add("%v", err)
			continue
		}
		named := map[string]bool{}
		for _, match := range settingName.FindAllString(string(text), -1) {
			named[match] = true
		}
		for _, name := range sorted(named) {
			// SLUICE_API_SERVICE_HOST is not a setting. Kubernetes sets it, and the documentation only warns about it.
			if name != "SLUICE_API_SERVICE_HOST" {
				repo.settings.check(f, path, name)
			}
		}
	}
	listed := map[string]bool{}
	if text, err := os.ReadFile(readme); err == nil {
		for _, match := range chartRow.FindAllStringSubmatch(string(text), -1) {
			if rest, is := strings.CutPrefix(match[1], "*."); is {
				for _, process := range processes {
					listed[process+"."+rest] = true
				}
				continue
			}
			listed[match[1]] = true
		}
	}
	values, err := leaves(repo.path("deployments", "helm", "sluice", "values.yaml"))
	if err != nil {
		f.add("%v", err)
	}
	for _, name := range sorted(values) {
		f.require(listed[name], "%s does not list the value %s", readme, name)
	}
	for _, name := range sorted(listed) {
		f.require(values[name], "%s lists %s, which is no value", readme, name)
	}
	return fmt.Sprintf("%d values of the chart", len(values))
}

// freeFormKeys lists keys whose contents are up to the user or Kubernetes. The documentation doesn't list their
// contents.
var freeFormKeys = map[string]bool{"settings": true, "resources": true, "to": true, "from": true}

// leaves returns the paths to all leaves in a values file.
func leaves(path string) (map[string]bool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var values map[string]any
	if err := yaml.UnmarshalStrict(text, &values); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	out := map[string]bool{}
	var walk func(prefix string, values map[string]any)
	walk = func(prefix string, values map[string]any) {
		for key, value := range values {
			inside, nested := value.(map[string]any)
			if nested && len(inside) > 0 && !freeFormKeys[key] {
				walk(prefix+key+".", inside)
				continue
			}
			out[prefix+key] = true
		}
	}
	walk("", values)
	return out, nil
}

func sorted(set map[string]bool) []string {
	names := make([]string, 0, len(set))
	for name := range set {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
