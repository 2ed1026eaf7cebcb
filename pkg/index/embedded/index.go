package embedded

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/cache"
	"github.com/sluice/sluice/pkg/index/embedded/vector"
	"github.com/sluice/sluice/pkg/processors"
)

// Options configures an Index. Zero values select the defaults.
type Options struct {
	// MaxOpenSpaces is the maximum number of open spaces. Each one uses up to 24 file handles and, between searches, 100
	// KB of memory. Default 32.
	MaxOpenSpaces int
	// CacheBytes is the size in bytes of the postings cache, which all spaces share. Default 32 MiB.
	CacheBytes int64
	// RowCacheBytes is the size in bytes of the cache for recently read rows, which all spaces share. Default 32 MiB.
	RowCacheBytes int64
	// Alarm, if not nil, is called when a space's files are found damaged or missing, so that an audit can start. The
	// index waits for Alarm to return, so Alarm must return immediately and must not use the index.
	Alarm func()
	// Set only by tests.
	sizes     vector.Thresholds
	testWrite func(dir string) error // default: testWrite
	idleTime  time.Duration          // time without writes after which a space is settled
	// Log receives errors from background work. Defaults to slog.Default().
	Log *slog.Logger
}

const (
	defaultOpenSpaces = 32
	defaultCacheBytes = 32 << 20
	defaultRowBytes   = 32 << 20
	// Maximum number of spaces waiting for a merge. The same limit applies to spaces waiting for an IVF build.
	mergeQueue = 1024
	// droppedPrefix is the prefix of directories that are being deleted.
	droppedPrefix = ".dropped-"
)

// Index is the embedded engine. It implements index.Index.
type Index struct {
	dir    string
	max    int
	log    *slog.Logger
	alarm  func()
	caches cache.Caches

	mu       sync.Mutex
	spaces   map[spaceKey]*handle
	dropping map[string]bool // datastores being dropped
	damaged  map[spaceKey]index.Space
	changed  chan struct{} // closed and replaced when waiters should check again
	useCount uint64        // logical clock
	opened   uint64        // spaces opened so far
	closed   bool

	analyzers analyzers

	permits         *semaphore.Weighted // limits concurrent searches: see maxSearches
	searches        atomic.Uint64       // number of searches started
	searchesAtClear atomic.Uint64       // value of searches at the last ClearIdleCaches

	stop       context.CancelFunc
	merges     queue
	merger     sync.WaitGroup
	idleSpaces idleSpaces

	sizes     vector.Thresholds
	ivfs      queue // spaces whose IVF build is due
	ivfWorker sync.WaitGroup
	building  ivfBuilds

	closing   chan struct{} // closed by Close
	testWrite func(dir string) error
	diskTests sync.WaitGroup // tests of the disk after failed commits
}

var _ index.Index = (*Index)(nil)

// maxSearches returns the maximum number of concurrent searches. Further searches wait in order of arrival. If there
// were more searches than processors, the scheduler could suspend one for 10 ms, long enough to run several others. The
// minimum of two keeps a search that waits for the disk from blocking all others.
func maxSearches() int64 { return int64(max(2, processors.Count())) }

// Open opens the index in a directory, creating it if necessary. It does not open spaces. The caller must make sure
// that no other process uses the directory.
func Open(dir string, opts Options) (*Index, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating the index directory: %w", err)
	}
	left, err := filepath.Glob(filepath.Join(dir, droppedPrefix+"*"))
	if err != nil {
		return nil, fmt.Errorf("looking for dropped datastores: %w", err)
	}
	for _, path := range left {
		if err := os.RemoveAll(path); err != nil {
			return nil, fmt.Errorf("removing a dropped datastore: %w", err)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	x := &Index{
		dir: dir, max: cmp.Or(opts.MaxOpenSpaces, defaultOpenSpaces), log: opts.Log, alarm: opts.Alarm, stop: stop,
		caches:  cache.NewCaches(cmp.Or(opts.CacheBytes, defaultCacheBytes), cmp.Or(opts.RowCacheBytes, defaultRowBytes)),
		permits: semaphore.NewWeighted(maxSearches()), analyzers: newAnalyzers(processors.Count()),
		spaces:  make(map[spaceKey]*handle),
		closing: make(chan struct{}), testWrite: opts.testWrite,
		dropping: make(map[string]bool), damaged: make(map[spaceKey]index.Space), changed: make(chan struct{}), merges: queue{spaces: make(chan index.Space, mergeQueue)},
		sizes: opts.sizes, ivfs: queue{spaces: make(chan index.Space, mergeQueue)},
	}
	x.log = cmp.Or(x.log, slog.Default())
	if x.testWrite == nil {
		x.testWrite = testWrite
	}
	if x.alarm == nil {
		x.alarm = func() {}
	}
	x.idleSpaces.begin(cmp.Or(opts.idleTime, idleTime))
	x.merger.Go(func() { x.runMerges(ctx) })
	x.ivfWorker.Go(func() { x.runIVF(ctx) })
	return x, nil
}

// Ready implements index.Index. If the index directory was deleted, Ready recreates it for a replay to fill.
func (x *Index) Ready(context.Context) error {
	if x.isClosed() {
		return index.ErrClosed
	}
	if err := os.MkdirAll(x.dir, 0o700); err != nil {
		return fmt.Errorf("reading the index directory: %w", err)
	}
	return nil
}

func (x *Index) isClosed() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.closed
}

// Close implements index.Index. It waits for calls in progress.
func (x *Index) Close() error {
	x.mu.Lock()
	if x.closed {
		x.mu.Unlock()
		return nil
	}
	x.closed = true
	x.broadcast()
	x.mu.Unlock()
	x.stop()
	close(x.closing)
	x.diskTests.Wait()
	x.idleSpaces.end()
	x.merger.Wait()
	x.ivfWorker.Wait()
	return x.closeSpaces(context.Background(), func(spaceKey) bool { return true })
}

// ClearIdleCaches drops the analysers' caches. If no search has started since the last call, it also drops the other
// caches and closes idle connections. Call it periodically. It returns the approximate number of bytes it freed.
func (x *Index) ClearIdleCaches() (bytes int64) {
	x.analyzers.clear()
	if now := x.searches.Load(); x.searchesAtClear.Swap(now) != now {
		return 0
	}
	bytes = x.caches.Clear()
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, h := range x.spaces {
		if h.state == open && h.refs == 0 {
			h.space.ReleaseMemory()
		}
	}
	return bytes
}
