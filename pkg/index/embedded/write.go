package embedded

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/index"
)

// Write implements index.Index. A key that comes twice in one call keeps its last row.
func (x *Index) Write(ctx context.Context, id index.Space, rows []index.Row) error {
	batch := make([]*prepared, 0, len(rows))
	at := make(map[string]int, len(rows))
	words := analysis.Borrow()
	defer words.Return()
	preparer := newPreparer(id.Dimensions, words)
	for i := range rows {
		p, err := preparer.prepare(&rows[i])
		if err != nil {
			return fmt.Errorf("writing row %d with key %.80q: %w", i, rows[i].Key, err)
		}
		if j, ok := at[rows[i].Key]; ok {
			batch[j] = p
			continue
		}
		at[rows[i].Key] = len(batch)
		batch = append(batch, p)
		if ctx.Err() != nil {
			return fmt.Errorf("analysing rows: %w", ctx.Err())
		}
	}
	err := x.use(ctx, id, true, func(s *space) error {
		if len(batch) == 0 {
			return nil
		}
		if err := s.write(ctx, batch); err != nil {
			return err
		}
		x.mergeLater(s, id)
		return nil
	})
	if err != nil {
		return fmt.Errorf("writing %d rows of datastore %q: %w", len(rows), id.DatastoreID, err)
	}
	return nil
}

// writeBatch stores a batch in slots of its own: vectors first, then one transaction with all else. The caller holds writeMu.
func (s *space) writeBatch(ctx context.Context, batch []*prepared) error {
	if err := s.prepareWriting(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	end, oldest := s.current.slots, s.oldestReader()
	s.mu.Unlock()
	if uint64(end)+uint64(len(batch)) > maxSlots {
		return fmt.Errorf("the space is full: it has %d slots", end)
	}
	slots := s.slots.choose(len(batch), end, oldest)
	s.dropRows(slots)
	if err := s.writeVectors(slots, batch, end); err != nil {
		return err
	}
	if err := s.writePlaces(slots, batch, max(end, slots[len(slots)-1]+1)); err != nil {
		return err
	}
	epoch := s.current.epoch
	err := s.commit(ctx, func(tx *sql.Tx, next *snapshot) error {
		next.slots = max(end, slots[len(slots)-1]+1)
		if s.vectors != nil {
			next.vectors = s.vectors.view
		}
		if s.codes != nil {
			next.codes, next.fine = s.codes.view, s.fine.view
		}
		if s.places != nil {
			next.places = s.places.view
		}
		live := next.live.edit()
		if err := replaceKeys(ctx, tx, next, live, batch); err != nil {
			return err
		}
		if err := insertRows(ctx, tx, next, live, slots, batch); err != nil {
			return err
		}
		if err := insertSegment(ctx, tx, next, slots, batch); err != nil {
			return err
		}
		next.live = live.done()
		if err := storeLive(ctx, tx, live); err != nil {
			return err
		}
		return s.renewCodes(next)
	})
	if err != nil {
		return err
	}
	s.slots.taken(slots)
	s.adoptCodes(epoch)
	return nil
}

// maxSlots bounds a space; slots are numbered by 32 bits, and so many are far beyond what one machine scans.
const maxSlots = 1 << 30

// writeVectors puts the vectors, and their codes if the space has such, into slots that no reader sees, and makes
// them durable.
func (s *space) writeVectors(slots []uint32, batch []*prepared, end uint32) error {
	if s.vectors == nil {
		return nil
	}
	end = max(end, slots[len(slots)-1]+1)
	payloads := make([][]byte, len(batch))
	for i, p := range batch {
		payloads[i] = bytesOf(p.row.Vector)
	}
	if err := s.vectors.append(slots, payloads, end); err != nil {
		return err
	}
	if s.codes == nil {
		return nil
	}
	fine := make([][]byte, len(batch))
	for i, p := range batch {
		payloads[i], fine[i] = codesOf(s.coder, p.row.Vector)
	}
	if err := s.codes.append(slots, payloads, end); err != nil {
		return err
	}
	return s.fine.append(slots, fine, end)
}

// append grows the file, writes records and makes them durable.
func (f *slotFile) append(slots []uint32, payloads [][]byte, end uint32) error {
	if err := f.grow(end); err != nil {
		return err
	}
	if err := f.write(slots, payloads); err != nil {
		return err
	}
	return f.sync()
}

// replaceKeys removes the rows whose keys the batch brings again.
func replaceKeys(ctx context.Context, tx *sql.Tx, next *snapshot, live *bitsetEdit, batch []*prepared) error {
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
		if err := next.bury(rows, live); err != nil {
			return fmt.Errorf("replacing a row: %w", err)
		}
	}
	return nil
}

// hasKeys reports whether there is a row with one of the batch's keys. Mostly there is none, and one question tells.
func hasKeys(ctx context.Context, tx *sql.Tx, batch []*prepared) (has bool, err error) {
	keys := make([]string, len(batch))
	for i, p := range batch {
		keys[i] = p.row.Key
	}
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

// bury takes deleted rows out of the counters. It closes rows.
func (s *snapshot) bury(rows *sql.Rows, live *bitsetEdit) error {
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var slot uint32
		var length int64
		var lang analysis.Language
		if err := rows.Scan(&slot, &length, &lang); err != nil {
			return err
		}
		if slot >= s.slots || !(bitset{live.chunks}).has(slot) {
			return fmt.Errorf("%w: a row lies in slot %d, which is not live", index.ErrCorrupt, slot)
		}
		live.clear(slot)
		s.rows--
		s.length -= length
		if s.langs[lang]--; s.langs[lang] <= 0 {
			delete(s.langs, lang)
		}
	}
	return rows.Err()
}

