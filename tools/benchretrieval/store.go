package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/eval/service"
)

// content is the intended content of a datastore: its documents, and how to chunk them.
type content struct {
	name      string // without engine and model
	chunking  *service.Chunking
	documents []service.Document
}

// datastore returns the id of a datastore with content c on `engine`. It reuses a complete one from an earlier run, or
// fills a new one and waits until everything is searchable.
func (b *measured) datastore(ctx context.Context, s settings, c content, engine string, errs io.Writer) (string, error) {
	name := fmt.Sprintf("%s, %s, %s", c.name, engine, modelName(s))
	var id string
	err := b.Datastores(ctx, func(d service.Datastore) error {
		if d.Name == name {
			id = d.ID
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	if id == "" {
		made, err := b.CreateDatastore(ctx, service.NewDatastore{Name: name, Type: engine, Chunking: c.chunking})
		if err != nil {
			return "", fmt.Errorf("making datastore %q: %w", name, err)
		}
		id = made.ID
	}
	there, err := b.synched(ctx, id)
	if err != nil {
		return "", err
	}
	if there == len(c.documents) {
		return id, nil
	}
	fmt.Fprintf(errs, "%s: taking in %d documents …\n", name, len(c.documents))
	if err := b.Fill(ctx, id, slices.Values(c.documents)); err != nil {
		return "", fmt.Errorf("filling %q: %w", name, err)
	}
	there, err = b.synched(ctx, id)
	if err == nil && there != len(c.documents) {
		err = fmt.Errorf("only %[3]d of %[1]d documents of %[2]q could be processed", len(c.documents), name, there)
	}
	return id, err
}

func (b *measured) synched(ctx context.Context, id string) (int, error) {
	n := 0
	err := b.Datasources(ctx, id, "synched", func(service.Datasource) error { n++; return nil })
	return n, err
}

// modelName returns the embedding model's part of a datastore's name.
func modelName(s settings) string {
	if s.model == "" {
		return "built-in"
	}
	if name := filepath.Base(s.model); strings.HasPrefix(name, builtinPrefix) {
		return name
	}
	return filepath.Base(filepath.Dir(s.model)) + "/" + filepath.Base(s.model)
}
