package engines

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
)

// Set holds engines shared by tests. An engine starts when it is first requested, and all callers get the same
// instance. If the start fails, it is not retried: all callers get the same error.
type Set struct {
	dir    string
	ctx    context.Context // for starting engines, which outlive the caller's context
	cancel context.CancelFunc

	postgresql lazyEngine[*PostgreSQL]
	milvus     lazyEngine[*Milvus]
	milvusLite lazyEngine[*MilvusLite]
	chromium   struct {
		sync.Once
		path string
		err  error
	}
}

// lazyEngine holds an engine that is started at most once, or the error from starting it.
type lazyEngine[E interface{ Stop() error }] struct {
	sync.Mutex
	done   bool
	engine E
	err    error
}

// NewSet returns a set whose engines store their data in a new temporary directory, which Stop deletes. Once the
// context is done, no more engines start, but running ones continue.
func NewSet(ctx context.Context) (*Set, error) {
	dir, err := os.MkdirTemp("", "sluice-engines-")
	if err != nil {
		return nil, err
	}
	s := &Set{dir: dir}
	s.ctx, s.cancel = context.WithCancel(ctx)
	return s, nil
}

// Time limit for starting an engine, including downloads.
const engineStartTimeout = downloadTimeout

// ErrStopped is returned after Stop.
var ErrStopped = errors.New("engines: the set is stopped")

// PostgreSQL returns the set's PostgreSQL, starting it if necessary.
func (s *Set) PostgreSQL() (*PostgreSQL, error) {
	return start(s, &s.postgresql, func(ctx context.Context) (*PostgreSQL, error) {
		return StartPostgreSQL(ctx, filepath.Join(s.dir, "postgresql"), PostgreSQLOptions{Temporary: true})
	})
}

// Milvus returns the set's Milvus, starting it if necessary.
func (s *Set) Milvus() (*Milvus, error) {
	return start(s, &s.milvus, func(ctx context.Context) (*Milvus, error) {
		return StartMilvus(ctx, filepath.Join(s.dir, "milvus"), MilvusOptions{Temporary: true})
	})
}

// MilvusLite returns the set's Milvus Lite, starting it if necessary.
func (s *Set) MilvusLite() (*MilvusLite, error) {
	return start(s, &s.milvusLite, func(ctx context.Context) (*MilvusLite, error) {
		return StartMilvusLite(ctx, filepath.Join(s.dir, "milvus-lite"), MilvusLiteOptions{Temporary: true})
	})
}

func (s *Set) postgresqlURL() (string, error) {
	e, err := s.PostgreSQL()
	if err != nil {
		return "", err
	}
	return e.URL(), nil
}

func (s *Set) milvusAddr() (string, error) {
	e, err := s.Milvus()
	if err != nil {
		return "", err
	}
	return e.Addr(), nil
}

func (s *Set) milvusLiteAddr() (string, error) {
	e, err := s.MilvusLite()
	if err != nil {
		return "", err
	}
	return e.Addr(), nil
}

// chromiumPath returns the path to a Chromium binary, installing it on the first call if necessary.
func (s *Set) chromiumPath() (string, error) {
	c := &s.chromium
	c.Do(func() {
		ctx, cancel := context.WithTimeout(s.ctx, engineStartTimeout)
		defer cancel()
		c.path, c.err = chromiumProgram(ctx)
	})
	return c.path, c.err
}

// start returns the engine, or the error from starting it. The first call does the work.
func start[E interface{ Stop() error }](s *Set, o *lazyEngine[E], start func(context.Context) (E, error)) (E, error) {
	o.Lock()
	defer o.Unlock()
	if o.done {
		return o.engine, o.err
	}
	if s.ctx.Err() != nil {
		var none E
		return none, ErrStopped
	}
	ctx, cancel := context.WithTimeout(s.ctx, engineStartTimeout)
	defer cancel()
	o.engine, o.err = start(ctx)
	o.done = true
	return o.engine, o.err
}

// Stop stops all engines, including those being started, and deletes all data. Calling it twice is safe.
func (s *Set) Stop() error {
	s.cancel()
	var faults [3]error
	var all sync.WaitGroup
	all.Go(func() { faults[0] = s.postgresql.stop() })
	all.Go(func() { faults[1] = s.milvus.stop() })
	all.Go(func() { faults[2] = s.milvusLite.stop() })
	all.Wait()
	return errors.Join(errors.Join(faults[:]...), os.RemoveAll(s.dir))
}

func (o *lazyEngine[E]) stop() error {
	o.Lock()
	defer o.Unlock()
	if !o.done || o.err != nil {
		return nil
	}
	return o.engine.Stop()
}

// Prepare installs Chromium and all missing engine programs concurrently.
func Prepare(ctx context.Context) error {
	var faults [4]error
	var all sync.WaitGroup
	all.Go(func() { _, faults[0] = postgresqlPrograms(ctx) })
	all.Go(func() { _, faults[1] = milvusWheel.install(ctx) })
	all.Go(func() { _, faults[2] = milvusLiteWheel.install(ctx) })
	all.Go(func() { _, faults[3] = chromiumProgram(ctx) })
	all.Wait()
	return errors.Join(faults[:]...)
}