func insertRows(ctx context.Context, tx *sql.Tx, next *snapshot, live *bitsetEdit, slots []uint32, batch []*prepared) error {
	insert, err := tx.PrepareContext(ctx, `INSERT INTO rows (`+rowColumns+`) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`)
	if err != nil {
		return fmt.Errorf("preparing to insert rows: %w", err)
	}
	defer func() { _ = insert.Close() }()
	for i, p := range batch {
		r := stored{Row: *p.row, slot: slots[i], length: int64(p.length), lang: string(p.lang), metadata: p.metadata}
		if r.metadata == nil {
			r.metadata = []byte{}
		}
		_, err := insert.ExecContext(ctx, r.slot, r.Key, r.DatasourceID, storedGeneration(r.Generation), r.Ordinal, r.length,
			r.lang, r.checksum(), r.Page, r.Offset, r.CustomID, r.Heading, r.Context, r.metadata, r.Text)
		if err != nil {
			return fmt.Errorf("inserting a row: %w", err)
		}
		live.set(r.slot)
		next.rows++
		next.length += r.length
		next.langs[p.lang]++
	}
	return nil
}

// insertSegment stores the batch's postings as a segment of its own. slots are ascending.
func insertSegment(ctx context.Context, tx *sql.Tx, next *snapshot, slots []uint32, batch []*prepared) error {
	w := newSegmentWriter(ctx, tx, next.nextBlock)
	for _, l := range invert(slots, batch) {
		if err := w.builder.add(l.term, l.postings); err != nil {
			return err
		}
	}
	set := roaring.BitmapOf(slots...)
	seg := segment{id: next.nextSegment, rows: int64(len(batch)), firstBlock: next.nextBlock}
	if err := w.finish(&seg, set); err != nil {
		return err
	}
	next.nextSegment++
	next.nextBlock = w.nextBlock
	next.segments = append(next.segments, seg)
	return nil
}

// inverted is a term and the rows that have it.
type inverted struct {
	term     string
	rows     int // that it was counted in, a facet perhaps twice
	postings []posting
}

// invert lists the rows of each term of a batch, in order of terms. slots are ascending.
func invert(slots []uint32, batch []*prepared) []inverted {
	total := 0
	for _, p := range batch {
		total += len(p.terms) + len(p.facets)
	}
	// Terms are looked up once, and all postings lie in one piece of memory.
	var lists []inverted
	at := make(map[string]int, total/4)
	which := make([]int, 0, total) // the list of each term of each row
	name := func(term string) {
		n, ok := at[term]
		if !ok {
			n = len(lists)
			at[term] = n
			lists = append(lists, inverted{term: term})
		}
		lists[n].rows++
		which = append(which, n)
	}
	for _, p := range batch {
		for _, t := range p.terms {
			name(t.term)
		}
		for _, f := range p.facets {
			name(f)
		}
	}
	room := make([]posting, total)
	for n := range lists {
		l := &lists[n]
		l.postings, room = room[:0:l.rows], room[l.rows:]
	}
	for i, p := range batch {
		for n, list := range which[:len(p.terms)] {
			l := &lists[list]
			l.postings = append(l.postings, posting{slots[i], p.terms[n].count, p.length})
		}
		for _, list := range which[len(p.terms):][:len(p.facets)] {
			l := &lists[list]
			if n := len(l.postings); n == 0 || l.postings[n-1].slot != slots[i] {
				l.postings = append(l.postings, posting{slots[i], 1, 0})
			}
		}
		which = which[len(p.terms)+len(p.facets):]
	}
	slices.SortFunc(lists, func(a, b inverted) int { return strings.Compare(a.term, b.term) })
	return lists
}

// segmentWriter stores blocks as they are built, and then the segment that they make.
type segmentWriter struct {
	ctx       context.Context
	tx        *sql.Tx
	nextBlock int64
	builder   blockBuilder
}

func newSegmentWriter(ctx context.Context, tx *sql.Tx, nextBlock int64) *segmentWriter {
	w := &segmentWriter{ctx: ctx, tx: tx, nextBlock: nextBlock}
	w.builder.put = func(block []byte) error {
		if _, err := w.tx.ExecContext(ctx, `INSERT INTO blocks (id, data) VALUES (?, ?)`, w.nextBlock, seal(w.nextBlock, block)); err != nil {
			return fmt.Errorf("storing a block of postings: %w", err)
		}
		w.nextBlock++
		return nil
	}
	return w
}

// finish stores the last block and the segment, whose number of blocks it sets.
func (w *segmentWriter) finish(seg *segment, slots *roaring.Bitmap) error {
	if err := w.builder.close(); err != nil {
		return err
	}
	seg.blocks = int64(len(w.builder.firsts))
	slots.RunOptimize()
	set, err := slots.ToBytes()
	if err != nil {
		return fmt.Errorf("encoding the slots of a segment: %w", err)
	}
	_, err = w.tx.ExecContext(w.ctx, `INSERT INTO segments (id, slots, directory) VALUES (?, ?, ?)`,
		seg.id, seal(seg.id, set), encodeDirectory(seg.id, w.builder.firsts))
	if err != nil {
		return fmt.Errorf("storing a segment: %w", err)
	}
	return nil
}

// byBlock lists the segments in order of their blocks.
func (s *snapshot) byBlock() []segment {
	return slices.SortedFunc(slices.Values(s.segments), func(a, b segment) int { return cmp.Compare(a.firstBlock, b.firstBlock) })
}
