package app

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/control"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/ingest"
	"github.com/sluice/sluice/pkg/jobs"
	"github.com/sluice/sluice/pkg/originals"
)

// The adapters in this file let packages that do not know one another meet: each says what it needs in its own words.

// chunkers is the ingestor's view of the chunker.
type chunkers struct{ sized *chunk.Chunker }

func (c chunkers) Chunker(sizes domain.Chunking) ingest.Chunker { return c.sized.Sized(sizes) }

// firstReader is an ingestor's view of the store of originals: it reads what was uploaded before anybody else does.
type firstReader struct{ store *originals.Store }

// Get implements ingest.Originals.
func (f firstReader) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	return f.store.Take(ctx, key)
}

// uploads is the API's view of the store of originals.
type uploads struct {
	store *originals.Store
	max   int64
}

// Put implements api.Originals. Whatever keeps the store from taking content passes by itself: NATS is away, or its disk is
// full.
func (u uploads) Put(ctx context.Context, datasourceID, name, mimeType string, r io.Reader) (domain.Original, error) {
	o, err := u.store.Put(ctx, originals.UploadKey(datasourceID), r, originals.PutOptions{MaxBytes: u.max, MIMEType: mimeType, Name: name})
	if errors.Is(err, originals.ErrTooLarge) || errors.Is(err, originals.ErrExists) || errors.Is(err, originals.ErrCorrupt) {
		return o, err
	}
	return o, passing(err, "the store of originals takes nothing at the moment; try again shortly")
}

// Get implements api.Originals.
func (u uploads) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	content, err := u.store.Get(ctx, key)
	if errors.Is(err, originals.ErrNotFound) {
		return nil, &domain.Error{Code: domain.CodeNotFound, Message: "the original is no longer kept; what is searchable stays", Err: err}
	}
	if errors.Is(err, originals.ErrCorrupt) {
		return nil, err
	}
	return content, passing(err, "the store of originals does not answer; try again shortly")
}

// passing gives the fault of an engine the code that says that it passes, unless it has one or the caller has left.
func passing(err error, words string) error {
	var known *domain.Error
	if err == nil || errors.As(err, &known) || errors.Is(err, context.Canceled) {
		return err
	}
	return &domain.Error{Code: domain.CodeUnavailable, Message: words, Err: err}
}

func (u uploads) Delete(ctx context.Context, key string) error { return u.store.Delete(ctx, key) }

// chunkReader shows the chunks of a datasource's active generation.
type chunkReader struct {
	catalog *catalog.Catalog
	engines *engines
}

// Chunks implements api.ChunkReader. When the datastore moves while it is read, it is read again where it is now.
func (c chunkReader) Chunks(ctx context.Context, d domain.Datasource, from, limit int) ([]domain.Chunk, error) {
	for {
		active, err := c.catalog.Active(ctx, []string{d.ID})
		if err != nil {
			return nil, err
		}
		now := active[d.ID]
		if now.ActiveGeneration == 0 {
			return nil, nil
		}
		rows, err := c.rows(ctx, now, from, limit)
		if err == nil && len(rows) > 0 {
			return chunksOf(rows), nil
		}
		after, moved := c.catalog.Active(ctx, []string{d.ID})
		if moved != nil || after[d.ID].Place == now.Place && after[d.ID].ActiveGeneration == now.ActiveGeneration {
			return nil, errors.Join(err, moved)
		}
	}
}

func (c chunkReader) rows(ctx context.Context, d domain.ActiveDatasource, from, limit int) ([]index.Row, error) {
	idx, err := c.engines.index(d.Place.Engine)
	if err != nil {
		return nil, err
	}
	spaces, err := idx.Spaces(ctx, d.DatastoreID)
	if err != nil {
		return nil, passing(fmt.Errorf("finding where the rows lie: %w", err), chunksAway)
	}
	for _, space := range spaces {
		if space.Model != d.Place.Model {
			continue
		}
		if rows, err := idx.Rows(ctx, space, d.ID, d.ActiveGeneration, from, limit); err != nil || len(rows) > 0 {
			return rows, passing(err, chunksAway)
		}
	}
	return nil, nil
}

const chunksAway = "the index that holds the chunks does not answer; try again shortly"

func chunksOf(rows []index.Row) []domain.Chunk {
	chunks := make([]domain.Chunk, len(rows))
	for i, r := range rows {
		chunks[i] = domain.Chunk{Ordinal: r.Ordinal, Text: r.Text, Context: r.Context, Heading: r.Heading, Anchor: r.Anchor, Page: r.Page, Offset: r.Offset}
	}
	return chunks
}

// announcer tells watchers of changes: those of this process at once, those of other api processes through NATS.
type announcer struct {
	hub    *control.Hub
	broker *jobs.Broker
}

// Changed implements control.Watchers and api.Watcher.
func (a announcer) Changed(datastoreID, datasourceID string) {
	a.hub.Changed(datastoreID, datasourceID)
	a.broker.Announce(datastoreID, datasourceID)
}

// Watch implements api.Watcher.
func (a announcer) Watch(ctx context.Context, datastoreID string) (<-chan string, error) {
	return a.hub.Watch(ctx, datastoreID)
}

// listen passes on what other api processes announce, until ctx ends.
func (a announcer) listen(ctx context.Context) error {
	return a.broker.Announcements(ctx, a.hub.Changed)
}
