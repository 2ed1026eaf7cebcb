package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/embed/transformer"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/ingest"
)

// countTokens reads and chunks the files as the service does. It returns how many tokens the model embeds, and how many
// are lost because a text is too long for the model and is truncated.
func countTokens(ctx context.Context, g inputFiles, model string) (tokens, cut int, err error) {
	embedder, err := transformer.Open(transformer.Config{Directory: model})
	if err != nil {
		return 0, 0, err
	}
	extractor := extract.New(extract.Options{})
	defer extractor.Close()
	chunker := chunk.New(chunk.Options{})
	for _, path := range g.paths {
		doc, err := extractor.Extract(ctx, extract.Request{Path: path, Name: filepath.Base(path)})
		if refused := (*extract.Error)(nil); errors.As(err, &refused) {
			continue // nor did the service read it
		}
		if err != nil {
			return 0, 0, fmt.Errorf("reading %s: %w", path, err)
		}
		if doc.Title == "" {
			doc.Title = filepath.Base(path)
		}
		chunks, err := chunker.Chunks(doc)
		if err != nil {
			return 0, 0, fmt.Errorf("cutting %s: %w", path, err)
		}
		for _, c := range chunks {
			n := embedder.Tokens(ingest.EmbeddedText(c.Context, c.Text))
			tokens += min(n, embedder.MaxTokens())
			cut += max(n-embedder.MaxTokens(), 0)
		}
	}
	return tokens, cut, nil
}
