// Package trial measures alternative datastore settings, so that suggestions are based on measurements. For each
// setting, it copies the datastore's content to a temporary datastore.
package trial

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/eval/compare"
	"github.com/sluice/sluice/pkg/eval/service"
)

// Limits on a trial.
const (
	MaxSettings  = 4       // settings per trial
	maxDocuments = 1000    // documents to copy, all in one request
	maxBytes     = 8 << 20 // bytes of text to copy
	cleanup      = time.Minute
)

// Name given to the temporary datastores.
const temporary = "sluice eval (temporary)"

// Setting is a setting to try.
type Setting struct {
	ChunkTokens int    // target chunk size in tokens; 0 means the datastore's
	Model       string // embedding model; "" means the datastore's
}

// Parse parses a setting: chunk=256 or model=ID.
func Parse(text string) (Setting, error) {
	name, value, _ := strings.Cut(text, "=")
	switch n, err := strconv.Atoi(value); {
	case name == "chunk" && err == nil && n > 0:
		return Setting{ChunkTokens: n}, nil
	case name == "model" && value != "":
		return Setting{Model: value}, nil
	}
	return Setting{}, fmt.Errorf("%q is not a setting; use chunk=TOKENS or model=ID", text)
}

// String returns the setting as reports show it.
func (s Setting) String() string {
	if s.Model != "" {
		return "model " + s.Model
	}
	return fmt.Sprintf("chunks of %d tokens", s.ChunkTokens)
}

// Service lists the methods of service.Service that a trial needs.
type Service interface {
	compare.Searcher
	Datasources(ctx context.Context, datastoreID, status string, each func(service.Datasource) error) error
	Chunks(ctx context.Context, datasourceID string, each func(service.Chunk) error) error
	CreateDatastore(ctx context.Context, d service.NewDatastore) (service.Datastore, error)
	DeleteDatastore(ctx context.Context, id string) error
	Upsert(ctx context.Context, datastoreID string, documents []service.Document) ([]string, error)
	Settled(ctx context.Context, datastoreID string) error
}

// Run copies a datastore's texts to temporary datastores, one with the current settings and one for each of `settings`,
// and runs the cases in all of them with hybrid search. In the report, the Hybrid mode stands for the current settings,
// and every other setting has a mode named after it. Cases with filters are skipped, because the copies have no
// metadata.
//
// Run fails if the datastore is too large to copy. It deletes the copies before it returns, even if ctx is done.
func Run(ctx context.Context, s Service, store service.Datastore, cases []compare.Case, settings []Setting, o compare.Options) (report compare.Report, err error) {
	documents, err := texts(ctx, s, store.ID)
	if err != nil {
		return report, err
	}
	var without []compare.Case
	for _, c := range cases {
		if c.Filters() == nil {
			without = append(without, c)
		}
	}
	copies := &copies{Service: s, stores: map[string]string{}, originals: map[string]string{}}
	defer func() { err = errors.Join(err, copies.delete(ctx)) }()
	o.Modes = []compare.Mode{compare.Hybrid}
	all := append([]Setting{{ChunkTokens: store.ChunkTokens}}, settings...)
	for i, setting := range all {
		mode := compare.Mode(setting.String())
		if i == 0 {
			mode = compare.Hybrid
		} else {
			o.Modes = append(o.Modes, mode)
		}
		d := service.NewDatastore{Name: temporary, Type: store.Type, EmbeddingModel: store.EmbeddingModel, Chunking: &service.Chunking{TargetTokens: store.ChunkTokens}}
		if setting.Model != "" {
			d.EmbeddingModel = setting.Model
		} else {
			d.Chunking.TargetTokens = setting.ChunkTokens
		}
		if err := copies.add(ctx, string(mode), d, documents); err != nil {
			return report, fmt.Errorf("trying %s: %w", setting, err)
		}
	}
	return compare.Run(ctx, copies, without, o)
}

// texts returns the text of every searchable document in the datastore. Each document's custom id is the id of its
// datasource. texts fails if there is too much text.
func texts(ctx context.Context, s Service, datastoreID string) (all []service.Document, err error) {
	size := 0
	err = s.Datasources(ctx, datastoreID, "synched", func(d service.Datasource) error {
		if d.Chunks == 0 {
			return nil
		}
		var parts []string
		err := s.Chunks(ctx, d.ID, func(c service.Chunk) error {
			if size += len(c.Text); size > maxBytes {
				return fmt.Errorf("the datastore has more than %d MiB of text, which is too much for a trial; use a datastore with part of the content", maxBytes>>20)
			}
			parts = append(parts, c.Text)
			return nil
		})
		if all = append(all, service.Document{CustomID: d.ID, Name: d.Name, Text: strings.Join(parts, "\n\n")}); err == nil && len(all) > maxDocuments {
			err = fmt.Errorf("the datastore has more than %d documents, which is too many for a trial; use a datastore with part of the content", maxDocuments)
		}
		return err
	})
	if err == nil && len(all) == 0 {
		err = errors.New("the datastore has no searchable text to test settings on")
	}
	return all, err
}

// copies is a Searcher that sends each query to the temporary datastore that belongs to the query's mode.
type copies struct {
	Service
	stores    map[string]string // ids by mode
	originals map[string]string // ids of original datasources by their copies' ids
}

// add creates the temporary datastore for a mode, uploads the documents and waits until they are searchable.
func (c *copies) add(ctx context.Context, mode string, d service.NewDatastore, documents []service.Document) error {
	made, err := c.CreateDatastore(ctx, d)
	if err != nil {
		return err
	}
	c.stores[mode] = made.ID
	ids, err := c.Upsert(ctx, made.ID, documents)
	if err != nil {
		return err
	}
	if len(ids) != len(documents) {
		return fmt.Errorf("the service stored %d of %d documents", len(ids), len(documents))
	}
	for i, id := range ids {
		c.originals[id] = documents[i].CustomID
	}
	return c.Settled(ctx, made.ID)
}

// Query implements compare.Searcher.
func (c *copies) Query(ctx context.Context, _ string, q service.Query) ([]service.Fragment, error) {
	store := c.stores[q.Mode]
	q.Mode = string(compare.Hybrid)
	found, err := c.Service.Query(ctx, store, q)
	for i, f := range found {
		found[i].DatasourceID = c.originals[f.DatasourceID]
	}
	return found, err
}

func (c *copies) delete(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanup)
	defer cancel()
	for id := range maps.Values(c.stores) {
		if failed := c.DeleteDatastore(ctx, id); failed != nil {
			err = errors.Join(err, fmt.Errorf("deleting the temporary datastore %s (%q): %w", id, temporary, failed))
		}
	}
	return err
}
