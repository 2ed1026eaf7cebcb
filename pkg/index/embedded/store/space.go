// Package store stores a space's rows in a SQLite database and in files with one record per slot. It provides snapshots
// for readers, group commit for writers, merges and damage detection. The lexical and vector packages contain the
// algorithms that search a View. See docs/embedded-index.md.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/sluice/sluice/pkg/durable"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/cache"
	"github.com/sluice/sluice/pkg/index/embedded/lexical"
	"github.com/sluice/sluice/pkg/index/embedded/slotfile"
	"github.com/sluice/sluice/pkg/index/embedded/vector"
)

const (
	databaseName = "space.db"
	// Maximum number of reader connections. Further readers wait.
	readConnections = 4
)

// Space is an open space. Its methods are safe for concurrent use. The owner must count the space's users and call
// Close only once there are none.
type Space struct {
	dir    string
	files  []file // files that must not be replaced; see IsLost
	number uint64 // identifies this opening in cache keys
	caches cache.Caches
	reads  *sql.DB
	writes *sql.DB

	// Prepared statements for searches.
	readVersion, readRows, readDirectory, readBlock *sql.Stmt

	group     group            // batches waiting for writeMu
	writeMu   sync.Mutex       // held by the writer: a group commit, deletion or merge step
	vectors   vector.Files     // owned by the writer
	locations *slotfile.File   // owned by the writer; nil without locations
	failed    []*slotfile.File // owned by the writer: their commit failed, but a reader may use them
	slots     *freeSlots       // owned by the writer; nil until the first write
	mergeMu   sync.Mutex       // held by a merge
	ivfMu     sync.Mutex       // held while an IVF is being built

	mu      sync.Mutex
	current *Snapshot
	states  map[int64]*Snapshot // by version: those that a reader may still find in the database
	readers map[int64]int       // number of readers by the version they started with
	pinned  *Snapshot           // snapshot of the running IVF build
	idle    bool                // no writes for a while
	broken  bool                // the space must be reopened before its next use
	// The space is broken but can be read until it is reopened.
	readable bool
}

// ErrNotFound means that the space was never written.
var ErrNotFound = errors.New("the space does not exist")

// Open opens the space in a directory. If there is none, it creates one if `create` is set, and otherwise returns
// ErrNotFound. It returns index.ErrCorrupt if files are damaged or missing. `number` identifies this opening in cache
// keys and must not be used twice.
func Open(ctx context.Context, dir string, id index.Space, number uint64, c cache.Caches, z vector.Thresholds, create bool) (_ *Space, err error) {
	path := filepath.Join(dir, databaseName)
	if _, err := os.Stat(path); err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("checking whether the index database exists: %w", err)
		}
		if hasVectors(dir) {
			return nil, fmt.Errorf("%w: there are vectors, but no database", index.ErrCorrupt)
		}
		if !create {
			return nil, ErrNotFound
		}
		if err := makeDirs(dir); err != nil {
			return nil, err
		}
	}
	if err := writeIdentity(dir, id); err != nil {
		return nil, err
	}
	s := &Space{dir: dir, vectors: vector.Files{Dir: dir}, number: number, caches: c, states: make(map[int64]*Snapshot), readers: make(map[int64]int)}
	defer func() {
		if err != nil {
			err = corrupt(errors.Join(err, s.Close()))
		}
	}()
	if s.writes, err = openDB(path, true, 1); err != nil {
		return nil, err
	}
	if s.reads, err = openDB(path, false, readConnections); err != nil {
		return nil, err
	}
	first := &Snapshot{Set: vector.Set{Dimensions: id.Dimensions}, model: id.Model, nextSegment: 1, nextBlock: 1}
	if err := s.ensureTables(ctx, first); err != nil {
		return nil, err
	}
	snap, err := loadSnapshot(ctx, s.writes)
	if err != nil {
		return nil, err
	}
	snap.Thresholds = z
	if snap.model != id.Model || snap.Dimensions != id.Dimensions {
		return nil, fmt.Errorf("%w: the directory holds a space of model %q with %d dimensions", index.ErrCorrupt, snap.model, snap.Dimensions)
	}
	if err := s.vectors.Open(&snap.Set); err != nil {
		return nil, err
	}
	if err := s.openLocations(snap); err != nil {
		return nil, err
	}
	if snap.Slots == 0 {
		if err := durable.Dir(dir); err != nil {
			return nil, err
		}
	}
	if err := s.prepareReads(ctx); err != nil {
		return nil, err
	}
	s.current = snap
	s.states[snap.Version] = snap
	if err := s.recordFiles(); err != nil {
		return nil, err
	}
	return s, nil
}

// prepareReads prepares the statements for searches.
func (s *Space) prepareReads(ctx context.Context) (err error) {
	for statement, query := range map[**sql.Stmt]string{
		&s.readVersion: `SELECT version FROM state`, &s.readDirectory: `SELECT directory FROM segments WHERE id = ?`,
		&s.readBlock: `SELECT data FROM blocks WHERE id = ?`,
		&s.readRows:  `SELECT ` + rowColumns + ` FROM rows WHERE slot IN (SELECT value FROM json_each(?))`,
	} {
		if *statement, err = s.reads.PrepareContext(ctx, query); err != nil { //nolint:sqlclosecheck // Close closes them
			return fmt.Errorf("preparing %q: %w", query, err)
		}
	}
	return nil
}

