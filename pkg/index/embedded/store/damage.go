package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/lexical"
	"github.com/sluice/sluice/pkg/index/embedded/slotfile"
	"github.com/sluice/sluice/pkg/index/embedded/vector"
)

// Check verifies the space's checksums and row count and returns index.ErrCorrupt for any mismatch. A damaged IVF is
// not an error: it is only marked as broken, so that it is rebuilt in the background.
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
	var views []slotfile.View
	if v.HasLocations {
		views = append(views, v.locations)
	}
	if v.Dimensions > 0 {
		views = append(views, v.Full)
	}
	if v.HasCodes() {
		views = append(views, v.Bits, v.Int8)
	}
	for _, view := range views {
		for w := range v.Groups() {
			if err := view.Check(w, v.Live.Word(w)); err != nil {
				return err
			}
		}
	}
	if v.IVF.Usable() {
		_ = v.IVF.Verify() // marks a damaged IVF for rebuilding
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
			return fmt.Errorf("%w: there is a row in slot %d, which is not live", index.ErrCorrupt, r.slot)
		}
		n++
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("reading rows: %w", err)
	}
	if n != v.Rows {
		return fmt.Errorf("%w: there are %d rows, but the state records %d", index.ErrCorrupt, n, v.Rows)
	}
	return nil
}

// corrupt wraps an SQLite error in index.ErrCorrupt if it indicates damage. Every statement is constant and selects
// rows that must exist, so an invalid statement or a missing row also indicates damage.
func corrupt(err error) error {
	if errors.Is(err, index.ErrCorrupt) {
		return err
	}
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%w: %w", index.ErrCorrupt, err)
	}
	if se, ok := errors.AsType[*sqlite.Error](err); ok {
		switch se.Code() & 0xff {
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR:
			return fmt.Errorf("%w: %w", index.ErrCorrupt, err)
		}
	}
	return err
}

// ErrLost is returned by writes to a space whose files are gone.
var ErrLost = errors.New("the space's files were deleted while they were in use: try again")

// file is one of a space's open files. If the file is deleted or replaced on disk, later writes are lost.
type file struct {
	path string
	info os.FileInfo
}

func (s *Space) recordFiles() error {
	paths := []string{filepath.Join(s.dir, databaseName)}
	if s.vectors.Full != nil {
		paths = append(paths, s.vectors.Full.Path)
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return fmt.Errorf("checking the open files: %w", err)
		}
		s.files = append(s.files, file{path, info})
	}
	return nil
}

// IsLost reports whether an open file of the space, or a directory above it, was deleted, moved or replaced. It takes a
// few microseconds.
func (s *Space) IsLost() bool {
	for _, f := range s.files {
		info, err := os.Stat(f.path)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(info, f.info) {
			return true
		}
	}
	return false
}

// hasVectors reports whether a directory contains vectors.
func hasVectors(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, vector.FileName))
	return err == nil && info.Size() > 0
}

// MarkForReopen makes sure that the space is reopened before its next use. It returns false if the space already had to
// be reopened.
func (s *Space) MarkForReopen() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.broken
	s.broken, s.readable = true, false
	return !was
}

// Present reports whether a directory contains a space or parts of one.
func Present(dir string) bool { return Exists(filepath.Join(dir, databaseName)) || hasVectors(dir) }

// Exists reports whether a file exists or might exist: only a not-exist error counts as absence.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, os.ErrNotExist)
}
