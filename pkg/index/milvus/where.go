package milvus

import (
	"context"
	"fmt"
	"strings"

	"github.com/milvus-io/milvus-sdk-go/v2/client"

	"github.com/sluice/sluice/pkg/filter"
	"github.com/sluice/sluice/pkg/index"
)

// whereExpr converts a filter to an expression. Servers disagree about negated comparisons with missing values, so each
// comparison of a JSON value also requires a hash that proves that the value exists.
func whereExpr(f *filter.Filter) string {
	switch f.Op {
	case filter.And, filter.Or:
		parts := make([]string, len(f.Filters))
		for i, inner := range f.Filters {
			parts[i] = whereExpr(inner)
		}
		return "(" + strings.Join(parts, map[filter.Op]string{filter.And: " && ", filter.Or: " || "}[f.Op]) + ")"
	case filter.Not:
		return "not (" + whereExpr(f.Filters[0]) + ")"
	}
	expr := conditionExpr(f)
	if f.Negative() {
		return "not (" + expr + ")"
	}
	return expr
}

// conditionExpr returns an expression for the rows with a value that passes the condition's test, ignoring negation.
func conditionExpr(c *filter.Filter) string {
	switch {
	case c.Op == filter.Exists:
		return containsAny(kindHashes(c.Key, filter.Any))
	case c.Op == filter.Prefix:
		least, prefix := orderField(c.Key, textOrder, false), sortable(textOrder, c.Values[0])
		return fmt.Sprintf(`(%s && (%s >= "%s" && %s < "%s" || %s))`, containsAny(kindHashes(c.Key, filter.Text|filter.Date)),
			least, prefix, least, prefix+afterPrefix, containsAny([]int64{facet(prefixFacet, c.Key, c.Values[0].Text())}))
	case c.Op.Ordered():
		return orderedExpr(c)
	}
	var hashes []int64
	for _, v := range c.Values {
		hashes = append(hashes, facet(metadataFacet, c.Key, v.Identity()))
		if at, is := v.Time(); is {
			hashes = append(hashes, momentHash(c.Key, at))
		}
	}
	return containsAny(hashes)
}

// orderedExpr returns the expression for an ordered comparison. Any of a row's values may match, so "less than" tests
// the smallest value, and "greater than" tests both the smallest and the greatest.
func orderedExpr(c *filter.Filter) string {
	kind := c.Values[0].Kind()
	order := orderOf(kind)
	operator := map[filter.Op]string{filter.Gt: ">", filter.Gte: ">=", filter.Lt: "<", filter.Lte: "<="}[c.Op]
	value := sortable(order, c.Values[0])
	exists := containsAny(kindHashes(c.Key, kind))
	expr := fmt.Sprintf(`%s %s "%s"`, orderField(c.Key, order, false), operator, value)
	if c.Op == filter.Gt || c.Op == filter.Gte {
		expr = fmt.Sprintf(`(%s || (%s && %s %s "%s"))`, expr, containsAny([]int64{facet(severalFacet, c.Key, order)}),
			orderField(c.Key, order, true), operator, value)
	}
	return "(" + exists + " && " + expr + ")"
}

// orderField returns the expression that refers to a key's smallest or greatest value in the given order.
func orderField(key, order string, greatest bool) string {
	return fieldMetadata + `["` + orderKey + `"]["` + orderName(key, order, greatest) + `"]`
}

// checkWhere returns a filter.Error if a filter can't be evaluated on a datastore's rows.
func (x *Index) checkWhere(ctx context.Context, col *collection, datastoreID string, f *filter.Filter) error {
	if f == nil {
		return nil
	}
	var obstacles []string
	for c := range f.Conditions() {
		obstacles = append(obstacles, conditionObstacles(c)...)
	}
	if len(obstacles) == 0 {
		return nil
	}
	found, err := x.anyRow(ctx, col, datastoreID, "("+strings.Join(obstacles, " || ")+")")
	if err != nil || !found {
		return err
	}
	for c := range f.Conditions() { // find out why
		if err := x.checkCondition(ctx, col, datastoreID, c); err != nil {
			return err
		}
	}
	return nil // the rows have been removed since
}

// conditionObstacles returns expressions for the rows on which a condition cannot be evaluated.
func conditionObstacles(c *filter.Filter) (out []string) {
	if expr := staleExpr(c); expr != "" {
		out = append(out, expr)
	}
	if refused := c.Refuses(); refused != 0 {
		out = append(out, containsAny(kindHashes(c.Key, refused)))
	}
	if c.Op == filter.Prefix {
		out = append(out, containsAny([]int64{facet(noPrefixes, c.Key)}))
	}
	return out
}

// staleExpr returns an expression for the rows that an earlier version wrote without data that the condition needs. It
// returns "" if the condition needs no such data.
func staleExpr(c *filter.Filter) string {
	switch {
	case filter.IsProperty(c.Key):
		return "not (" + containsAny(kindHashes(filter.PropertyID, filter.Any)) + ")"
	case c.Op.Ordered(), c.Op == filter.Prefix, c.Op == filter.Exists, c.Dated():
		return "not (" + containsAny([]int64{orderedHash}) + ")"
	}
	return ""
}

