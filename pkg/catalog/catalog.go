package catalog

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/sluice/sluice/pkg/catalog/accounts"
	"github.com/sluice/sluice/pkg/catalog/conversations"
	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/maintenance"
	"github.com/sluice/sluice/pkg/catalog/migrations"
	"github.com/sluice/sluice/pkg/catalog/pipeline"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/catalog/resources"
	"github.com/sluice/sluice/pkg/catalog/sites"
	"github.com/sluice/sluice/pkg/domain"
)

// Options configure a Catalog.
type Options struct {
	Path string // of the SQLite database; its folder must exist
	// URL is the address of a PostgreSQL database, postgres://user:password@host:port/database, instead of Path. Its
	// schema is made on first use; several processes may share it, and may be started at once.
	URL string
	// Connections bounds the connections to PostgreSQL that requests and loops use; one or two more listen. 0:
	// db.DefaultConnections.
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

// Catalog is the store of metadata: its parts over one database. All methods are safe for concurrent use.
type Catalog struct {
	*accounts.Accounts
	*conversations.Store
	*sites.Sites
	*pipeline.Pipeline
	*resources.Resources
	*maintenance.Maintenance
	db *db.DB
}

// Open opens the database at Options.Path or Options.URL, creates what is missing, and brings its schema up to date. It
// fails when the database was written by a newer version. No error holds the password of a URL.
func Open(ctx context.Context, o Options) (*Catalog, error) {
	memo := resources.NewMemo(cmp.Or(o.MemoBytes, DefaultMemoBytes))
	d, err := db.Open(ctx, database(o, memo))
	if err != nil {
		return nil, err
	}
	a := accounts.New(d, o.Limits)
	s := sites.New(d, cmp.Or(max(o.MaxPagesPerSite, 0), DefaultMaxPagesPerSite))
	p := pipeline.New(d, a, s)
	return &Catalog{
		Accounts: a, Store: conversations.New(d), Sites: s, Pipeline: p, Resources: resources.New(d, memo, a, s, p),
		Maintenance: maintenance.New(d, s, p), db: d,
	}, nil
}

func database(o Options, memo *resources.Memo) db.Options {
	return db.Options{
		Path: o.Path, URL: o.URL, Connections: o.Connections, StartPatience: o.StartPatience, Log: o.Log, Now: o.Now, Aged: o.Aged,
		Schema: migrations.FS, Topics: []string{record.TopicOutbox, record.TopicSweeps, record.TopicSites}, Observer: memo,
	}
}

// Close stores what was counted, ends what listens and holds, and releases the database. It may be called twice.
func (c *Catalog) Close() error {
	c.Accounts.Close()
	return c.db.Close()
}

// Ready reports whether the database answers and takes writes, and whether what this process holds is still held.
func (c *Catalog) Ready(ctx context.Context) error { return c.db.Ready(ctx) }

// ID is the catalog's own id: see db.DB.ID.
func (c *Catalog) ID(ctx context.Context) (string, error) { return c.db.ID(ctx) }

// Hold takes what only one of the processes that share the database may have: see db.DB.Hold.
func (c *Catalog) Hold(ctx context.Context, name string) (release func(), err error) {
	return c.db.Hold(ctx, name)
}

// Lease takes the lease for the holder, or renews it: see db.DB.Lease.
func (c *Catalog) Lease(ctx context.Context, name, holder string, ttl time.Duration) (held bool, err error) {
	return c.db.Lease(ctx, name, holder, ttl)
}

// Release gives the lease back, if the holder has it.
func (c *Catalog) Release(ctx context.Context, name, holder string) error {
	return c.db.Release(ctx, name, holder)
}
