package milvus

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/milvus-io/milvus-sdk-go/v2/client"
	"github.com/milvus-io/milvus-sdk-go/v2/entity"

	"github.com/sluice/sluice/pkg/index"
)

// Options for reads.
var (
	// strongConsistency makes a read see all earlier writes.
	strongConsistency = client.WithSearchQueryConsistencyLevel(entity.ClStrong)
	// eventualConsistency lets a node answer without waiting for the latest writes.
	eventualConsistency = client.WithSearchQueryConsistencyLevel(entity.ClEventually)
	// maxLimit is the highest limit that servers accept. If there is no limit, Milvus 2.3 omits one row for each stored
	// copy of another.
	maxLimit = client.WithLimit(16_384)
)

// Page size, in rows, of listings that don't read texts. Servers allow up to 16,384.
const listedKeys = 8192

// pages reads the rows that match an expression page by page, in primary-key order. Before each page, it gets the page
// size from size() and stops if the size is 0. It passes each page to read(), which must return the page's last primary
// key. Servers apply the limit before dropping copies, so a short page isn't necessarily the last one. Only an empty
// page marks the end.
func (x *Index) pages(ctx context.Context, col *collection, expr string, fields []string, size func() int, read func(client.ResultSet) (last string, err error)) error {
	last := ""
	for size() > 0 {
		where := expr
		if last != "" {
			where += " && " + fieldID + " > " + quote(last)
		}
		var set client.ResultSet
		err := x.call(ctx, "reading a page of rows", func(ctx context.Context, srv *server) (err error) {
			set, err = srv.Query(ctx, col.name, nil, where, fields, strongConsistency, client.WithLimit(int64(size())))
			return err
		})
		if err != nil || set.Len() == 0 {
			return err
		}
		if last, err = read(set); err != nil {
			return err
		}
	}
	return nil
}

// Rows implements index.Index.
func (x *Index) Rows(ctx context.Context, s index.Space, datasourceID string, generationNumber uint64, fromOrdinal, limit int) ([]index.Row, error) {
	if limit < 0 {
		return nil, fmt.Errorf("%w: the limit %d is negative", index.ErrInvalid, limit)
	}
	ctx, done, err := x.begin(ctx)
	if err != nil {
		return nil, err
	}
	if limit == 0 || !validDatastore(s.DatastoreID) || !validDatasource(datasourceID) {
		return nil, done(nil)
	}
	var out []index.Row
	err = x.use(ctx, s, false, func(col *collection) error {
		out = nil
		expr := generation{s.DatastoreID, datasourceID, generationNumber}.expr() + " && " + fieldOrdinal + " >= " + strconv.Itoa(max(fromOrdinal, 0))
		want := extraFields{vectors: true, metadata: true}
		return x.pages(ctx, col, expr, want.fields(), func() int { return min(fetchRows, limit-len(out)) }, func(set client.ResultSet) (string, error) {
			rows, err := readRows(set, col.dimensions, want)
			if err != nil {
				return "", err
			}
			rows = deduplicate(rows)
			for _, r := range rows {
				out = append(out, r.Row)
			}
			return rows[len(rows)-1].id, nil
		})
	})
	if err != nil && !isNotFound(err) {
		return nil, done(fmt.Errorf("reading rows of datasource %q: %w", datasourceID, err))
	}
	return out, done(nil)
}

// Stored implements index.Index. It reads the space's primary keys page by page.
func (x *Index) Stored(ctx context.Context, s index.Space, f func(index.Stored) error) error {
	ctx, done, err := x.begin(ctx)
	if err != nil {
		return err
	}
	if !validDatastore(s.DatastoreID) {
		return done(nil)
	}
	run := run{f: f}
	err = x.use(ctx, s, false, func(col *collection) error {
		// If the collection was reopened during the listing, continue after the last key.
		expr := equals(fieldDatastore, s.DatastoreID)
		if run.last != "" {
			expr += " && " + fieldID + " > " + quote(run.last)
		}
		return x.pages(ctx, col, expr, runFields, func() int { return x.listed }, run.page)
	})
	if err != nil && !isNotFound(err) {
		return done(fmt.Errorf("listing rows of datastore %q: %w", s.DatastoreID, err))
	}
	return done(run.end())
}

