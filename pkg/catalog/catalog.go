package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// Options configure a Catalog.
type Options struct {
	Path string // of the SQLite database; its folder must exist
	// URL is the address of a PostgreSQL database, postgres://user:password@host:port/database, instead of Path. Its
	// schema is made on first use; several processes may share it, and may be started at once.
	URL string
	// Connections bounds the connections to PostgreSQL that requests and loops use; one or two more listen. 0:
	// DefaultConnections.
	Connections int
	// StartPatience is how long a PostgreSQL server is waited for that is not reached yet. 0: not at all.
	StartPatience time.Duration
	Log           *slog.Logger // nil: slog.Default()
	// Now is the clock of everything that is stored; nil: time.Now.
	Now func() time.Time
	// Aged is Now for what is deleted because it is old, by a clock that may be slower to believe that time has passed; nil: Now.
	Aged func() time.Time
	// MaxPagesPerSite bounds the pages of one web site, whatever the site itself asks for; 0: DefaultMaxPagesPerSite.
	MaxPagesPerSite int
	// MemoBytes bounds what is kept in memory of what queries ask, where no other process shares the database. 0:
	// DefaultMemoBytes.
	MemoBytes int64
	// Limits hold for every workspace, beside those that SetLimits has set for it; nil: none.
	Limits domain.Limits
}

// DefaultMemoBytes is Options.MemoBytes when it is 0.
const DefaultMemoBytes = 16 << 20

// DefaultMaxPagesPerSite is how many pages a web site may have when Options do not say.
const DefaultMaxPagesPerSite = 10_000

// Catalog is the store of metadata. All methods are safe for concurrent use.
type Catalog struct {
	db       *database
	log      *slog.Logger
	now      func() time.Time
	aged     func() time.Time // now, for what is deleted because it is old
	maxPages int
	limits   domain.Limits

	last       atomic.Int64  // the last stamp
	generation atomic.Uint64 // what the mark of generations is known to have reached
	touched    sync.Map      // key id → time.Time of the last use that was stored

	turnMu sync.Mutex
	turn   map[Priority]string // the workspace that was served last

	tally tally
	soon  soon

	outboxWake chan struct{}
	sweepWake  chan struct{}
	siteWake   chan struct{}
	notices    *notices // nil: no other process shares the database
	holds      holds
}

// Open opens the database at Options.Path or Options.URL, creates what is missing, and brings its schema up to date. It
// fails when the database was written by a newer version. No error holds the password of a URL.
func Open(ctx context.Context, o Options) (*Catalog, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Aged == nil {
		o.Aged = o.Now
	}
	if o.MaxPagesPerSite <= 0 {
		o.MaxPagesPerSite = DefaultMaxPagesPerSite
	}
	db, err := openDatabase(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("opening the catalog: %w", damage(err))
	}
	db.memo.max = cmp.Or(o.MemoBytes, DefaultMemoBytes)
	c := &Catalog{
		db:         db,
		log:        o.Log,
		now:        o.Now,
		aged:       o.Aged,
		maxPages:   o.MaxPagesPerSite,
		limits:     o.Limits,
		turn:       map[Priority]string{},
		outboxWake: make(chan struct{}, 1),
		sweepWake:  make(chan struct{}, 1),
		siteWake:   make(chan struct{}, 1),
		soon:       soon{turn: make(chan struct{}, 1)},
	}
	if err := db.migrate(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the catalog %s: %w", db.name, damage(err)), db.close())
	}
	c.notices = startNotices(ctx, c)
	// What an earlier process left is work too.
	signal(c.outboxWake)
	signal(c.sweepWake)
	signal(c.siteWake)
	return c, nil
}

func openDatabase(ctx context.Context, o Options) (*database, error) {
	switch {
	case o.Path != "" && o.URL != "":
		return nil, errors.New("both a path and a URL are given")
	case o.URL != "":
		return openPostgres(ctx, o)
	default:
		return openSQLite(ctx, o.Path)
	}
}

// Close stores what was counted, ends what listens and holds, and releases the database. It may be called twice.
func (c *Catalog) Close() error {
	c.endSoon()
	c.notices.stop()
	c.holds.releaseAll()
	return c.db.close()
}

// Ready reports whether the database answers and takes writes, and whether what this process holds is still held.
func (c *Catalog) Ready(ctx context.Context) error {
	if err := c.db.ready(ctx); err != nil {
		return fmt.Errorf("asking the catalog: %w", err)
	}
	return c.holds.check()
}

// OutboxWake receives after a commit that has put a job into the outbox, of this process or, with PostgreSQL, of
// another one, after one of this process by which a job in the stream has ended, so that there is a place for another,
// and once after opening. Several commits may be told as one. What another process has committed is not
// told for certain: look from time to time as well.
func (c *Catalog) OutboxWake() <-chan struct{} { return c.outboxWake }

// SweepWake receives after a commit that has queued a sweep, on the same terms as OutboxWake.
func (c *Catalog) SweepWake() <-chan struct{} { return c.sweepWake }

// SiteWake receives after a commit of this process that has left work on a site, and once after opening. What other
// processes leave is not told: look from time to time as well.
func (c *Catalog) SiteWake() <-chan struct{} { return c.siteWake }

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default: // a signal is waiting already
	}
}

// stamp is the time in microseconds, made strictly increasing within the process: what a process creates keeps its order
// in lists and in the outbox. Between processes the order is that of their clocks, so nothing may depend on it but the
// order itself: where two stamps are alike, ids decide in lists, and the outbox gives one of them a round later.
func (c *Catalog) stamp() int64 {
	for {
		last := c.last.Load()
		next := max(c.now().UnixMicro(), last+1)
		if c.last.CompareAndSwap(last, next) {
			return next
		}
	}
}

// update runs f in a write transaction and, once it has been committed, tells who waits for what f has queued. Where
// other processes share the database f may be run several times: see database.update.
func (c *Catalog) update(ctx context.Context, doing string, f func(*tx) error) error {
	t, err := c.db.update(ctx, f)
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if t.queuedJob || t.freedPlace {
		signal(c.outboxWake)
	}
	if t.queuedJob {
		c.notices.tell(noticeOutbox)
	}
	if t.queuedSweep {
		signal(c.sweepWake)
		c.notices.tell(noticeSweeps)
	}
	if t.queuedWork {
		signal(c.siteWake)
	}
	return nil
}
