package catalog

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/sluice/sluice/pkg/catalog/accounts"
	"github.com/sluice/sluice/pkg/catalog/conversations"
	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/files"
	"github.com/sluice/sluice/pkg/catalog/maintenance"
	"github.com/sluice/sluice/pkg/catalog/migrations"
	"github.com/sluice/sluice/pkg/catalog/pipeline"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/catalog/resources"
	"github.com/sluice/sluice/pkg/catalog/responses"
	"github.com/sluice/sluice/pkg/catalog/sites"
	"github.com/sluice/sluice/pkg/domain"
)

// Options configure a Catalog.
type Options struct {
	Path string // path to the SQLite database; its folder must exist
	// URL is the address of a PostgreSQL database: postgres://user:password@host:port/database. If it is set, Path is
	// ignored. The schema is created on first use. Several processes can share the database and may start concurrently.
	URL string
	// Connections limits the number of PostgreSQL connections for requests and background loops. One or two more listen
	// for notifications. 0 means db.DefaultConnections.
	Connections int
	// StartTimeout is how long to wait for a PostgreSQL server that is not reachable yet. 0 means don't wait.
	StartTimeout time.Duration
	Log          *slog.Logger // nil: slog.Default()
	// Now is the clock for stored times; nil means time.Now.
	Now func() time.Time
	// GuardedNow is used instead of Now to decide whether rows are old enough to delete. It may lag behind Now after
	// the system clock jumps forward, so that nothing is deleted too early. nil means Now.
	GuardedNow func() time.Time
	// MaxPagesPerSite limits the number of pages per web site. A site's own setting can only lower this limit. 0 means
	// DefaultMaxPagesPerSite.
	MaxPagesPerSite int
	// MaxLeadsPerSite limits the number of pages per web site that are read only for their links. 0 means
	// domain.MaxLeads.
	MaxLeadsPerSite int
	// SiteBatch is the number of pages per transaction when a change concerns many of a site's pages. 0 means
	// DefaultSiteBatch.
	SiteBatch int
	// CacheBytes limits the query cache, which is used only if no other process shares the database. 0 means
	// DefaultCacheBytes.
	CacheBytes int64
	// Limits apply to every workspace, on top of its own limits from SetLimits. May be nil.
	Limits domain.Limits
}

// DefaultCacheBytes is the default of Options.CacheBytes.
const DefaultCacheBytes = 16 << 20

// DefaultMaxPagesPerSite is the default of Options.MaxPagesPerSite.
const DefaultMaxPagesPerSite = 10_000

// DefaultSiteBatch is the default of Options.SiteBatch.
const DefaultSiteBatch = 200

// Catalog stores metadata. It combines several stores that share one database. All methods are safe for concurrent use.
type Catalog struct {
	*accounts.Accounts
	*conversations.Store
	*sites.Sites
	*pipeline.Pipeline
	*resources.Resources
	*responses.Responses
	*maintenance.Maintenance
	*files.Files
	db *db.DB
}

// Open opens the database at Options.Path or Options.URL, creating it if necessary, and migrates its schema. It fails
// if a newer version wrote the database. Errors never contain the URL's password.
func Open(ctx context.Context, o Options) (*Catalog, error) {
	cache := resources.NewReadCache(cmp.Or(o.CacheBytes, DefaultCacheBytes))
	d, err := db.Open(ctx, database(o, cache))
	if err != nil {
		return nil, err
	}
	a := accounts.New(d, o.Limits)
	s := sites.New(d, sites.Limits{
		Pages: cmp.Or(max(o.MaxPagesPerSite, 0), DefaultMaxPagesPerSite),
		Leads: cmp.Or(max(o.MaxLeadsPerSite, 0), domain.MaxLeads),
		Batch: cmp.Or(max(o.SiteBatch, 0), DefaultSiteBatch),
	})
	p := pipeline.New(d, s)
	r := resources.New(d, cache, a, s)
	return &Catalog{
		Accounts: a, Store: conversations.New(d), Sites: s, Pipeline: p, Resources: r, Responses: responses.New(d),
		Maintenance: maintenance.New(d, s, p), Files: files.New(d, a, s, r), db: d,
	}, nil
}

func database(o Options, cache *resources.ReadCache) db.Options {
	return db.Options{
		Path: o.Path, URL: o.URL, Connections: o.Connections, StartTimeout: o.StartTimeout, Log: o.Log, Now: o.Now, GuardedNow: o.GuardedNow,
		Schema: migrations.FS, Topics: []string{record.TopicOutbox, record.TopicSweeps, record.TopicSites}, Observer: cache,
	}
}

// Close stores buffered usage, stops listening for notifications, releases everything acquired with Hold, and closes
// the database. It may be called more than once.
func (c *Catalog) Close() error {
	c.Accounts.Close()
	return c.db.Close()
}

// Ready returns nil if the database is up and writable and the process still has everything it acquired with Hold.
func (c *Catalog) Ready(ctx context.Context) error { return c.db.Ready(ctx) }

// ID returns the catalog's id; see db.DB.ID.
func (c *Catalog) ID(ctx context.Context) (string, error) { return c.db.ID(ctx) }

// Hold acquires a resource that only one process may have at a time; see db.DB.Hold.
func (c *Catalog) Hold(ctx context.Context, name string) (release func(), err error) {
	return c.db.Hold(ctx, name)
}

// Lease acquires or renews a lease for the holder; see db.DB.Lease.
func (c *Catalog) Lease(ctx context.Context, name, holder string, ttl time.Duration) (held bool, err error) {
	return c.db.Lease(ctx, name, holder, ttl)
}

// Release gives up the lease if the holder has it.
func (c *Catalog) Release(ctx context.Context, name, holder string) error {
	return c.db.Release(ctx, name, holder)
}