// Count implements index.Index. It lists primary keys, because the server would count copies as well.
func (x *Index) Count(ctx context.Context, s index.Space, datasourceID string, number uint64) (int64, error) {
	ctx, done, err := x.begin(ctx)
	if err != nil {
		return 0, err
	}
	if !validDatastore(s.DatastoreID) || !validDatasource(datasourceID) || number > math.MaxInt64 {
		return 0, done(nil)
	}
	var rows int64
	err = x.use(ctx, s, false, func(col *collection) error {
		rows = 0
		run := run{f: func(st index.Stored) error {
			rows += st.Rows
			return nil
		}}
		expr := generation{s.DatastoreID, datasourceID, number}.expr()
		err := x.pages(ctx, col, expr, runFields, func() int { return x.listed }, run.page)
		if err != nil {
			return err
		}
		return run.end()
	})
	if err != nil && !isNotFound(err) {
		return 0, done(fmt.Errorf("counting rows of datasource %q: %w", datasourceID, err))
	}
	return rows, done(nil)
}

// Spaces implements index.Index.
func (x *Index) Spaces(ctx context.Context, datastoreID string) ([]index.Space, error) {
	ctx, done, err := x.begin(ctx)
	if err != nil {
		return nil, err
	}
	if !validDatastore(datastoreID) {
		return nil, done(nil)
	}
	names, err := x.listCollections(ctx)
	if err != nil {
		return nil, done(fmt.Errorf("finding the spaces of datastore %q: %w", datastoreID, err))
	}
	var out []index.Space
	for _, name := range names {
		err := x.useName(ctx, name, nil, func(col *collection) error {
			return x.call(ctx, "looking for a row", func(ctx context.Context, srv *server) error {
				set, err := srv.Query(ctx, col.name, nil, equals(fieldDatastore, datastoreID), []string{fieldID}, strongConsistency, client.WithLimit(1))
				if err == nil && set.Len() > 0 {
					out = append(out, index.Space{DatastoreID: datastoreID, Model: col.model, Dimensions: col.dimensions})
				}
				return err
			})
		})
		if err != nil && !isNotFound(err) {
			return nil, done(fmt.Errorf("finding the spaces of datastore %q: %w", datastoreID, err))
		}
	}
	return out, done(nil)
}

var runFields = []string{fieldID, fieldDatasource, fieldGeneration}

// run counts each generation's rows. Rows arrive in primary-key order, so a generation's rows are consecutive.
type run struct {
	f    func(index.Stored) error
	last string // last primary key counted
	now  index.Stored
}

func (r *run) page(set client.ResultSet) (string, error) {
	t := &table{set: set}
	ids, sources, generations := t.texts(fieldID), t.texts(fieldDatasource), t.numbers(fieldGeneration)
	if t.err != nil {
		return "", t.err
	}
	order := make([]int, len(ids))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(ids[a], ids[b]) })
	for _, i := range order {
		if ids[i] == r.last {
			continue // copy of the previous row
		}
		r.last = ids[i]
		if g := uint64(generations[i]); r.now.Rows == 0 || sources[i] != r.now.DatasourceID || g != r.now.Generation {
			if err := r.end(); err != nil {
				return "", err
			}
			r.now = index.Stored{DatasourceID: sources[i], Generation: g}
		}
		r.now.Rows++
	}
	return r.last, nil
}

// end passes the current generation to f.
func (r *run) end() error {
	if r.now.Rows == 0 {
		return nil
	}
	done := r.now
	r.now = index.Stored{}
	return r.f(done)
}
