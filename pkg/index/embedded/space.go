package embedded

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
)

const (
	databaseName = "space.db"
	// readConnections is how many searches read a space's database at the same moment; more wait.
	readConnections = 4
)

// space is one open space. Its owner counts the uses; see spaces.go.
type space struct {
	dir    string
	files  []file // that must stay where they are
	number uint64 // of this opening: the cache's name for it
	caches
	reads  *sql.DB
	writes *sql.DB

	// What every search asks, prepared.
	readVersion, readRows, readDirectory, readBlock *sql.Stmt

	group   group       // of batches that wait for writeMu
	writeMu sync.Mutex  // held by the one writer: a Write, a deletion, a step of a merge
	vectors vectorFiles // writer's
	places  *slotFile   // writer's; nil without places
	failed  []*slotFile // writer's: files whose commit failed, which a reader may still have
	slots   *freeSlots  // writer's; nil until the first write
	mergeMu sync.Mutex  // held by the one merge
	cutMu   sync.Mutex  // held by the one that makes cells

	mu      sync.Mutex
	current *snapshot
	states  map[int64]*snapshot // those that a reader may still find itself at
	readers map[int64]int       // running readers by the version that was current when they began
	held    *snapshot           // whose rows are being put into cells; nil when none are
	quiet   bool                // nobody has written for a while
	broken  bool                // a commit ended without a clear answer: reopen before the next use
}

// errNoSpace says that a space has never been written.
var errNoSpace = errors.New("no such space")

// openSpace opens a space's directory, which it makes when create is set, else it returns errNoSpace when there is none.
func openSpace(ctx context.Context, dir string, id index.Space, number uint64, c caches, z sizes, create bool) (_ *space, err error) {
	path := filepath.Join(dir, databaseName)
	if _, err := os.Stat(path); err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("looking for space: %w", err)
		}
		if hasVectors(dir) {
			return nil, fmt.Errorf("%w: there are vectors and no database", index.ErrCorrupt)
		}
		if !create {
			return nil, errNoSpace
		}
		if err := makeDirs(dir); err != nil {
			return nil, err
		}
	}
	if err := writeName(dir, id); err != nil {
		return nil, err
	}
	s := &space{dir: dir, vectors: vectorFiles{dir: dir}, number: number, caches: c, states: make(map[int64]*snapshot), readers: make(map[int64]int)}
	defer func() {
		if err != nil {
			err = corrupt(errors.Join(err, s.close()))
		}
	}()
	if s.writes, err = openDB(path, true, 1); err != nil {
		return nil, err
	}
	if s.reads, err = openDB(path, false, readConnections); err != nil {
		return nil, err
	}
	first := &snapshot{vectorSet: vectorSet{dimensions: id.Dimensions}, model: id.Model, nextSegment: 1, nextBlock: 1}
	if err := s.ensureTables(ctx, first); err != nil {
		return nil, err
	}
	snap, err := loadSnapshot(ctx, s.writes)
	if err != nil {
		return nil, err
	}
	snap.sizes = z
	if snap.model != id.Model || snap.dimensions != id.Dimensions {
		return nil, fmt.Errorf("%w: the directory holds a space of model %q with %d dimensions", index.ErrCorrupt, snap.model, snap.dimensions)
	}
	if err := s.vectors.open(&snap.vectorSet); err != nil {
		return nil, err
	}
	if err := s.openPlaces(snap); err != nil {
		return nil, err
	}
	if snap.slots == 0 {
		if err := durable.Dir(dir); err != nil {
			return nil, err
		}
	}
	if err := s.prepareReads(ctx); err != nil {
		return nil, err
	}
	s.current = snap
	s.states[snap.version] = snap
	if err := s.remember(); err != nil {
		return nil, err
	}
	return s, nil
}

// prepareReads prepares what every search asks.
func (s *space) prepareReads(ctx context.Context) (err error) {
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
func (s *space) ensureTables(ctx context.Context, first *snapshot) error {
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

// close releases everything. The owner has seen to it that nobody uses the space.
func (s *space) close() error {
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
	for _, f := range append(s.failed, s.places) {
		if f != nil {
			errs = append(errs, f.close())
		}
	}
	errs = append(errs, s.vectors.close())
	s.forget(s.number)
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("closing space: %w", err)
	}
	return nil
}

// errBroken is returned by uses of a space between a commit without a clear answer and its reopening.
var errBroken = errors.New("the space is being reopened after a failed commit: try again")

// commit runs one write transaction: change edits the next snapshot and the database. The caller holds writeMu.
func (s *space) commit(ctx context.Context, change func(tx *sql.Tx, next *snapshot) error) error {
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
	if _, err := tx.ExecContext(ctx, `UPDATE state SET version = ?, body = ?`, next.version, body); err != nil {
		return fmt.Errorf("storing the state: %w", corrupt(err))
	}
	// A reader may see the new version as soon as it is committed, before Commit has returned: it must find the state.
	s.mu.Lock()
	s.states[next.version] = next
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

// isBroken reports whether the space must be reopened.
func (s *space) isBroken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken
}

// isEmpty reports whether the space has no rows.
func (s *space) isEmpty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current.rows == 0
}

// wantsSettling tells whether there is something to do once nobody writes to the space: it has more segments than it should have then,
// or cells wait for that.
func (s *space) wantsSettling() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(unsettled(s.current.segments)) > 0 || !s.quiet && s.current.wantsCells(true) != s.current.wantsCells(false)
}

// wantsMerge tells cheaply whether a merge may have something to do.
func (s *space) wantsMerge() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Of an empty space the files go, once nobody uses it.
	return s.current.rows > 0 && (len(crowded(s.current.segments)) > 0 || s.current.manyDead() || s.current.wantsCodes() || !s.current.placed)
}

// needsIVF reports whether there is something to do about the lists.
func (s *space) needsIVF() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current.wantsCells(s.quiet) != cellsDone
}

// markQuiet notes that nobody has written for a while.
func (s *space) markQuiet() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quiet = true
}

// cellsBroken reports whether a search has found the lists damaged.
func (s *space) cellsBroken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current.cells != nil && s.current.cells.broken.Load()
}

// rest closes connections that are open for the next reader, but for one, which keeps no pages: it can read what the system has
// in memory while the disk hangs, when none can be opened. Nobody reads the space.
func (s *space) rest() {
	s.reads.SetMaxIdleConns(1)
	defer s.reads.SetMaxIdleConns(readConnections)
	if s.reads.Stats().OpenConnections > 0 {
		_, _ = s.reads.ExecContext(context.Background(), `PRAGMA shrink_memory`) // it says nothing, and cannot fail but where the next reader does
	}
}
