package embedded

import (
	"cmp"
	"context"
	"errors"
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
	"github.com/sluice/sluice/pkg/index/embedded/lexical"
	"github.com/sluice/sluice/pkg/index/embedded/store"
	"github.com/sluice/sluice/pkg/index/embedded/vector"
	"github.com/sluice/sluice/pkg/processors"
)

// Options configures an Index. Zero values mean the defaults.
type Options struct {
	// MaxOpenSpaces is how many spaces are open at the same moment; an open one costs up to 24 file handles and, unless it
	// is searched, some 100 KB. Default 32.
	MaxOpenSpaces int
	// CacheBytes bounds the postings that are kept in memory for all spaces together. Default 32 MiB.
	CacheBytes int64
	// RowCacheBytes bounds the rows that are kept in memory, those found last, for all spaces together. Default 32 MiB.
	RowCacheBytes int64
	// Alarm, if set, is called when a space is found damaged or without its files: an audit is due. It must not wait for
	// the index.
	Alarm func()
	// sizes are others than the usual ones, in tests.
	sizes vector.Thresholds
	quiet time.Duration // likewise, after which a space that nobody writes to is settled
	// Log receives what nobody waits for: merges that went wrong. Default slog.Default().
	Log *slog.Logger
}

const (
	defaultOpenSpaces = 32
	defaultCacheBytes = 32 << 20
	defaultRowBytes   = 32 << 20
	// mergeQueue is how many spaces may wait for a merge; one that finds no room is queued by a later write.
	mergeQueue = 1024
	// droppedPrefix marks directories of dropped datastores that are still to be removed.
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
	changed  chan struct{} // closed and replaced whenever a waiter may go on
	tick     uint64        // orders uses
	opened   uint64        // numbers openings
	closed   bool

	analyzers analyzers

	slots    *semaphore.Weighted // of searches, see turns
	searches atomic.Uint64       // that were begun
	rested   atomic.Uint64       // searches when Rest was called last

	stop   context.CancelFunc
	merges chan index.Space
	queued sync.Map // index.Space → struct{}: those in merges
	merger sync.WaitGroup
	quiet  quietSpaces

	sizes     vector.Thresholds
	ivfQueue  chan index.Space
	ivfQueued sync.Map // index.Space → struct{}: those in cuts
	ivfWorker sync.WaitGroup
	building  ivfBuilds
}

var _ index.Index = (*Index)(nil)

// maxSearches is how many searches work at once; the others have their turn in the order in which they came. More than there are
// processors would take theirs from one another: whoever searches without a pause goes on until the scheduler notices, after ten
// milliseconds or more, which is several searches, and the last of those that wait has waited for all of these. Two at least, so
// that one that waits for the disk does not stop all.
func maxSearches() int64 { return int64(max(2, processors.Count())) }

// Open opens the index in a directory, which it makes if there is none. It opens no space yet. The caller must see to it
// that no other process uses the directory.
func Open(dir string, opts Options) (*Index, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the index directory: %w", err)
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
		caches: cache.NewCaches(cmp.Or(opts.CacheBytes, defaultCacheBytes), cmp.Or(opts.RowCacheBytes, defaultRowBytes)),
		slots:  semaphore.NewWeighted(maxSearches()), analyzers: newAnalyzers(processors.Count()),
		spaces:   make(map[spaceKey]*handle),
		dropping: make(map[string]bool), damaged: make(map[spaceKey]index.Space), changed: make(chan struct{}), merges: make(chan index.Space, mergeQueue),
		sizes: opts.sizes, ivfQueue: make(chan index.Space, mergeQueue),
	}
	if x.log == nil {
		x.log = slog.Default()
	}
	if x.alarm == nil {
		x.alarm = func() {}
	}
	x.quiet.begin(cmp.Or(opts.quiet, quietTime))
	x.merger.Go(func() { x.runMerges(ctx) })
	x.ivfWorker.Go(func() { x.runIVF(ctx) })
	return x, nil
}

// mergeLater queues a space, which was opened or written to, for the merger when it needs it.
func (x *Index) mergeLater(s *store.Space, id index.Space) {
	x.queueIVF(s, id)
	if s.NeedsSettling() {
		x.quiet.note(id)
	}
	if !s.NeedsMerge() {
		return
	}
	if _, waiting := x.queued.LoadOrStore(id, struct{}{}); waiting {
		return
	}
	select {
	case x.merges <- id:
	default:
		x.queued.Delete(id)
	}
}

// runMerges merges one space at a time until the index is closed.
func (x *Index) runMerges(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case id := <-x.merges:
			x.queued.Delete(id)
			x.mergeLogged(ctx, id, x.mergeAll)
		case <-x.quiet.due:
			for _, id := range x.quiet.take() {
				x.mergeLogged(ctx, id, x.settle)
			}
		}
	}
}

// mergeLogged merges for nobody who could be told that it went wrong.
func (x *Index) mergeLogged(ctx context.Context, id index.Space, merge func(context.Context, index.Space) error) {
	if err := merge(ctx, id); err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrNoSpace) && !errors.Is(err, index.ErrClosed) {
		x.log.Error("merging postings", "datastore", id.DatastoreID, "error", err)
	}
}

// mergeAll merges until nothing is left that has to be merged.
func (x *Index) mergeAll(ctx context.Context, id index.Space) error {
	return x.mergeWhile(ctx, id, lexical.Crowded)
}

// settle merges until a space has so few segments as one should have that nobody writes to, and has cells made that wait for that.
func (x *Index) settle(ctx context.Context, id index.Space) error {
	if err := x.mergeWhile(ctx, id, lexical.Unsettled); err != nil {
		return err
	}
	return x.use(ctx, id, false, func(s *store.Space) error {
		s.MarkIdle()
		x.queueIVF(s, id)
		return nil
	})
}

// mergeWhile merges as long as there are segments that choose picks.
func (x *Index) mergeWhile(ctx context.Context, id index.Space, choose func([]lexical.Segment) []lexical.Segment) error {
	for more := true; more; {
		err := x.use(ctx, id, false, func(s *store.Space) (err error) {
			more, err = s.Merge(ctx, choose)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Ready implements index.Index: the directory must be there. One that was deleted is made again, to be filled by replay.
func (x *Index) Ready(context.Context) error {
	if x.isClosed() {
		return index.ErrClosed
	}
	if err := os.MkdirAll(x.dir, 0o700); err != nil {
		return fmt.Errorf("looking at the index directory: %w", err)
	}
	return nil
}

func (x *Index) isClosed() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.closed
}

// Close implements index.Index. It waits for running calls.
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
	x.quiet.end()
	x.merger.Wait()
	x.ivfWorker.Wait()
	return x.closeSpaces(context.Background(), func(spaceKey) bool { return true })
}

// Rest gives up what is kept in memory for searches, unless there was one since Rest was called last: it is to be called from
// time to time, and the next search finds everything on disk. It returns about how many bytes it has given up. What is known of
// the words that were written goes, too: it takes a few hundredths of a second to learn again.
func (x *Index) Rest() (bytes int64) {
	x.analyzers.forget()
	if now := x.searches.Load(); x.rested.Swap(now) != now {
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
