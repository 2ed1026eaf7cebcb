package app

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/datadir"
	"github.com/sluice/sluice/pkg/embed/pull"
	"github.com/sluice/sluice/pkg/embed/transformer"
	"github.com/sluice/sluice/pkg/rerank"
	"github.com/sluice/sluice/pkg/telemetry/instrument"
)

// Default time a query may spend on reranking in this process. That is enough for two CPUs to score about 50 chunks
// with a six-layer model.
const localRerankBudget = 300 * time.Millisecond

// openReranker opens the reranker at RERANK_URL or, if that is not set, the configured model in this process. It
// returns nil if neither is configured.
func openReranker(c config.Config, now func() time.Time, log *slog.Logger) (instrument.Model, error) {
	if c.RerankURL != "" { // no health check, because only the order of results depends on the reranker
		client, err := rerank.New(rerank.Config{URL: c.RerankURL, APIKey: c.RerankKey, Model: c.RerankModel})
		if err != nil {
			return nil, fmt.Errorf("RERANK_URL: %w", err)
		}
		return client, nil
	}
	if c.RerankModel == "" {
		return nil, nil
	}
	directory := rerankerDirectory(c)
	began := time.Now()
	encoder, err := transformer.OpenCrossEncoder(transformer.CrossEncoderConfig{Directory: directory})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, missingReranker(c, directory)
	}
	if err != nil {
		return nil, fmt.Errorf("RERANK_MODEL is %q: %w", c.RerankModel, err)
	}
	name := filepath.Base(directory)
	log.Info("reranker loaded", "model", name, "directory", directory, "instructions", encoder.Kernel(), "after", time.Since(began).Round(time.Millisecond))
	return rerank.NewLocal(name, encoder, now), nil
}

// rerankerDirectory returns the directory of the model named in RERANK_MODEL. The setting is a path, the name of a
// directory in the data directory, or the publisher's name for a model there.
func rerankerDirectory(c config.Config) string {
	name := c.RerankModel
	if m, ok := pull.Find(name); ok {
		name = m.Name
	} else if filepath.Base(name) != name || name == "." || name == ".." {
		return filepath.Clean(name)
	}
	return filepath.Join(c.DataDir, datadir.Models, name)
}

// missingReranker returns the error for a reranker whose directory does not exist.
func missingReranker(c config.Config, directory string) error {
	var names []string
	for _, m := range pull.Known() {
		if m.Kind != pull.Reranker {
			continue
		}
		if names = append(names, m.Name); filepath.Base(directory) == m.Name {
			return fmt.Errorf("RERANK_MODEL is %q, but %s does not exist: run sluice models pull %s", c.RerankModel, directory, m.Name)
		}
	}
	return fmt.Errorf("RERANK_MODEL is %q, but %s does not exist: set RERANK_URL for a model on a server, put the model's directory there, or run sluice models pull with one of %s",
		c.RerankModel, directory, strings.Join(names, ", "))
}

func rerankBudget(c config.Config) time.Duration {
	if c.RerankURL != "" {
		return cmp.Or(c.RerankBudget, rerank.DefaultTimeout)
	}
	return cmp.Or(c.RerankBudget, localRerankBudget)
}
