package embedded

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/index"
)

// Write implements index.Index. A key that comes twice in one call keeps its last row.
func (x *Index) Write(ctx context.Context, id index.Space, rows []index.Row) error {
	batch, err := x.prepare(ctx, id, rows)
	if err != nil {
		return err
	}
	err = x.use(ctx, id, true, func(s *space) error {
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

// prepare checks and analyses rows.
func (x *Index) prepare(ctx context.Context, id index.Space, rows []index.Row) ([]*prepared, error) {
	words, err := x.analyzers.borrow(ctx)
	if err != nil {
		return nil, err
	}
	defer x.analyzers.giveBack(words)
	batch := make([]*prepared, 0, len(rows))
	at := make(map[string]int, len(rows))
	preparer := newPreparer(id.Dimensions, words)
	for i := range rows {
		p, err := preparer.prepare(&rows[i])
		if err != nil {
			return nil, fmt.Errorf("writing row %d with key %.80q: %w", i, rows[i].Key, err)
		}
		if j, ok := at[rows[i].Key]; ok {
			batch[j] = p
			continue
		}
		at[rows[i].Key] = len(batch)
		batch = append(batch, p)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("analysing rows: %w", ctx.Err())
		}
	}
	return batch, nil
}

// writeBatch stores a batch in slots of its own: one transaction has all but what lies in the slots' files, which are written beside it
// and are durable before it is committed. The caller holds writeMu.
func (s *space) writeBatch(ctx context.Context, batch []*prepared) error {
	if err := s.prepareWriting(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	s.quiet = false
	current, oldest := s.current, s.oldestUse()
	s.mu.Unlock()
	end := current.slots
	if uint64(end)+uint64(len(batch)) > maxSlots {
		return fmt.Errorf("the space is full: it has %d slots", end)
	}
	slots := s.slots.choose(len(batch), end, oldest)
	end = max(end, slots[len(slots)-1]+1)
	s.dropRows(slots)
	makeCodesOf(batch, current) // of those whose codes are of an epoch that has passed while they waited
	files := s.writeFiles(slots, batch, end)
	defer func() { _ = files.Wait() }() // whatever becomes of the transaction, nobody has the files any more
	err := s.commit(ctx, func(tx *sql.Tx, next *snapshot) error {
		next.slots = end
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
		if err := next.unlist(ctx, tx, slots); err != nil {
			return err
		}
		if err := files.Wait(); err != nil {
			return err
		}
		s.see(next)
		return s.renewCodes(next)
	})
	if err != nil {
		return err
	}
	s.slots.taken(slots)
	s.adoptCodes(current.epoch)
	return nil
}

// maxSlots bounds a space; slots are numbered by 32 bits, and so many are far beyond what one machine scans.
const maxSlots = 1 << 30

// writeFiles puts what searches read of rows without asking the database into slots that no reader sees, and makes it durable. Each file
// is written by a goroutine of its own, so that the disk is waited for once; they have the files until they have been waited for.
func (s *space) writeFiles(slots []uint32, batch []*prepared, end uint32) *errgroup.Group {
	files := new(errgroup.Group)
	write := func(f *slotFile, payload func(*prepared) []byte) {
		if f == nil {
			return
		}
		files.Go(func() error {
			payloads := make([][]byte, len(batch))
			for i, p := range batch {
				payloads[i] = payload(p)
			}
			return f.append(slots, payloads, end)
		})
	}
	write(s.vectors, func(p *prepared) []byte { return bytesOf(p.row.Vector) })
	write(s.codes, func(p *prepared) []byte { return p.code })
	write(s.fine, func(p *prepared) []byte { return p.fine })
	write(s.places, (*prepared).place)
	return files
}

// see shows a snapshot what was written to the slots' files.
func (s *space) see(next *snapshot) {
	if s.vectors != nil {
		next.vectors = s.vectors.view
	}
	if s.codes != nil {
		next.codes, next.fine = s.codes.view, s.fine.view
	}
	if s.places != nil {
		next.places = s.places.view
	}
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
		s.changed = s.version
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
		next.changed = next.version
		next.rows++
		next.length += r.length
		next.langs[p.lang]++
	}
	return nil
}

// insertSegment stores the batch's postings as a segment of its own. slots are ascending.
func insertSegment(ctx context.Context, tx *sql.Tx, next *snapshot, slots []uint32, batch []*prepared) error {
	w := newSegmentWriter(ctx, tx, next.nextBlock)
	if err := eachInOrder(invert(slots, batch), func(l inverted) error { return w.builder.add(l.term, l.postings) }); err != nil {
		return err
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
