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
	// readConnections is how many searches read a space's database at the same moment; more wait.
	readConnections = 4
)

// Space is one open space. Its owner counts the uses; see spaces.go.
type Space struct {
	dir    string
	files  []file // that must stay where they are
	number uint64 // of this opening: the cache's name for it
	caches cache.Caches
	reads  *sql.DB
	writes *sql.DB

	// What every search asks, prepared.
	readVersion, readRows, readDirectory, readBlock *sql.Stmt

	group     group            // of batches that wait for writeMu
	writeMu   sync.Mutex       // held by the one writer: a Write, a deletion, a step of a merge
	vectors   vector.Files     // writer's
	locations *slotfile.File   // writer's; nil without places
	failed    []*slotfile.File // writer's: files whose commit failed, which a reader may still have
	slots     *freeSlots       // writer's; nil until the first write
	mergeMu   sync.Mutex       // held by the one merge
	ivfMu     sync.Mutex       // held by the one that makes cells

	mu      sync.Mutex
	current *Snapshot
	states  map[int64]*Snapshot // those that a reader may still find itself at
	readers map[int64]int       // running readers by the version that was current when they began
	pinned  *Snapshot           // whose rows are being put into cells; nil when none are
	idle    bool                // nobody has written for a while
	broken  bool                // a commit ended without a clear answer: reopen before the next use
}

// ErrNoSpace says that a space has never been written.
var ErrNoSpace = errors.New("no such space")

// Open opens a space's directory, which it makes when create is set, else it returns errNoSpace when there is none.
func Open(ctx context.Context, dir string, id index.Space, number uint64, c cache.Caches, z vector.Thresholds, create bool) (_ *Space, err error) {
	path := filepath.Join(dir, databaseName)
	if _, err := os.Stat(path); err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("looking for space: %w", err)
		}
		if hasVectors(dir) {
			return nil, fmt.Errorf("%w: there are vectors and no database", index.ErrCorrupt)
		}
		if !create {
			return nil, ErrNoSpace
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
	if err := s.remember(); err != nil {
		return nil, err
	}
	return s, nil
}

// prepareReads prepares what every search asks.
func (s *Space) prepareReads(ctx context.Context) (err error) {
	if s.readVersion, err = s.reads.PrepareContext(ctx, `SELECT version FROM state`); err != nil {
		return fmt.Errorf("preparing to read the version: %w", err)
	}
	if s.readRows, err = s.reads.PrepareContext(ctx, `SELECT `+rowColumns+` FROM rows WHERE slot IN (SELECT value FROM json_each(?))`); err != nil {
		return fmt.Errorf("preparing to read rows: %w", err)
	}
	if s.readDirectory, err = s.reads.PrepareContext(ctx, `SELECT directory FROM segments WHERE id = ?`); err != nil {
		return fmt.Errorf("preparing to read directories: %w", err)
	}
	if s.readBlock, err = s.reads.PrepareContext(ctx, `SELECT data FROM blocks WHERE id = ?`); err != nil {
		return fmt.Errorf("preparing to read blocks: %w", err)
	}
	return nil
}

// ensureTables makes the tables of a new database. One that has lost its tables, though vectors were written, is corrupt.
func (s *Space) ensureTables(ctx context.Context, first *Snapshot) error {
	var n int
	if err := s.writes.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema WHERE name = 'state'`).Scan(&n); err != nil {
		return fmt.Errorf("looking for tables: %w", err)
	}
	if n > 0 {
		return nil
	}
	if hasVectors(s.dir) {
		return fmt.Errorf("%w: the database is empty beside vectors", index.ErrCorrupt)
	}
	return createTables(ctx, s.writes, first)
}

// Close releases everything. The owner has seen to it that nobody uses the space.
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
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	errs = append(errs, s.vectors.Close())
	s.caches.Forget(s.number)
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("closing space: %w", err)
	}
	return nil
}

// errBroken is returned by uses of a space between a commit without a clear answer and its reopening.
var errBroken = errors.New("the space is being reopened after a failed commit: try again")

// commit runs one write transaction: change edits the next snapshot and the database. The caller holds writeMu.
func (s *Space) commit(ctx context.Context, change func(tx *sql.Tx, next *Snapshot) error) error {
	s.mu.Lock()
	next, broken := s.current.next(), s.broken
	s.mu.Unlock()
	if broken {
		return errBroken
	}
	tx, end, err := begin(ctx, s.writes, nil)
	if err != nil {
		return fmt.Errorf("beginning to write: %w", corrupt(err))
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
	// A reader may see the new version as soon as it is committed, before Commit has returned: it must find the state.
	s.mu.Lock()
	s.states[next.Version] = next
	s.mu.Unlock()
	err = tx.Commit()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		// Whether the commit is on disk cannot be told from here: only reading it again tells.
		s.broken = true
		return fmt.Errorf("committing: %w", corrupt(err))
	}
	s.current = next
	s.prune()
	return nil
}

// makeDirs makes a directory and those above it, and makes their entries durable.
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

// IsEmpty reports whether the space has no rows.
func (s *Space) IsEmpty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current.Rows == 0
}

// NeedsSettling tells whether there is something to do once nobody writes to the space: it has more segments than it should have then,
// or cells wait for that.
func (s *Space) NeedsSettling() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(lexical.Unsettled(s.current.Segments)) > 0 || !s.idle && s.current.IVFWork(true) != s.current.IVFWork(false)
}

// NeedsMerge tells cheaply whether a merge may have something to do.
func (s *Space) NeedsMerge() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Of an empty space the files go, once nobody uses it.
	return s.current.Rows > 0 && (len(lexical.Crowded(s.current.Segments)) > 0 || s.current.manyDead() || s.current.NeedsCodes() || !s.current.HasLocations)
}

// NeedsIVF reports whether there is something to do about the lists.
func (s *Space) NeedsIVF() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current.IVFWork(s.idle) != vector.NoWork
}

// MarkIdle notes that nobody has written for a while.
func (s *Space) MarkIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = true
}

// IVFBroken reports whether a search has found the lists damaged.
func (s *Space) IVFBroken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current.IVF != nil && s.current.IVF.Broken.Load()
}

// ReleaseMemory closes connections that are open for the next reader, but for one, which keeps no pages: it can read what the system has
// in memory while the disk hangs, when none can be opened. Nobody reads the space.
func (s *Space) ReleaseMemory() {
	s.reads.SetMaxIdleConns(1)
	defer s.reads.SetMaxIdleConns(readConnections)
	if s.reads.Stats().OpenConnections > 0 {
		_, _ = s.reads.ExecContext(context.Background(), `PRAGMA shrink_memory`) // it says nothing, and cannot fail but where the next reader does
	}
}
