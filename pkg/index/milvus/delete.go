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

// deletedAtOnce is how many rows one message deletes. Rows are deleted by their primary keys, which every server can,
// in messages of bounded size, so that the sweep of a large datastore neither blocks the server nor is lost as a whole when
// it is interrupted.
const deletedAtOnce = 2048

// DeleteGenerations implements index.Index.
func (x *Index) DeleteGenerations(ctx context.Context, s index.Space, datasourceID string, from, below uint64) error {
	ctx, done, err := x.begin(ctx)
	if err != nil {
		return err
	}
	if from >= below || from > math.MaxInt64 || !validDatastore(s.DatastoreID) || datasourceID != "" && !validDatasource(datasourceID) {
		return done(nil) // no row is there
	}
	where := []string{equals(fieldDatastore, s.DatastoreID)}
	if datasourceID != "" {
		where = append(where, equals(fieldDatasource, datasourceID))
	}
	if from > 0 {
		where = append(where, fieldGeneration+" >= "+formatGeneration(from))
	}
	if below <= math.MaxInt64 {
		where = append(where, fieldGeneration+" < "+formatGeneration(below))
	}
	err = x.use(ctx, s, false, func(col *collection) error {
		return x.deleteWhere(ctx, col, s.DatastoreID, strings.Join(where, " && "))
	})
	if err != nil && !missing(err) {
		return done(fmt.Errorf("deleting generations of datastore %q: %w", s.DatastoreID, err))
	}
	return done(nil)
}

// DropDatastore implements index.Index: it looks into every collection.
func (x *Index) DropDatastore(ctx context.Context, datastoreID string) error {
	ctx, done, err := x.begin(ctx)
	if err != nil {
		return err
	}
	if !validDatastore(datastoreID) {
		return done(nil)
	}
	names, err := x.ours(ctx)
	if err != nil {
		return done(fmt.Errorf("dropping datastore %q: %w", datastoreID, err))
	}
	for _, name := range names {
		err := x.useName(ctx, name, nil, func(col *collection) error {
			return x.deleteWhere(ctx, col, datastoreID, equals(fieldDatastore, datastoreID))
		})
		if err != nil && !missing(err) {
			return done(fmt.Errorf("dropping datastore %q: %w", datastoreID, err))
		}
	}
	return done(nil)
}

// deleteWhere deletes the rows of a datastore that match an expression.
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
			return srv.Delete(ctx, col.name, "", oneOf(fieldID, ids))
		})
		return ids[len(ids)-1], err
	})
}
