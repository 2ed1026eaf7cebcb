package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// settings maps the service's environment variables to whether they are secret.
type settings map[string]bool

// row matches a setting in the tables generated from pkg/config.
var row = regexp.MustCompile("(?m)^\\| `([A-Z][A-Z0-9_]*)` \\| ")

func readSettings(path string) (settings, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	known := settings{}
	for _, match := range row.FindAllStringSubmatch(string(text), -1) {
		known[match[1]] = isSecret(match[1])
	}
	if len(known) == 0 {
		return nil, fmt.Errorf("%s has no table of settings", path)
	}
	return known, nil
}

// runtimeVariables lists variables for the Go runtime or libraries, which are not Sluice settings.
var runtimeVariables = map[string]bool{"XDG_CACHE_HOME": true, "GOMEMLIMIT": true, "TZ": true}

func (s settings) check(f *faults, where, name string) {
	_, known := s[name]
	f.require(known || runtimeVariables[name], "%s sets %s, which is not in docs/configuration.md", where, name)
}

// isOffered reports whether the chart and the compose files must have a field for a setting, so that users don't have
// to add one. All settings for models and rerankers need one. Tuning parameters keep their defaults or go into the
// chart's free-form settings.
func isOffered(name string) bool {
	return name == "SLUICE_CHAT_MODEL" || name == "SLUICE_CHAT_FALLBACK" || strings.HasPrefix(name, "OPENAI_") || strings.HasPrefix(name, "AZURE_OPENAI_") ||
		strings.HasPrefix(name, "ANTHROPIC_") || strings.HasPrefix(name, "RERANK_") || strings.HasPrefix(name, "SLUICE_EMBED_")
}

// isQuerySetting reports whether only queries, and so only api processes, use a setting.
func isQuerySetting(name string) bool {
	return strings.HasPrefix(name, "RERANK_") || strings.HasPrefix(name, "AZURE_OPENAI_") || strings.HasPrefix(name, "ANTHROPIC_") || name == "SLUICE_CHAT_FALLBACK"
}

// isModelSetting reports whether a setting is for models or Milvus. Crawlers ignore such settings.
func isModelSetting(name string) bool { return isOffered(name) || strings.HasPrefix(name, "MILVUS_") }

// databaseSecrets are reserved for api processes, because workers read untrusted files.
var databaseSecrets = []string{"DATABASE_URL", "SLUICE_API_KEY"}

// isSecret reports whether a setting is secret. It goes by the name, because the settings table doesn't say.
func isSecret(name string) bool {
	return name == "DATABASE_URL" || name == "SLUICE_SECRET_KEY" || name == "SLUICE_ADMIN_KEY" || name == "SLUICE_CRAWL_PROXY" || strings.HasSuffix(name, "_API_KEY") || strings.HasSuffix(name, "_TOKEN") || strings.HasSuffix(name, "_PASSWORD")
}

// workerNames are the names of the workers' NATS queues.
type workerNames struct {
	stream string
	prefix string // prefix of consumer names; the kind of job follows
}

var (
	streamJobs = regexp.MustCompile(`StreamJobs\s*=\s*"([A-Z]+)"`)
	consumer   = regexp.MustCompile(`func ConsumerOf\(.*return "([a-z-]+)" \+ string\(`)
)

// readWorkerNames reads the names from the jobs package's source code. An autoscaler with an incorrect name would never
// scale anything.
func readWorkerNames(path string) (workerNames, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return workerNames{}, err
	}
	s, c := streamJobs.FindSubmatch(text), consumer.FindSubmatch(text)
	if s == nil || c == nil {
		return workerNames{}, errors.New(path + " does not name the stream of jobs or its consumers where they were looked for")
	}
	return workerNames{stream: string(s[1]), prefix: string(c[1])}, nil
}
