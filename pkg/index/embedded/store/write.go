package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/bitmap"
	"github.com/sluice/sluice/pkg/index/embedded/checksum"
	"github.com/sluice/sluice/pkg/index/embedded/lexical"
	"github.com/sluice/sluice/pkg/index/embedded/slotfile"
	"github.com/sluice/sluice/pkg/index/embedded/vector"
	"github.com/sluice/sluice/pkg/lists"
)

// writeBatches commits batches in one transaction. No two of them may share a key. Slot files are written concurrently
// and synced before the commit. The caller must hold writeMu.
func (s *Space) writeBatches(ctx context.Context, batches []*Batch) error {
	var rows []*Prepared
	for _, b := range batches {
		rows = append(rows, b.Rows...)
	}
	if err := s.prepareWriting(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	s.idle = false
	current, oldest := s.current, s.oldestVersionInUse()
	s.mu.Unlock()
	end := current.Slots
	if uint64(end)+uint64(len(rows)) > bitmap.MaxSlots {
		return fmt.Errorf("the space is full: it has %d slots", end)
	}
	slots := s.slots.choose(len(rows), end, oldest)
	end = max(end, slots[len(slots)-1]+1)
	s.dropRows(slots)
	computeCodes(rows, &current.Set) // they may have become outdated while the batch was waiting
	files := s.writeFiles(slots, rows, end)
	postings := buildPostings(batches, slots)
	defer func() { // no goroutine may outlive this call, even if it fails
		_ = files.Wait()
		postings.Wait()
	}()
	err := s.commit(ctx, func(tx *sql.Tx, next *Snapshot) error {
		next.Slots = end
		live := next.Live.Edit()
		if err := replaceKeys(ctx, tx, next, live, rows); err != nil {
			return err
		}
		if err := insertRows(ctx, tx, next, live, slots, rows); err != nil {
			return err
		}
		postings.Wait()
		if err := insertSegment(ctx, tx, next, slots, postings); err != nil {
			return err
		}
		next.Live = live.Done()
		if err := storeChunks(ctx, tx, "live", live); err != nil {
			return err
		}
		if err := next.removeFromIVF(ctx, tx, slots); err != nil {
			return err
		}
		if err := files.Wait(); err != nil {
			return err
		}
		s.setViews(next)
		return s.vectors.RenewCodes(ctx, &next.Set)
	})
	if err != nil {
		return err
	}
	s.slots.take(slots)
	if s.current.Epoch != current.Epoch {
		s.vectors.AdoptCodes()
	}
	return nil
}

// writeFiles writes rows to the slot files and syncs them, with one goroutine per file. Readers don't see the new slots
// yet. The caller must wait for the returned group before using the files.
func (s *Space) writeFiles(slots []uint32, batch []*Prepared, end uint32) *errgroup.Group {
	files := new(errgroup.Group)
	write := func(f *slotfile.File, payload func(*Prepared) []byte) {
		if f == nil {
			return
		}
		files.Go(vector.Recovered(func() error {
			payloads := lists.Map(batch, payload)
			return f.Append(slots, payloads, end)
		}))
	}
	write(s.vectors.Full, func(p *Prepared) []byte { return vector.Bytes(p.row.Vector) })
	write(s.vectors.Bits, func(p *Prepared) []byte { return p.bits })
	write(s.vectors.Int8, func(p *Prepared) []byte { return p.int8 })
	write(s.locations, (*Prepared).location)
	return files
}

// setViews gives a snapshot the current views of all files.
func (s *Space) setViews(next *Snapshot) {
	s.vectors.Publish(&next.Set)
	if s.locations != nil {
		next.locations = s.locations.View
	}
}

func replaceKeys(ctx context.Context, tx *sql.Tx, next *Snapshot, live *bitmap.Edit, batch []*Prepared) error {
	if has, err := hasKeys(ctx, tx, batch); err != nil || !has {
		return err
	}
	remove, err := tx.PrepareContext(ctx, `DELETE FROM rows WHERE key = ? RETURNING slot, length, lang`)
	if err != nil {
		return fmt.Errorf("preparing to replace rows: %w", err)
	}
	defer func() { _ = remove.Close() }()
	for _, p := range batch {
		rows, err := remove.QueryContext(ctx, p.row.Key)
		if err != nil {
			return fmt.Errorf("replacing a row: %w", err)
		}
		if err := next.subtractDeleted(rows, live); err != nil {
			return fmt.Errorf("replacing a row: %w", err)
		}
	}
	return nil
}

// hasKeys reports whether any key in the batch exists. Usually none does, and there is nothing to replace.
func hasKeys(ctx context.Context, tx *sql.Tx, batch []*Prepared) (has bool, err error) {
	keys := lists.Map(batch, func(p *Prepared) string { return p.row.Key })
	list, err := json.Marshal(keys)
	if err != nil {
		return false, fmt.Errorf("listing keys: %w", err)
	}
	err = tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM json_each(?) AS wanted JOIN rows ON rows.key = wanted.value)`, string(list)).Scan(&has)
	if err != nil {
		return false, fmt.Errorf("looking for rows to replace: %w", err)
	}
	return has, nil
}

// subtractDeleted reads deleted rows from a query result, subtracts them from the totals and closes the result.
func (s *Snapshot) subtractDeleted(rows *sql.Rows, live *bitmap.Edit) error {
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var slot uint32
		var length int64
		var lang analysis.Language
		if err := rows.Scan(&slot, &length, &lang); err != nil {
			return err
		}
		if slot >= s.Slots || !live.Has(slot) {
			return fmt.Errorf("%w: there is a row in slot %d, which is not live", index.ErrCorrupt, slot)
		}
		live.Clear(slot)
		s.changed = s.Version
		s.Rows--
		s.length -= length
		if s.langs[lang]--; s.langs[lang] <= 0 {
			delete(s.langs, lang)
		}
	}
	return rows.Err()
}

func insertRows(ctx context.Context, tx *sql.Tx, next *Snapshot, live *bitmap.Edit, slots []uint32, batch []*Prepared) error {
	insert, err := tx.PrepareContext(ctx, `INSERT INTO rows (`+rowColumns+`) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`)
	if err != nil {
		return fmt.Errorf("preparing to insert rows: %w", err)
	}
	defer func() { _ = insert.Close() }()
	for i, p := range batch {
		r := storedRow{Row: *p.row, slot: slots[i], length: int64(p.terms.Length), lang: string(p.lang), metadata: p.metadata}
		r.heading = index.StoredHeading(p.row)
		if r.metadata == nil {
			r.metadata = []byte{}
		}
		_, err := insert.ExecContext(ctx, r.slot, r.Key, r.DatasourceID, storedGeneration(r.Generation), r.Ordinal, r.length,
			r.lang, r.checksum(), r.Page, r.Offset, r.CustomID, r.heading, r.Context, r.metadata, r.Text)
		if err != nil {
			return fmt.Errorf("inserting a row: %w", err)
		}
		live.Set(r.slot)
		next.changed = next.Version
		next.Rows++
		next.length += r.length
		next.langs[p.lang]++
	}
	return nil
}

// pendingPostings holds a segment's blocks while they are being built.
type pendingPostings struct {
	sync.WaitGroup
	blocks [][]byte // without checksums
	firsts []string // first term in each block
	err    error
}

// buildPostings builds the batches' blocks in a goroutine. `slots` holds all rows' slots in ascending order.
func buildPostings(batches []*Batch, slots []uint32) *pendingPostings {
	placed := make([]lexical.Placed, len(batches))
	for i, b := range batches {
		placed[i] = lexical.Placed{Inverted: b.terms, Slots: slots[:len(b.Rows)]}
		slots = slots[len(b.Rows):]
	}
	out := new(pendingPostings)
	build := vector.Recovered(func() error {
		out.blocks, out.firsts = lexical.BuildBlocks(placed)
		return nil
	})
	out.Go(func() { out.err = build() })
	return out
}

func insertSegment(ctx context.Context, tx *sql.Tx, next *Snapshot, slots []uint32, postings *pendingPostings) error {
	if postings.err != nil {
		return postings.err
	}
	seg := lexical.Segment{ID: next.nextSegment, Rows: int64(len(slots)), FirstBlock: next.nextBlock, Blocks: int64(len(postings.blocks))}
	if err := insertBlocks(ctx, tx, seg.FirstBlock, postings.blocks); err != nil {
		return err
	}
	if err := storeSegment(ctx, tx, seg, roaring.BitmapOf(slots...), postings.firsts); err != nil {
		return err
	}
	next.nextSegment++
	next.nextBlock += seg.Blocks
	next.Segments = append(next.Segments, seg)
	return nil
}

func insertBlocks(ctx context.Context, tx *sql.Tx, first int64, blocks [][]byte) error {
	for i, block := range blocks {
		id := first + int64(i)
		if _, err := tx.ExecContext(ctx, `INSERT INTO blocks (id, data) VALUES (?, ?)`, id, checksum.Seal(id, block)); err != nil {
			return fmt.Errorf("storing a block of postings: %w", err)
		}
	}
	return nil
}

func storeSegment(ctx context.Context, tx *sql.Tx, seg lexical.Segment, slots *roaring.Bitmap, firsts []string) error {
	slots.RunOptimize()
	set, err := slots.ToBytes()
	if err != nil {
		return fmt.Errorf("encoding the slots of a segment: %w", err)
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO segments (id, slots, directory) VALUES (?, ?, ?)`, seg.ID, checksum.Seal(seg.ID, set), lexical.EncodeDirectory(seg.ID, firsts))
	if err != nil {
		return fmt.Errorf("storing a segment: %w", err)
	}
	return nil
}

