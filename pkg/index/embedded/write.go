package embedded

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

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
		if len(batch.rows) == 0 {
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

// prepare checks and analyses rows, and does for them what needs no slots: the writer of a space is one, and all wait for it.
func (x *Index) prepare(ctx context.Context, id index.Space, rows []index.Row) (*batch, error) {
	words, err := x.analyzers.borrow(ctx)
	if err != nil {
		return nil, err
	}
	defer x.analyzers.giveBack(words)
	out := make([]*prepared, 0, len(rows))
	at := make(map[string]int, len(rows))
	preparer := newPreparer(id.Dimensions, words)
	for i := range rows {
		p, err := preparer.prepare(&rows[i])
		if err != nil {
			return nil, fmt.Errorf("writing row %d with key %.80q: %w", i, rows[i].Key, err)
		}
		if j, ok := at[rows[i].Key]; ok {
			out[j] = p
			continue
		}
		at[rows[i].Key] = len(out)
		out = append(out, p)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("analysing rows: %w", ctx.Err())
		}
	}
	return batchOfRows(preparer.words, out), nil
}

// writeBatches stores batches, which have no key in common, in slots of their own: one transaction with all but what lies in the
// slots' files. These are written beside it, and are durable before it is committed. The caller holds writeMu.
func (s *space) writeBatches(ctx context.Context, batches []*batch) error {
	rows := rowsOf(batches)
	if err := s.prepareWriting(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	s.quiet = false
	current, oldest := s.current, s.oldestUse()
	s.mu.Unlock()
	end := current.slots
	if uint64(end)+uint64(len(rows)) > maxSlots {
		return fmt.Errorf("the space is full: it has %d slots", end)
	}
	slots := s.slots.choose(len(rows), end, oldest)
	end = max(end, slots[len(slots)-1]+1)
	s.dropRows(slots)
	makeCodesOf(rows, current) // for those whose codes are of an epoch that has passed while they waited
	files := s.writeFiles(slots, rows, end)
	postings := buildPostings(batches, slots)
	defer func() { // whatever becomes of the transaction, nothing goes on beside it
		_ = files.Wait()
		postings.Wait()
	}()
	err := s.commit(ctx, func(tx *sql.Tx, next *snapshot) error {
		next.slots = end
		live := next.live.edit()
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
		return s.renewCodes(ctx, next)
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
		files.Go(calmly(func() error {
			payloads := make([][]byte, len(batch))
			for i, p := range batch {
				payloads[i] = payload(p)
			}
			return f.append(slots, payloads, end)
		}))
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
		r.heading = index.StoredHeading(p.row)
		if r.metadata == nil {
			r.metadata = []byte{}
		}
		_, err := insert.ExecContext(ctx, r.slot, r.Key, r.DatasourceID, storedGeneration(r.Generation), r.Ordinal, r.length,
			r.lang, r.checksum(), r.Page, r.Offset, r.CustomID, r.heading, r.Context, r.metadata, r.Text)
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

// rowsOf lists the rows of batches.
func rowsOf(batches []*batch) []*prepared {
	if len(batches) == 1 {
		return batches[0].rows
	}
	var out []*prepared
	for _, b := range batches {
		out = append(out, b.rows...)
	}
	return out
}

// byBlock lists the segments in order of their blocks.
func (s *snapshot) byBlock() []segment {
	return slices.SortedFunc(slices.Values(s.segments), func(a, b segment) int { return cmp.Compare(a.firstBlock, b.firstBlock) })
}
