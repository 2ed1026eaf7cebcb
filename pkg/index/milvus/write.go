package milvus

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/milvus-io/milvus-sdk-go/v2/client"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/lists"
)

// Maximum size of one insert. Milvus Lite accepts 256 rows, other servers 64 MiB.
const (
	batchRows  = 256
	batchBytes = 16 << 20
)

// Write implements index.Index. Batches become visible one after another.
func (x *Index) Write(ctx context.Context, s index.Space, rows []index.Row) error {
	ctx, done, err := x.begin(ctx)
	if err != nil {
		return err
	}
	if err := x.write(ctx, s, rows); err != nil {
		return done(fmt.Errorf("writing %d rows of datastore %q: %w", len(rows), s.DatastoreID, err))
	}
	return done(nil)
}

func (x *Index) write(ctx context.Context, s index.Space, rows []index.Row) error {
	batch, err := prepareAll(ctx, s, rows)
	if err != nil || len(batch) == 0 {
		return err
	}
	return x.use(ctx, s, true, func(col *collection) error {
		defer x.frequencies.changed(col.name, s.DatastoreID)
		for part := range batches(batch) {
			if err := x.writeBatch(ctx, col, s, part); err != nil {
				return err
			}
		}
		return nil
	})
}

// prepareAll validates and analyses rows. If a key occurs twice, the last row wins.
func prepareAll(ctx context.Context, s index.Space, rows []index.Row) ([]*prepared, error) {
	batch := make([]*prepared, 0, len(rows))
	at := make(map[string]int, len(rows))
	words := analysis.Borrow()
	defer words.Return()
	for i := range rows {
		p, err := prepare(s, &rows[i], words)
		if err != nil {
			return nil, fmt.Errorf("row %d with key %.80q: %w", i, rows[i].Key, err)
		}
		if j, ok := at[p.id]; ok {
			batch[j] = p
			continue
		}
		at[p.id] = len(batch)
		batch = append(batch, p)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("analysing rows: %w", context.Cause(ctx))
		}
	}
	slices.SortFunc(batch, func(a, b *prepared) int { return strings.Compare(a.id, b.id) })
	return batch, nil
}

// batches splits rows into size-limited inserts.
func batches(rows []*prepared) func(func([]*prepared) bool) {
	return func(yield func([]*prepared) bool) {
		for len(rows) > 0 {
			n, bytes := 0, 0
			for n < len(rows) && n < batchRows && (n == 0 || bytes+rows[n].bytes() <= batchBytes) {
				bytes += rows[n].bytes()
				n++
			}
			if !yield(rows[:n]) {
				return
			}
			rows = rows[n:]
		}
	}
}

// writeBatch stores each of a batch's rows exactly once, even if the batch is written repeatedly.
func (x *Index) writeBatch(ctx context.Context, col *collection, s index.Space, batch []*prepared) error {
	unseen := x.fresh.areUnseen(col.name, s.DatastoreID, batch)
	err := x.call(ctx, fmt.Sprintf("inserting %d rows into collection %q", len(batch), col.name), func(ctx context.Context, srv *server) error {
		absent := batch
		if !unseen {
			var err error
			if absent, err = x.replace(ctx, srv, col, s, batch); err != nil {
				return err
			}
		}
		unseen = false // on a retry, some rows may exist
		return insert(ctx, srv, col, s, absent)
	})
	if err != nil {
		x.fresh.forget(col.name, s.DatastoreID, batch)
		return err
	}
	x.fresh.recordWrite(col.name, s.DatastoreID, batch)
	return nil
}

// replace compares a batch with the stored rows, deletes those with different content, and returns the rows to insert.
func (x *Index) replace(ctx context.Context, srv *server, col *collection, s index.Space, batch []*prepared) ([]*prepared, error) {
	if one, ok := generationOf(s, batch); ok && !x.fresh.known(col.name, one) {
		set, err := srv.Query(ctx, col.name, nil, one.expr(), []string{fieldID}, strongConsistency, client.WithLimit(1))
		if err != nil {
			return nil, fmt.Errorf("checking whether generation %d exists: %w", one.generation, err)
		}
		if set.Len() == 0 {
			x.fresh.set(freshKey{col.name, one}, noRows)
			return batch, nil
		}
		x.fresh.set(freshKey{col.name, one}, knownRows)
	}
	stored, err := digests(ctx, srv, col, batch)
	if err != nil || len(stored) == 0 {
		return batch, err
	}
	var absent []*prepared
	var stale []string
	for _, p := range batch {
		digest, ok := stored[p.id]
		if ok && digest == p.digest {
			continue
		}
		absent = append(absent, p)
		if ok {
			stale = append(stale, p.id)
		}
	}
	if len(stale) > 0 {
		if err := srv.Delete(ctx, col.name, "", inExpr(fieldID, stale)); err != nil {
			return nil, fmt.Errorf("deleting %d changed rows: %w", len(stale), err)
		}
	}
	return absent, nil
}

// digests maps primary keys to stored content hashes. Rows that aren't stored have no entry.
func digests(ctx context.Context, srv *server, col *collection, batch []*prepared) (map[string]int64, error) {
	set, err := srv.Query(ctx, col.name, nil, inExpr(fieldID, lists.Map(batch, func(p *prepared) string { return p.id })), []string{fieldID, fieldDigest}, strongConsistency, maxLimit)
	if err != nil {
		return nil, fmt.Errorf("reading existing rows: %w", err)
	}
	if set.Len() == 0 {
		return nil, nil
	}
	t := &table{set: set}
	ids, sums := t.texts(fieldID), t.numbers(fieldDigest)
	if t.err != nil {
		return nil, t.err
	}
	out := make(map[string]int64, len(ids))
	for i, id := range ids {
		out[id] = sums[i]
	}
	return out, nil
}

func insert(ctx context.Context, srv *server, col *collection, s index.Space, rows []*prepared) error {
	if len(rows) == 0 {
		return nil
	}
	cols, err := columns(s, rows, col.sparse)
	if err != nil {
		return err
	}
	ids, err := srv.Insert(ctx, col.name, "", cols...)
	if err != nil {
		return err
	}
	if ids.Len() != len(rows) {
		return fmt.Errorf("the server accepted only %d of %d rows", ids.Len(), len(rows))
	}
	return nil
}
