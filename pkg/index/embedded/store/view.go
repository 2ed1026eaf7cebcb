package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/lexical"
)

// View is a reader's view of a space: a snapshot plus a database transaction at the same version. It is valid only
// inside the function that received it, in one goroutine.
type View struct {
	*Snapshot
	space   *Space
	reading *reading
}

// reading is a view's database transaction.
type reading struct {
	tx    *sql.Tx // nil until begun
	close func()  // ends the transaction
}

// errOutdatedView means that a write was committed before the view's transaction began.
var errOutdatedView = errors.New("the space has changed since the search began")

// Read calls f with a view of the last commit and a transaction that has already begun.
func (s *Space) Read(ctx context.Context, f func(View) error) error {
	defer s.removeReader(s.addReader().Version)
	r := &reading{}
	defer r.end()
	version, err := r.begin(ctx, s)
	if err != nil {
		return err
	}
	s.mu.Lock()
	snap := s.states[version]
	s.mu.Unlock()
	if snap == nil {
		return fmt.Errorf("%w: the database is at version %d, which this process did not write", index.ErrCorrupt, version)
	}
	return corrupt(f(View{snap, s, r}))
}

// ReadLazy calls f with a view that begins its transaction only if needed: reading memory or mapped files doesn't need
// one. If a write is committed before the transaction begins, ReadLazy calls f again with a new view.
func (s *Space) ReadLazy(ctx context.Context, f func(View) error) error {
	snap := s.addReader()
	defer s.removeReader(snap.Version)
	r := &reading{}
	err := f(View{snap, s, r})
	r.end()
	if errors.Is(err, errOutdatedView) {
		return s.Read(ctx, f)
	}
	return corrupt(err)
}

// transaction returns the view's transaction, beginning it if necessary. It returns errOutdatedView if a write has been
// committed since the view was created.
func (v View) transaction(ctx context.Context) (*sql.Tx, error) {
	if v.reading.tx != nil {
		return v.reading.tx, nil
	}
	version, err := v.reading.begin(ctx, v.space)
	if err != nil {
		return nil, err
	}
	if version != v.Version {
		return nil, errOutdatedView
	}
	return v.reading.tx, nil
}

// begin starts the transaction and returns its version.
func (r *reading) begin(ctx context.Context, s *Space) (version int64, err error) {
	if r.tx, r.close, err = begin(ctx, s.reads, &sql.TxOptions{ReadOnly: true}); err != nil {
		return 0, fmt.Errorf("starting to read: %w", err)
	}
	asked := r.tx.StmtContext(ctx, s.readVersion)
	defer func() { _ = asked.Close() }()
	if err := asked.QueryRowContext(ctx).Scan(&version); err != nil {
		return 0, fmt.Errorf("reading the version: %w", corrupt(err))
	}
	return version, nil
}

func (r *reading) end() {
	if r.tx != nil {
		r.close()
	}
}

// addReader adds a reader to the current snapshot and returns the snapshot. The snapshot's slots aren't reused until
// removeReader is called.
func (s *Space) addReader() *Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers[s.current.Version]++
	return s.current
}

func (s *Space) removeReader(version int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.readers[version]--; s.readers[version] == 0 {
		delete(s.readers, version)
	}
	s.prune()
}

// prune drops snapshots that readers can no longer use. The caller must hold mu.
func (s *Space) prune() {
	oldest := s.oldestReader()
	for v := range s.states {
		if v < oldest {
			delete(s.states, v)
		}
	}
}

// oldestReader returns the oldest version in use. The caller must hold mu.
func (s *Space) oldestReader() int64 {
	oldest := s.current.Version
	for v := range s.readers {
		oldest = min(oldest, v)
	}
	return oldest
}

// Lexical returns a reader for the postings.
func (v View) Lexical() lexical.Reader {
	return lexical.Reader{
		Slots: v.Slots, Rows: v.Rows, Length: v.length, Version: v.changed, Live: v.Live, Segments: v.Segments,
		OpenID: v.space.number, Caches: v.space.caches, Source: v,
	}
}

// Directory implements lexical.Source.
func (v View) Directory(ctx context.Context, segment int64) ([]byte, error) {
	return v.readBlob(ctx, v.space.readDirectory, segment)
}

// Block implements lexical.Source.
func (v View) Block(ctx context.Context, id int64) ([]byte, error) {
	return v.readBlob(ctx, v.space.readBlock, id)
}

func (v View) readBlob(ctx context.Context, prepared *sql.Stmt, id int64) (data []byte, err error) {
	tx, err := v.transaction(ctx)
	if err != nil {
		return nil, err
	}
	statement := tx.StmtContext(ctx, prepared)
	defer func() { _ = statement.Close() }()
	err = statement.QueryRowContext(ctx, id).Scan(&data)
	return data, err
}
