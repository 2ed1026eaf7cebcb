package milvus

import (
	"context"

	"github.com/milvus-io/milvus-sdk-go/v2/client"

	"github.com/sluice/sluice/pkg/filter"
	"github.com/sluice/sluice/pkg/index"
)

// Number of rows that scanWhere reads at a time.
const scannedRows = 1024

// restrict adds a general filter to an expression for a datastore's rows. If no row matches, `none` is true. If the
// filter can't be evaluated, restrict returns a filter.Error.
func (x *Index) restrict(ctx context.Context, col *collection, datastoreID, expr string, f *filter.Filter) (_ string, none bool, err error) {
	if f == nil {
		return expr, false, nil
	}
	var lite bool
	if err := x.call(ctx, "connecting", func(_ context.Context, srv *server) error {
		lite = srv.version == ""
		return nil
	}); err != nil {
		return "", false, err
	}
	if !lite {
		return expr + " && " + whereExpr(f.Split()), false, x.checkWhere(ctx, col, datastoreID, f)
	}
	ids, err := x.scanWhere(ctx, col, datastoreID, f)
	return expr + " && " + inExpr(fieldID, ids), len(ids) == 0, err
}

// scanWhere evaluates a filter on the metadata of a datastore's rows and returns the matching rows' primary keys. It is
// for Milvus Lite, whose expressions have no negation.
func (x *Index) scanWhere(ctx context.Context, col *collection, datastoreID string, f *filter.Filter) ([]string, error) {
	kinds := make(map[string]filter.Kind)
	for c := range f.Conditions() {
		kinds[c.Key] = 0
	}
	var ids []string
	described := true // all rows have their datasource's properties
	err := x.pages(ctx, col, equals(fieldDatastore, datastoreID), []string{fieldID, fieldMetadata}, func() int { return scannedRows }, func(set client.ResultSet) (last string, err error) {
		t := &table{set: set}
		keys, metadata := t.texts(fieldID), t.documents(fieldMetadata)
		if t.err != nil {
			return "", t.err
		}
		for i, id := range keys {
			last = max(last, id)
			decoded, err := decodeMetadata(id, metadata[i])
			if err != nil {
				return "", err
			}
			values := index.Values(decoded)
			described = described && len(values(filter.PropertyID)) > 0
			for key := range kinds {
				for _, v := range values(key) {
					kinds[key] |= v.Kind()
				}
			}
			if f.Matches(values) {
				ids = append(ids, id)
			}
		}
		return last, nil
	})
	if err != nil {
		return nil, err
	}
	for c := range f.Conditions() {
		if filter.IsProperty(c.Key) && !described {
			return nil, filter.Stale(c.Key, datastoreID)
		}
		if err := c.Conflict(kinds[c.Key]); err != nil {
			return nil, err
		}
	}
	return ids, nil
}
