package milvus

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/milvus-io/milvus-sdk-go/v2/client"

	"github.com/sluice/sluice/pkg/index"
)

// rowsPerDelete is the maximum number of rows that one message deletes. It deletes them by primary key, which all
// servers support. The limit keeps a large deletion from blocking the server, and an interrupted one from losing all
// its progress.
const rowsPerDelete = 2048

// Maximum number of generations in an expression. With ids of maximum length, such an expression takes about 15 KB.
const generationsPerExpr = 64

// DeleteGenerations implements index.Index. One query finds the rows of up to generationsPerExpr generations, and as
// few messages as possible delete them.
func (x *Index) DeleteGenerations(ctx context.Context, s index.Space, generations ...index.Generations) error {
	ctx, done, err := x.begin(ctx)
	if err != nil {
		return err
	}
	generations = slices.DeleteFunc(slices.Clone(generations), func(g index.Generations) bool {
		return g.From >= g.Below || g.From > math.MaxInt64 || g.DatasourceID != "" && !validDatasource(g.DatasourceID) // can't have rows
	})
	if len(generations) == 0 || !validDatastore(s.DatastoreID) {
		return done(nil)
	}
	err = x.use(ctx, s, false, func(col *collection) error {
		for part := range slices.Chunk(generations, generationsPerExpr) {
			if err := x.deleteWhere(ctx, col, s.DatastoreID, generationsExpr(s.DatastoreID, part)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && !isNotFound(err) {
		return done(fmt.Errorf("deleting generations of datastore %q: %w", s.DatastoreID, err))
	}
	return done(nil)
}

// bounds is a range of generations, which several datasources may share.
type bounds struct{ from, below uint64 }

// generationsExpr returns the expression for a datastore's rows in the given generations. Datasources with the same
// range share a condition, and deleted datasources usually have the same range.
func generationsExpr(datastoreID string, generations []index.Generations) string {
	var order []bounds
	sources := make(map[bounds][]string)
	for _, g := range generations {
		b := bounds{g.From, g.Below}
		if sources[b] == nil {
			order = append(order, b)
		}
		sources[b] = append(sources[b], g.DatasourceID)
	}
	here := equals(fieldDatastore, datastoreID)
	alternatives := make([]string, len(order))
	for i, b := range order {
		var all []string
		if ids := sources[b]; !slices.Contains(ids, "") {
			all = append(all, inExpr(fieldDatasource, ids))
		}
		if b.from > 0 {
			all = append(all, fieldGeneration+" >= "+formatGeneration(b.from))
		}
		if b.below <= math.MaxInt64 {
			all = append(all, fieldGeneration+" < "+formatGeneration(b.below))
		}
		if len(all) == 0 {
			return here // the whole datastore
		}
		alternatives[i] = "(" + strings.Join(all, " && ") + ")"
	}
	return here + " && (" + strings.Join(alternatives, " || ") + ")"
}

// DropDatastore implements index.Index. It deletes the datastore's rows from all collections.
func (x *Index) DropDatastore(ctx context.Context, datastoreID string) error {
	ctx, done, err := x.begin(ctx)
	if err != nil {
		return err
	}
	if !validDatastore(datastoreID) {
		return done(nil)
	}
	names, err := x.listCollections(ctx)
	if err != nil {
		return done(fmt.Errorf("dropping datastore %q: %w", datastoreID, err))
	}
	for _, name := range names {
		err := x.useName(ctx, name, nil, func(col *collection) error {
			return x.deleteWhere(ctx, col, datastoreID, equals(fieldDatastore, datastoreID))
		})
		if err != nil && !isNotFound(err) {
			return done(fmt.Errorf("dropping datastore %q: %w", datastoreID, err))
		}
	}
	return done(nil)
}

// deleteWhere deletes a datastore's rows that match an expression.
func (x *Index) deleteWhere(ctx context.Context, col *collection, datastoreID, expr string) error {
	defer x.frequencies.changed(col.name, datastoreID)
	return x.pages(ctx, col, expr, []string{fieldID}, func() int { return x.deleted }, func(set client.ResultSet) (string, error) {
		t := &table{set: set}
		ids := slices.Sorted(slices.Values(t.texts(fieldID)))
		if t.err != nil {
			return "", t.err
		}
		ids = slices.Compact(ids)
		err := x.call(ctx, fmt.Sprintf("deleting %d rows", len(ids)), func(ctx context.Context, srv *server) error {
			return srv.Delete(ctx, col.name, "", inExpr(fieldID, ids))
		})
		return ids[len(ids)-1], err
	})
}