// ensureTables creates the tables if the database is new. If there are vectors but no tables, the space is corrupt.
func (s *Space) ensureTables(ctx context.Context, first *Snapshot) error {
	var n int
	if err := s.writes.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema WHERE name = 'state'`).Scan(&n); err != nil {
		return fmt.Errorf("looking for tables: %w", err)
	}
	if n > 0 {
		return nil
	}
	if hasVectors(s.dir) {
		return fmt.Errorf("%w: there are vectors, but the database is empty", index.ErrCorrupt)
	}
	return createTables(ctx, s.writes, first)
}

// Close closes all files. The space must not be used afterwards.
func (s *Space) Close() error {
	var errs []error
	for _, stmt := range []*sql.Stmt{s.readVersion, s.readRows, s.readDirectory, s.readBlock} {
		if stmt != nil {
			errs = append(errs, stmt.Close())
		}
	}
	for _, db := range []*sql.DB{s.reads, s.writes} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	for _, f := range append(s.failed, s.locations) {
		errs = append(errs, f.Close())
	}
	errs = append(errs, s.vectors.Close())
	s.caches.Forget(s.number)
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("closing space: %w", err)
	}
	return nil
}

// errBroken is returned after a commit with an unknown outcome, until the space is reopened.
var errBroken = errors.New("the space is being reopened after a failed commit: try again")

// commit runs a write transaction. `change` edits the next snapshot and the database. The caller must hold writeMu.
func (s *Space) commit(ctx context.Context, change func(tx *sql.Tx, next *Snapshot) error) error {
	s.mu.Lock()
	next, broken := s.current.next(), s.broken
	s.mu.Unlock()
	if broken {
		return errBroken
	}
	tx, end, err := begin(ctx, s.writes, nil)
	if err != nil {
		return fmt.Errorf("starting to write: %w", corrupt(err))
	}
	defer end()
	if err := change(tx, next); err != nil {
		return corrupt(err)
	}
	body, err := next.encode()
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `UPDATE state SET version = ?, body = ?`, next.Version, body); err != nil {
		return fmt.Errorf("storing the state: %w", corrupt(err))
	}
	// Publish the snapshot before committing: a reader may see the new version in the database before Commit returns, and
	// needs the snapshot then.
	s.mu.Lock()
	s.states[next.Version] = next
	s.mu.Unlock()
	err = tx.Commit()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		// The outcome is unknown until the database has been read again.
		s.broken, s.readable = true, true
		return fmt.Errorf("committing: %w", corrupt(err))
	}
	s.current = next
	s.prune()
	return nil
}

// makeDirs durably creates a directory and its parents.
func makeDirs(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making directory: %w", err)
	}
	for _, d := range []string{filepath.Dir(filepath.Dir(dir)), filepath.Dir(dir), dir} {
		if err := durable.Dir(d); err != nil {
			return err
		}
	}
	return nil
}

// IsBroken reports whether the space must be reopened.
func (s *Space) IsBroken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken
}

// IsReadable reports whether a broken space can still be read, because only a commit failed. Readers then see the
// version before or after that commit, whichever is in the database.
func (s *Space) IsReadable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken && s.readable
}

// IsEmpty reports whether the space has no rows.
func (s *Space) IsEmpty() bool { return s.Snapshot().Rows == 0 }

// NeedsSettling reports whether there will be work to do once the space is idle: small segments to merge or a postponed
// IVF build.
func (s *Space) NeedsSettling() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(lexical.SegmentsToSettle(s.current.Segments)) > 0 || !s.idle && s.current.IVFWork(true) != s.current.IVFWork(false)
}

// NeedsMerge reports whether Merge may have something to do.
func (s *Space) NeedsMerge() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Do not merge an empty space, because its files will be removed.
	return s.current.Rows > 0 && (len(lexical.SegmentsToMerge(s.current.Segments)) > 0 || s.current.needsSweep() || s.current.NeedsCodes() || !s.current.HasLocations)
}

// NeedsIVF reports whether MaintainIVF has something to do.
func (s *Space) NeedsIVF() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current.IVFWork(s.idle) != vector.NoWork
}

// MarkIdle marks the space as idle, which means that there have been no writes for a while. The next write removes the
// mark.
func (s *Space) MarkIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = true
}

// IVFBroken reports whether a search has found the IVF damaged.
func (s *Space) IVFBroken() bool {
	ivf := s.Snapshot().IVF
	return ivf != nil && ivf.Broken.Load()
}

// ReleaseMemory closes all idle connections but one, and drops the remaining connection's cached pages. If a disk
// hangs, no connection can be opened, but an open connection can still read data from the operating system's page
// cache.
func (s *Space) ReleaseMemory() {
	s.reads.SetMaxIdleConns(1)
	defer s.reads.SetMaxIdleConns(readConnections)
	if s.reads.Stats().OpenConnections > 0 {
		_, _ = s.reads.ExecContext(context.Background(), `PRAGMA shrink_memory`) // the next read reports errors
	}
}
