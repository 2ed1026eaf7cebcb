package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// settings are the environment variables that the service knows, each true when it is secret by its name.
type settings map[string]bool

// row is one setting in the tables that are generated from pkg/config.
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

// ofTheRuntime are variables that no setting stands for and that mean something to what the processes are built of.
var ofTheRuntime = map[string]bool{"XDG_CACHE_HOME": true, "GOMEMLIMIT": true, "TZ": true}

func (s settings) check(f *faults, where, name string) {
	_, known := s[name]
	f.must(known || ofTheRuntime[name], "%s sets %s, which is not in docs/configuration.md", where, name)
}

// offered reports whether the chart and the compose files have a place for a setting, so that it need not be added by hand:
// all that says which models and rerankers there are. What tunes a process is left to its defaults, or to the chart's settings.
func offered(name string) bool {
	return name == "SLUICE_CHAT_MODEL" || name == "SLUICE_CHAT_FALLBACK" || strings.HasPrefix(name, "OPENAI_") || strings.HasPrefix(name, "AZURE_OPENAI_") ||
		strings.HasPrefix(name, "ANTHROPIC_") || strings.HasPrefix(name, "RERANK_") || strings.HasPrefix(name, "SLUICE_EMBED_")
}

// ofQueries reports whether only queries need a setting, and so only api processes.
func ofQueries(name string) bool {
	return strings.HasPrefix(name, "RERANK_") || strings.HasPrefix(name, "AZURE_OPENAI_") || strings.HasPrefix(name, "ANTHROPIC_") || name == "SLUICE_CHAT_FALLBACK"
}

// ofModels reports whether a setting means nothing to a crawler.
func ofModels(name string) bool { return offered(name) || strings.HasPrefix(name, "MILVUS_") }

// databaseSecrets are what only api processes may hold: workers read untrusted files.
var databaseSecrets = []string{"DATABASE_URL", "SLUICE_API_KEY"}

// isSecret tells by the name, for the table does not say it.
func isSecret(name string) bool {
	return name == "DATABASE_URL" || name == "SLUICE_SECRET_KEY" || name == "SLUICE_CRAWL_PROXY" || strings.HasSuffix(name, "_API_KEY") || strings.HasSuffix(name, "_TOKEN") || strings.HasSuffix(name, "_PASSWORD")
}

// workerNames are the names under which the workers' queues are known to NATS.
type workerNames struct {
	stream string
	prefix string // before the kind of job, in the name of a consumer
}

var (
	streamJobs = regexp.MustCompile(`StreamJobs\s*=\s*"([A-Z]+)"`)
	consumer   = regexp.MustCompile(`func ConsumerOf\(.*return "([a-z-]+)" \+ string\(`)
)

// readWorkerNames reads them from the source of package jobs: an autoscaler that asks for another name never scales.
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
