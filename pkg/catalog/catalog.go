package catalog

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pressly/goose/v3"
)

// Options configure a Catalog.
type Options struct {
	Path string       // of the SQLite database; its folder must exist
	Log  *slog.Logger // nil: slog.Default()
	// Now is the clock of everything that is stored; nil: time.Now.
	Now func() time.Time
	// MaxPagesPerSite bounds the pages of one web site, whatever the site itself asks for; 0: DefaultMaxPagesPerSite.
	MaxPagesPerSite int
}

// DefaultMaxPagesPerSite is how many pages a web site may have when Options do not say.
const DefaultMaxPagesPerSite = 10_000

// Catalog is the store of metadata. All methods are safe for concurrent use.
type Catalog struct {
	db       *database
	log      *slog.Logger
	now      func() time.Time
	maxPages int

	last       atomic.Int64  // the last stamp
	generation atomic.Uint64 // what the mark of generations is known to have reached
	touched    sync.Map      // key id → time.Time of the last use that was stored

	turnMu sync.Mutex
	turn   map[Priority]string // the workspace that was served last

	outboxWake chan struct{}
	sweepWake  chan struct{}
}

//go:embed migrations/*.sql
var migrations embed.FS

// Open opens the database at Options.Path, creates it when there is none, and brings its schema up to date. It fails
// when the database was written by a newer version.
func Open(ctx context.Context, o Options) (*Catalog, error) {
	if o.Path == "" {
		return nil, errors.New("opening the catalog: no path given")
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MaxPagesPerSite <= 0 {
		o.MaxPagesPerSite = DefaultMaxPagesPerSite
	}
	db, err := openSQLite(ctx, o.Path)
	if err != nil {
		return nil, fmt.Errorf("opening the catalog %s: %w", o.Path, err)
	}
	c := &Catalog{
		db:         db,
		log:        o.Log,
		now:        o.Now,
		maxPages:   o.MaxPagesPerSite,
		turn:       map[Priority]string{},
		outboxWake: make(chan struct{}, 1),
		sweepWake:  make(chan struct{}, 1),
	}
	if err := c.migrate(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the catalog %s: %w", o.Path, err), db.close())
	}
	// What an earlier process left is work too.
	signal(c.outboxWake)
	signal(c.sweepWake)
	return c, nil
}

func (c *Catalog) migrate(ctx context.Context) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return fmt.Errorf("reading migrations: %w", err)
	}
	p, err := goose.NewProvider(c.db.dialect.goose, c.db.write, files)
	if err != nil {
		return fmt.Errorf("reading migrations: %w", err)
	}
	have, want, err := p.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("reading the schema's version: %w", err)
	}
	if have > want {
		return fmt.Errorf("its schema has version %d, this program knows versions up to %d: use a newer version of the program", have, want)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrating the schema: %w", err)
	}
	return nil
}

// Close releases the database. It may be called twice.
func (c *Catalog) Close() error { return c.db.close() }

// Ready reports whether the database answers.
func (c *Catalog) Ready(ctx context.Context) error {
	var one int
	if err := c.db.read.queryRow(ctx, `SELECT 1`).Scan(&one); err != nil {
		return fmt.Errorf("asking the catalog: %w", err)
	}
	return nil
}

// OutboxWake receives after a commit that has put a job into the outbox, and once after opening. Several commits may
// be told as one. What other processes put there is not told: look from time to time as well.
func (c *Catalog) OutboxWake() <-chan struct{} { return c.outboxWake }

// SweepWake receives after a commit that has queued a sweep, on the same terms as OutboxWake.
func (c *Catalog) SweepWake() <-chan struct{} { return c.sweepWake }

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default: // a signal is waiting already
	}
}

// stamp is the time in microseconds, made strictly increasing within the process: what is created in one transaction
// keeps its order in lists and in the outbox.
func (c *Catalog) stamp() int64 {
	for {
		last := c.last.Load()
		next := max(c.now().UnixMicro(), last+1)
		if c.last.CompareAndSwap(last, next) {
			return next
		}
	}
}

// update runs f in a write transaction and, once it has been committed, tells who waits for what f has queued.
func (c *Catalog) update(ctx context.Context, doing string, f func(*tx) error) error {
	t := &tx{}
	err := c.db.update(ctx, t, f)
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if t.queuedJob {
		signal(c.outboxWake)
	}
	if t.queuedSweep {
		signal(c.sweepWake)
	}
	return nil
}