// Maximum number of rows that a deletion removes per commit, so that other writers don't wait long.
const rowsPerDeletion = 10_000

// DeleteGenerations deletes generations in one or more commits. From must be less than Below in each element of
// `which`. If it fails, it may have deleted some of the rows.
func (s *Space) DeleteGenerations(ctx context.Context, which []index.Generations) error {
	var rest []deletion
	for _, g := range which {
		rest = append(rest, deletionOf(g))
	}
	for len(rest) > 0 {
		var err error
		if rest, err = s.deleteRows(ctx, rest); err != nil {
			return err
		}
	}
	return nil
}

// deletion selects rows by generation, from `first` to `last` inclusive, in one datasource or, if `datasource` is
// empty, in all of them. Both bounds come from storedGeneration.
type deletion struct {
	datasource  string
	first, last int64
}

func deletionOf(g index.Generations) deletion {
	d := deletion{datasource: g.DatasourceID, first: storedGeneration(g.From), last: storedGeneration(g.Below - 1)}
	if g.Below == math.MaxUint64 {
		d.last = math.MaxInt64
	}
	return d
}

func (d deletion) where() (condition string, args []any) {
	if d.datasource == "" {
		return `generation BETWEEN ? AND ?`, []any{d.first, d.last}
	}
	return `datasource = ? AND generation BETWEEN ? AND ?`, []any{d.datasource, d.first, d.last}
}