// checkCondition returns a filter.Error with the reason if a condition can't be evaluated on a datastore's rows.
func (x *Index) checkCondition(ctx context.Context, col *collection, datastoreID string, c *filter.Filter) error {
	if expr := staleExpr(c); expr != "" {
		if found, err := x.anyRow(ctx, col, datastoreID, expr); err != nil {
			return err
		} else if found {
			return filter.Stale(c.Key, datastoreID)
		}
	}
	if c.Op == filter.Prefix {
		if found, err := x.anyRow(ctx, col, datastoreID, containsAny([]int64{facet(noPrefixes, c.Key)})); err != nil {
			return err
		} else if found {
			return &filter.Error{Key: c.Key, Message: fmt.Sprintf(
				"the key %q of a document has too many values for prefix filters in Milvus; shorten its metadata, or use eq or in", c.Key)}
		}
	}
	var have filter.Kind
	if c.Refuses() == 0 {
		return nil
	}
	for _, kind := range allKinds {
		found, err := x.anyRow(ctx, col, datastoreID, containsAny(kindHashes(c.Key, kind)))
		if err != nil {
			return err
		}
		if found {
			have |= kind
		}
	}
	return c.Conflict(have)
}

// anyRow reports whether any of a datastore's rows matches an expression.
func (x *Index) anyRow(ctx context.Context, col *collection, datastoreID, expr string) (found bool, err error) {
	err = x.call(ctx, "checking the filter", func(ctx context.Context, srv *server) error {
		set, err := srv.Query(ctx, col.name, nil, equals(fieldDatastore, datastoreID)+" && "+expr, []string{fieldID}, strongConsistency, client.WithLimit(1))
		found = err == nil && set.Len() > 0
		return err
	})
	return found, err
}

var documentFields = []string{fieldID, fieldDatasource, fieldGeneration, fieldMetadata}

// CountValues implements index.Index. It reads the metadata of all documents that pass the filter.
func (x *Index) CountValues(ctx context.Context, s index.Space, q index.CountQuery) (index.Counts, error) {
	ctx, done, err := x.begin(ctx)
	if err != nil {
		return index.Counts{}, err
	}
	expr, none, err := conditions(s.DatastoreID, q.Filter)
	if err != nil {
		return index.Counts{}, done(err)
	}
	out := newCounter(q.Keys)
	if none || !validDatastore(s.DatastoreID) {
		return out.Counts, done(nil)
	}
	err = x.use(ctx, s, false, func(col *collection) error {
		where, unmatched, err := x.restrict(ctx, col, s.DatastoreID, expr, q.Filter.Where)
		if out = newCounter(q.Keys); err != nil || unmatched {
			return err
		}
		first := where + " && " + fieldOrdinal + " == 0"
		return x.pages(ctx, col, first, documentFields, func() int { return fetchRows }, func(set client.ResultSet) (string, error) {
			return out.page(ctx, set, q.Active)
		})
	})
	if err != nil && !isNotFound(err) {
		return index.Counts{}, done(fmt.Errorf("counting values in datastore %q: %w", s.DatastoreID, err))
	}
	return out.Counts, done(nil)
}

// counter counts documents for CountValues.
type counter struct{ index.Counts }

func newCounter(keys []string) *counter {
	c := &counter{index.Counts{ByKey: make(map[string]map[filter.Value]int, len(keys))}}
	for _, key := range keys {
		c.ByKey[key] = make(map[filter.Value]int)
	}
	return c
}

// page counts the documents in a page of rows, which may contain copies, and returns the last primary key.
func (c *counter) page(ctx context.Context, set client.ResultSet, active func(context.Context, []index.Document) ([]bool, error)) (last string, err error) {
	t := &table{set: set}
	ids, sources, generations, metadata := t.texts(fieldID), t.texts(fieldDatasource), t.numbers(fieldGeneration), t.documents(fieldMetadata)
	if t.err != nil {
		return "", t.err
	}
	documents := make([]index.Document, len(ids))
	for i := range ids {
		documents[i] = index.Document{DatasourceID: sources[i], Generation: uint64(generations[i])}
	}
	are, err := active(ctx, documents)
	if err != nil {
		return "", err
	}
	seen := make(map[string]bool, len(ids))
	for i, id := range ids {
		last = max(last, id)
		if !are[i] || seen[id] {
			continue
		}
		seen[id] = true
		decoded, err := decodeMetadata(id, metadata[i])
		if err != nil {
			return "", err
		}
		c.add(decoded)
	}
	return last, nil
}

func (c *counter) add(metadata map[string]any) {
	c.Documents++
	values := index.Values(metadata)
	for key, counts := range c.ByKey {
		seen := make(map[filter.Value]bool)
		for _, v := range values(key) {
			if v = index.Counted(v); !seen[v] {
				seen[v] = true
				counts[v]++
			}
		}
	}
}
