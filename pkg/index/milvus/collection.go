package milvus

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/milvus-io/milvus-proto/go-api/v2/milvuspb"
	"github.com/milvus-io/milvus-sdk-go/v2/client"
	"github.com/milvus-io/milvus-sdk-go/v2/entity"

	"github.com/sluice/sluice/pkg/index"
)

// collection is an open collection: it exists, has an index and is loaded.
type collection struct {
	name       string
	model      string
	dimensions int              // the space's dimensions; the dense field may have more
	sparse     bool             // it has sparse vectors
	dense      entity.IndexType // determines the search parameters
}

// collections caches open collections. Within this process, only one goroutine at a time opens a collection, but
// another process may be opening it too, so every step is idempotent.
type collections struct {
	mu      sync.Mutex
	open    map[string]*collection
	opening map[string]chan struct{}
}

// lock keeps other callers from opening the collection until `unlock` is called.
func (c *collections) lock(ctx context.Context, name string) (unlock func(), err error) {
	c.mu.Lock()
	if c.opening == nil {
		c.opening, c.open = make(map[string]chan struct{}), make(map[string]*collection)
	}
	permit, ok := c.opening[name]
	if !ok {
		permit = make(chan struct{}, 1)
		c.opening[name] = permit
	}
	c.mu.Unlock()
	select {
	case permit <- struct{}{}:
		return func() { <-permit }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (c *collections) get(name string) *collection {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open[name]
}

func (c *collections) put(col *collection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[col.name] = col
}

// forget removes a collection from the cache, unless it has been reopened since.
func (c *collections) forget(col *collection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[col.name] == col {
		delete(c.open, col.name)
	}
}

// use calls f with a space's collection. If the collection was dropped or released, use reopens it and calls f once
// more. If it is missing and `create` is not set, the returned error satisfies isNotFound.
func (x *Index) use(ctx context.Context, s index.Space, create bool, f func(*collection) error) error {
	if s.Dimensions < 0 || s.Dimensions > index.MaxDimensions {
		return fmt.Errorf("%w: the vectors have %d dimensions; 0 to %d are supported", index.ErrInvalid, s.Dimensions, index.MaxDimensions)
	}
	var plan func(sparse bool) *entity.Schema
	name := collectionName(x.opts.Prefix, s)
	if create {
		plan = func(sparse bool) *entity.Schema { return schema(name, s, sparse) }
	}
	return x.useName(ctx, name, plan, f)
}

// useName is like use, but takes the collection's name. `plan` returns the schema for a new collection; if `plan` is
// nil, none is created.
func (x *Index) useName(ctx context.Context, name string, plan func(sparse bool) *entity.Schema, f func(*collection) error) error {
	for again := false; ; again = true {
		col, err := x.collection(ctx, name, plan)
		if err != nil {
			return err
		}
		if err = f(col); err == nil || again || !isNotFound(err) && !isNotLoaded(err) {
			return err
		}
		x.collections.forget(col)
	}
}

// collection returns an open collection, opening it if necessary.
func (x *Index) collection(ctx context.Context, name string, plan func(sparse bool) *entity.Schema) (*collection, error) {
	if col := x.collections.get(name); col != nil {
		return col, nil
	}
	unlock, err := x.collections.lock(ctx, name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if col := x.collections.get(name); col != nil {
		return col, nil
	}
	ctx, cancel := context.WithTimeout(ctx, x.opts.LoadTimeout)
	defer cancel()
	described, err := x.describe(ctx, name)
	if isNotFound(err) && plan != nil {
		described, err = x.create(ctx, name, plan)
	}
	if err != nil {
		return nil, err
	}
	about, err := checkSchema(described.Schema)
	if err != nil {
		return nil, err
	}
	col := &collection{name: name, model: about.Model, dimensions: about.Dimensions, sparse: hasSparse(described.Schema)}
	if col.dense, err = x.indexDense(ctx, name); err != nil {
		return nil, err
	}
	if col.sparse {
		if err := x.indexSparse(ctx, name); err != nil {
			return nil, err
		}
	}
	if err := x.load(ctx, name); err != nil {
		return nil, err
	}
	if srv, err := x.server(ctx); err == nil && srv.sparse && !col.sparse {
		x.opts.Log.Warn("the collection was created by a server without sparse vectors, so only vectors can be searched; drop the collection and run sluice repair", "collection", name)
	}
	x.collections.put(col)
	return col, nil
}

func (x *Index) describe(ctx context.Context, name string) (out *entity.Collection, err error) {
	err = x.call(ctx, fmt.Sprintf("describing collection %q", name), func(ctx context.Context, srv *server) (err error) {
		out, err = srv.DescribeCollection(ctx, name)
		return err
	})
	return out, err
}

// create creates a collection, unless another process just did, and returns its description.
func (x *Index) create(ctx context.Context, name string, plan func(sparse bool) *entity.Schema) (*entity.Collection, error) {
	failed := x.call(ctx, fmt.Sprintf("creating collection %q", name), func(ctx context.Context, srv *server) error {
		return srv.CreateCollection(ctx, plan(srv.sparse), x.opts.Shards,
			client.WithConsistencyLevel(entity.ClStrong), client.WithPartitionNum(x.opts.Partitions))
	})
	described, err := x.describe(ctx, name)
	if isNotFound(err) && failed != nil {
		return nil, failed
	}
	return described, err
}

// HNSW parameters M and efConstruction.
const (
	hnswNeighbours   = 16
	hnswConstruction = 200
)

// indexDense makes sure that the dense field has an index, and returns its type. A new index is HNSW if the server has
// it, and otherwise AUTOINDEX. On Milvus Lite, it is flat: with AUTOINDEX, a search of 200,000 rows found only 5 of the
// 20 nearest rows.
func (x *Index) indexDense(ctx context.Context, name string) (entity.IndexType, error) {
	kind, err := x.indexType(ctx, name, fieldDense)
	if err != nil || kind != "" {
		return kind, err
	}
	hnsw, err := entity.NewIndexHNSW(entity.IP, hnswNeighbours, hnswConstruction)
	if err != nil {
		return "", fmt.Errorf("describing the dense index: %w", err)
	}
	err = x.createIndex(ctx, name, fieldDense, hnsw)
	if isPermanent(err) {
		var other entity.Index
		if other, err = x.withoutHNSW(ctx); err != nil {
			return "", fmt.Errorf("describing the dense index: %w", err)
		}
		err = x.createIndex(ctx, name, fieldDense, other)
	}
	if err != nil {
		return "", err
	}
	return x.indexType(ctx, name, fieldDense)
}

// withoutHNSW returns the dense index to use on a server that rejects HNSW.
func (x *Index) withoutHNSW(ctx context.Context) (entity.Index, error) {
	srv, err := x.server(ctx)
	if err != nil {
		return nil, err
	}
	if srv.version == "" { // Milvus Lite
		return entity.NewIndexFlat(entity.IP)
	}
	return entity.NewIndexAUTOINDEX(entity.IP)
}

func (x *Index) indexSparse(ctx context.Context, name string) error {
	kind, err := x.indexType(ctx, name, fieldSparse)
	if err != nil || kind != "" {
		return err
	}
	inverted, err := entity.NewIndexSparseInverted(entity.IP, 0)
	if err != nil {
		return fmt.Errorf("describing the sparse index: %w", err)
	}
	return x.createIndex(ctx, name, fieldSparse, inverted)
}

// createIndex requests an index and doesn't wait for it: either the collection is empty or another process has already
// created the index.
func (x *Index) createIndex(ctx context.Context, name, field string, idx entity.Index) error {
	return x.call(ctx, fmt.Sprintf("creating the index of field %q of collection %q", field, name), func(ctx context.Context, srv *server) error {
		return srv.CreateIndex(ctx, name, field, idx, true)
	})
}

// indexType returns the type of the index on a field, or "" if it has none.
func (x *Index) indexType(ctx context.Context, name, field string) (kind entity.IndexType, err error) {
	err = x.call(ctx, fmt.Sprintf("describing the index of field %q of collection %q", field, name), func(ctx context.Context, srv *server) error {
		found, err := srv.DescribeIndex(ctx, name, field)
		if isPermanent(err) && !isNotFound(err) {
			return nil // servers return these even if there is no index
		}
		for _, i := range found {
			kind = i.IndexType()
		}
		return err
	})
	return kind, err
}

// Polling interval while a collection is being loaded.
const loadGap = 50 * time.Millisecond

// load loads a collection and waits until it is ready.
func (x *Index) load(ctx context.Context, name string) error {
	doing := fmt.Sprintf("loading collection %q", name)
	var replicas []client.LoadCollectionOption
	if x.opts.Replicas > 1 {
		replicas = append(replicas, client.WithReplicaNumber(x.opts.Replicas))
	}
	state := func() (state entity.LoadState, err error) {
		err = x.call(ctx, doing, func(ctx context.Context, srv *server) error {
			state, err = srv.GetLoadState(ctx, name, nil)
			return err
		})
		return state, err
	}
	// Check first: servers refuse to load a collection that is already loaded with another number of replicas.
	if s, err := state(); err != nil || s == entity.LoadStateLoaded {
		return err
	}
	err := x.call(ctx, doing, func(ctx context.Context, srv *server) error {
		return srv.LoadCollection(ctx, name, true, replicas...)
	})
	if err != nil {
		return err
	}
	tick := time.NewTicker(loadGap)
	defer tick.Stop()
	for {
		if s, err := state(); err != nil || s == entity.LoadStateLoaded {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", doing, context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// listCollections returns the names of all of Sluice's collections. It returns ErrSchema if one has a different schema
// version.
func (x *Index) listCollections(ctx context.Context) ([]string, error) {
	pattern, err := regexp.Compile(`^` + x.opts.Prefix + `_v(\d{1,9})_d\d+_`)
	if err != nil {
		return nil, fmt.Errorf("matching names of collections: %w", err)
	}
	var out []string
	err = x.call(ctx, "listing collections", func(ctx context.Context, srv *server) error {
		out = nil
		// The SDK's own listing needs collection ids, which Milvus Lite does not return.
		all, err := srv.service.ShowCollections(ctx, &milvuspb.ShowCollectionsRequest{})
		for _, name := range all.GetCollectionNames() {
			m := pattern.FindStringSubmatch(name)
			if m == nil {
				continue
			}
			if m[1] != strconv.Itoa(schemaVersion) {
				return fmt.Errorf("%w: %q has schema %s, but this version needs %d", ErrSchema, name, m[1], schemaVersion)
			}
			out = append(out, name)
		}
		return err
	})
	return out, err
}
