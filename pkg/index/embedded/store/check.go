package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/lexical"
)

// Check compares everything with its checksum.
func (v View) Check(ctx context.Context) error {
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
	words := v.Lexical()
	for _, seg := range v.Segments {
		if _, err := segmentSlots(ctx, v.reading.tx, seg.ID); err != nil {
			return err
		}
		if _, err := words.Directory(ctx, seg); err != nil {
			return err
		}
	}
	if err := words.EachTerm(ctx, v.Segments, func(string, []lexical.Posting) error { return nil }); err != nil {
		return err
	}
	for w := range v.Groups() {
		if !v.HasLocations {
			break
		}
		if err := v.locations.Check(w, v.Live.Word(w)); err != nil {
			return err
		}
	}
	if v.Dimensions == 0 {
		return nil
	}
	for w := range v.Groups() {
		if err := v.Full.Check(w, v.Live.Word(w)); err != nil {
			return err
		}
		if !v.HasCodes() {
			continue
		}
		if err := errors.Join(v.Bits.Check(w, v.Live.Word(w)), v.Int8.Check(w, v.Live.Word(w))); err != nil {
			return err
		}
	}
	if v.IVF.Usable() {
		_ = v.IVF.Verify() // what is damaged of them is noted, and made anew
	}
	return nil
}

func (v View) checkRows(ctx context.Context) error {
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
		if r.slot >= v.Slots || !v.Live.Has(r.slot) {
			return fmt.Errorf("%w: a row lies in slot %d, which is not live", index.ErrCorrupt, r.slot)
		}
		n++
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("reading rows: %w", err)
	}
	if n != v.Rows {
		return fmt.Errorf("%w: there are %d rows, the state counts %d", index.ErrCorrupt, n, v.Rows)
	}
	return nil
}
