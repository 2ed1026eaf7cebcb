package db

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"
)

// Options configure a database.
type Options struct {
	Path string // path to the SQLite database; its folder must exist
	// URL is the address of a PostgreSQL database: postgres://user:password@host:port/database. If it is set, Path is
	// ignored. The schema is created on first use. Several processes can share the database and may start concurrently.
	URL string
	// Connections limits the number of PostgreSQL connections for requests and background loops. One or two more listen
	// for notices. 0 means DefaultConnections.
	Connections int
	// StartTimeout is how long to wait for a PostgreSQL server that is not reachable yet. 0 means don't wait.
	StartTimeout time.Duration
	Log          *slog.Logger // nil: slog.Default()
	// Now is the clock for stored times; nil means time.Now.
	Now func() time.Time
	// GuardedNow is the clock for deciding whether rows are old enough to delete. After a forward jump of the system
	// clock, it may lag behind Now, so that nothing is deleted too early. If nil, Now is used instead.
	GuardedNow func() time.Time
	// Schema holds the migrations.
	Schema fs.FS
	// Topics lists the topics that transactions can announce; see Tx.Notify.
	Topics []string
	// Observer is notified of row changes if no other process shares the database. It may be nil.
	Observer observer
}

// observer is notified of changes made on an SQLite database's writing connection.
type observer interface {
	// Change is called before a row is inserted, changed or deleted. added is true if the row is inserted. If added is
	// false, id() returns the value in the row's first column, or an error.
	Change(table string, added bool, id func() (string, error))
	// Committing is called before each commit. The function it returns is called after the commit. Commits never
	// overlap.
	Committing() (done func())
	// Forget is called when the database is closed.
	Forget()
}

// Open opens the database at Options.Path or Options.URL, creating it if necessary, and migrates its schema. It fails
// if a newer version wrote the database. Errors never contain the URL's password.
func Open(ctx context.Context, o Options) (*DB, error) {
	d, err := connect(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("opening the catalog: %w", Damage(err))
	}
	if err := d.migrate(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the catalog %s: %w", d.name, Damage(err)), d.closePools())
	}
	d.notices = startNotices(ctx, d)
	d.topics.wakeAll() // an earlier process may have left work undone
	return d, nil
}

// connect opens the database without migrating its schema.
func connect(ctx context.Context, o Options) (d *DB, err error) {
	o.Log = cmp.Or(o.Log, slog.Default())
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.GuardedNow == nil {
		o.GuardedNow = o.Now
	}
	switch {
	case o.Path != "" && o.URL != "":
		return nil, errors.New("both a path and a URL are set; remove one")
	case o.URL != "":
		d, err = openPostgres(ctx, o)
	default:
		d, err = openSQLite(ctx, o)
	}
	if err != nil {
		return nil, err
	}
	d.Log, d.clock, d.guardedClock, d.schema = o.Log, o.Now, o.GuardedNow, o.Schema
	d.topics = topics{}
	for _, name := range o.Topics {
		d.topics[name] = make(chan struct{}, 1)
	}
	return d, nil
}

// Close closes the listening connections, releases everything acquired with Hold, and closes the database. It may be
// called more than once.
func (d *DB) Close() error {
	d.notices.stop()
	d.holds.releaseAll()
	return d.closePools()
}

// Ready returns nil if the database responds and accepts writes and this process still has everything it acquired with
// Hold.
func (d *DB) Ready(ctx context.Context) error {
	if err := d.ready(ctx); err != nil {
		return fmt.Errorf("querying the catalog: %w", err)
	}
	return d.holds.check()
}

// IsShared reports whether other processes may write concurrently.
func (d *DB) IsShared() bool { return d.dialect.shared }

// Now returns the current time on the database's clock.
func (d *DB) Now() time.Time { return d.clock() }

// GuardedNow returns the current time on the clock used for deleting old rows; see Options.
func (d *DB) GuardedNow() time.Time { return d.guardedClock() }

// Stamp returns the current time in microseconds. Within a process, stamps always increase, so lists and queues sorted
// by stamp are in order of creation. Don't compare stamps from different processes, because their clocks may differ.
func (d *DB) Stamp() int64 {
	for {
		last := d.last.Load()
		next := max(d.Now().UnixMicro(), last+1)
		if d.last.CompareAndSwap(last, next) {
			return next
		}
	}
}

// Topic returns a channel that receives a value after each commit that announces the topic, and once after the database
// is opened. On PostgreSQL, topics announced with Tx.Notify also reach other processes. Several signals may be combined
// into one, and signals from other processes may be lost, so callers must also poll.
func (d *DB) Topic(name string) <-chan struct{} { return d.topics[name] }

func (t topics) wakeAll() {
	for _, ch := range t {
		signal(ch)
	}
}

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default: // a signal is already waiting
	}
}

// Update runs f in a write transaction and, after the commit, signals the topics that f announced. If the transaction
// conflicts with others, f runs again, so it must reset all variables it shares with the caller.
func (d *DB) Update(ctx context.Context, action string, f func(*Tx) error) error {
	t, err := d.transact(ctx, fenced(ctx, f))
	if err != nil {
		return fmt.Errorf("%s: %w", action, err)
	}
	for name, others := range t.announced {
		signal(d.topics[name])
		if others {
			d.notices.notify(name)
		}
	}
	return nil
}