// deleteRows makes one commit and returns the remaining deletions.
func (s *Space) deleteRows(ctx context.Context, deletions []deletion) (rest []deletion, err error) {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	if deletions, err = s.withRows(ctx, deletions); err != nil || len(deletions) == 0 {
		return nil, err
	}
	err = s.commit(ctx, func(tx *sql.Tx, next *Snapshot) error {
		rest = deletions
		live, rows := next.Live.Edit(), next.Rows
		for len(rest) > 0 && rows-next.Rows < rowsPerDeletion {
			if err := next.deleteFrom(ctx, tx, rest[0], live); err != nil {
				return fmt.Errorf("deleting rows: %w", err)
			}
			rest = rest[1:]
		}
		next.Live = live.Done()
		return storeChunks(ctx, tx, "live", live)
	})
	return rest, err
}

// withRows drops leading deletions until one matches a row. If none is left, there is nothing to commit.
func (s *Space) withRows(ctx context.Context, deletions []deletion) ([]deletion, error) {
	for ; len(deletions) > 0; deletions = deletions[1:] {
		condition, args := deletions[0].where()
		var some bool
		if err := s.writes.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM rows WHERE `+condition+`)`, args...).Scan(&some); err != nil {
			return nil, fmt.Errorf("looking for rows: %w", corrupt(err))
		}
		if some {
			break
		}
	}
	return deletions, nil
}

func (s *Snapshot) deleteFrom(ctx context.Context, tx *sql.Tx, deletion deletion, live *bitmap.Edit) error {
	condition, args := deletion.where()
	rows, err := tx.QueryContext(ctx, `DELETE FROM rows WHERE `+condition+` RETURNING slot, length, lang`, args...)
	if err != nil {
		return err
	}
	return s.subtractDeleted(rows, live)
}
