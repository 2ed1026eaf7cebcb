package embedded

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice/sluice/pkg/index"
)

// check compares everything with its checksum.
func (v view) check(ctx context.Context) error {
	var verdict string
	if err := v.reading.tx.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&verdict); err != nil {
		return fmt.Errorf("checking the database: %w", err)
	}
	if verdict != "ok" {
		return fmt.Errorf("%w: the database is damaged: %s", index.ErrCorrupt, verdict)
	}
	if err := v.checkRows(ctx); err != nil {
		return err
	}
	words := v.lexical()
	for _, seg := range v.segments {
		if _, err := segmentSlots(ctx, v.reading.tx, seg.id); err != nil {
			return err
		}
		if _, err := words.directory(ctx, seg); err != nil {
			return err
		}
	}
	if err := words.eachTerm(ctx, v.segments, func(string, []posting) error { return nil }); err != nil {
		return err
	}
	for w := range v.groups() {
		if !v.placed {
			break
		}
		if err := v.places.check(w, v.live.word(w)); err != nil {
			return err
		}
	}
	if v.dimensions == 0 {
		return nil
	}
	for w := range v.groups() {
		if err := v.vectors.check(w, v.live.word(w)); err != nil {
			return err
		}
		if !v.coded() {
			continue
		}
		if err := errors.Join(v.codes.check(w, v.live.word(w)), v.fine.check(w, v.live.word(w))); err != nil {
			return err
		}
	}
	if v.cells.usable() {
		_ = v.cells.verify() // what is damaged of them is noted, and made anew
	}
	return nil
}

func (v view) checkRows(ctx context.Context) error {
	rows, err := v.reading.tx.QueryContext(ctx, `SELECT `+rowColumns+` FROM rows`)
	if err != nil {
		return fmt.Errorf("reading rows: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var n int64
	for rows.Next() {
		r, err := scanRow(rows.Scan)
		if err != nil {
			return err
		}
		if err := r.decodeMetadata(); err != nil {
			return err
		}
		if r.slot >= v.slots || !v.live.has(r.slot) {
			return fmt.Errorf("%w: a row lies in slot %d, which is not live", index.ErrCorrupt, r.slot)
		}
		n++
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("reading rows: %w", err)
	}
	if n != v.rows {
		return fmt.Errorf("%w: there are %d rows, the state counts %d", index.ErrCorrupt, n, v.rows)
	}
	return nil
}
