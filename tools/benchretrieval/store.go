package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/sluice/sluice/pkg/eval"
	"github.com/sluice/sluice/pkg/eval/service"
)

// How much one request hands in.
const (
	batchDocuments = 50
	batchBytes     = 4 << 20
)

// content is what a datastore of the bench holds.
type content struct {
	name      string // of what, without engine and model
	chunking  *service.Chunking
	documents []service.Document
}

// datastore returns the datastore with the content on the engine, all of it searchable. One that an earlier run has left
// complete is taken as it is, one that it has left in pieces is filled.
func (b *bench) datastore(ctx context.Context, s settings, c content, engine string, errs io.Writer) (string, error) {
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
	if err := b.fill(ctx, id, c.documents); err != nil {
		return "", fmt.Errorf("filling %q: %w", name, err)
	}
	there, err = b.synched(ctx, id)
	if err == nil && there != len(c.documents) {
		err = fmt.Errorf("of %d documents of %q only %d could be taken in", len(c.documents), name, there)
	}
	return id, err
}

func (b *bench) fill(ctx context.Context, id string, documents []service.Document) error {
	var batch []service.Document
	size := 0
	send := func() error {
		if len(batch) == 0 {
			return nil
		}
		_, err := b.Upsert(ctx, id, batch)
		batch, size = batch[:0], 0
		return err
	}
	for _, d := range documents {
		if len(batch) == batchDocuments || size+len(d.Text) > batchBytes {
			if err := send(); err != nil {
				return err
			}
		}
		batch, size = append(batch, d), size+len(d.Text)
	}
	return errors.Join(send(), b.Settled(ctx, id))
}

func (b *bench) synched(ctx context.Context, id string) (int, error) {
	n := 0
	err := b.Datasources(ctx, id, "synched", func(service.Datasource) error { n++; return nil })
	return n, err
}

// modelName tells the datastores of one model from those of another.
func modelName(s settings) string {
	if s.model == "" {
		return "built-in"
	}
	return filepath.Base(filepath.Dir(s.model)) + "/" + filepath.Base(s.model)
}

// maxName is the number of characters that the service accepts in a name.
const maxName = 500

// nameOf returns the title of a document, or its id if it has none. A longer title is cut.
func nameOf(d eval.Document) string {
	name := []rune(or(strings.TrimSpace(d.Title), d.ID))
	return string(name[:min(len(name), maxName)])
}

// whole are a collection's documents as a user would hand them in: the title as the name, and the id where there is none.
// A document without any text cannot be handed in.
func (c collection) whole() []service.Document {
	var out []service.Document
	for _, d := range c.documents {
		text := d.Text
		if strings.TrimSpace(text) == "" {
			text = d.Title
		}
		if strings.TrimSpace(text) != "" {
			out = append(out, service.Document{CustomID: d.ID, Name: nameOf(d), Text: text})
		}
	}
	return out
}
