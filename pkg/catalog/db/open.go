package db

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"
)

// Options configure a database.
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
	// Aged is Now for rows that are deleted because they are old, by a clock that may be slower to believe that time has passed; nil: Now.
	Aged func() time.Time
	// Schema holds the migrations.
	Schema fs.FS
	// Topics are what a transaction can announce: see Tx.Notify.
	Topics []string
	// Observer is called for changed rows where no other process shares the database; nil: rows are not watched.
	Observer observer
}

// observer follows what the one connection that writes to a SQLite database changes.
type observer interface {
	// Change is called before a row of a table is changed, removed or added. id reads the first column of a row that is
	// there, and may fail.
	Change(table string, added bool, id func() (string, error))
	// Committing is called before a commit, and the function that it returns after it. Commits follow one another.
	Committing() (done func())
	// Forget is called when the database is closed.
	Forget()
}

// Open opens the database at Options.Path or Options.URL, creates it if need be, and brings its schema up to date.
// It fails when the database was written by a newer version. No error holds the password of a URL.
func Open(ctx context.Context, o Options) (*DB, error) {
	d, err := connect(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("opening the catalog: %w", Damage(err))
	}
	if err := d.migrate(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the catalog %s: %w", d.name, Damage(err)), d.closePools())
	}
	d.notices = startNotices(ctx, d)
	d.topics.wakeAll() // an earlier process may have left work
	return d, nil
}

// connect opens the database and leaves its schema as it is.
func connect(ctx context.Context, o Options) (d *DB, err error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Aged == nil {
		o.Aged = o.Now
	}
	switch {
	case o.Path != "" && o.URL != "":
		return nil, errors.New("both a path and a URL are given")
	case o.URL != "":
		d, err = openPostgres(ctx, o)
	default:
		d, err = openSQLite(ctx, o)
	}
	if err != nil {
		return nil, err
	}
	d.Log, d.clock, d.agedClock, d.schema = o.Log, o.Now, o.Aged, o.Schema
	d.topics = topics{}
	for _, name := range o.Topics {
		d.topics[name] = make(chan struct{}, 1)
	}
	return d, nil
}

// Close ends the listening connections and the holds, and releases the database. It may be called twice.
func (d *DB) Close() error {
	d.notices.stop()
	d.holds.releaseAll()
	return d.closePools()
}

// Ready reports whether the database answers and takes writes, and whether this process still holds what it took by Hold.
func (d *DB) Ready(ctx context.Context) error {
	if err := d.ready(ctx); err != nil {
		return fmt.Errorf("asking the catalog: %w", err)
	}
	return d.holds.check()
}

// IsShared reports whether other processes may write at the same time.
func (d *DB) IsShared() bool { return d.dialect.shared }

// Now is the time of the database's clock.
func (d *DB) Now() time.Time { return d.clock() }

// Aged is the time by which old rows are deleted.
func (d *DB) Aged() time.Time { return d.agedClock() }

// Stamp is the time in microseconds, made strictly increasing within the process: rows that a process creates keep their order
// in lists and queues. Between processes the order is that of their clocks, so nothing may depend on it but the
// order itself.
func (d *DB) Stamp() int64 {
	for {
		last := d.last.Load()
		next := max(d.Now().UnixMicro(), last+1)
		if d.last.CompareAndSwap(last, next) {
			return next
		}
	}
}

// Topic receives after a commit that has announced the topic, of this process or, with PostgreSQL and Tx.Notify, of another
// one, and once after opening. Several commits may be announced as one, and an announcement of another process may be lost:
// look from time to time as well.
func (d *DB) Topic(name string) <-chan struct{} { return d.topics[name] }

func (t topics) wakeAll() {
	for _, ch := range t {
		signal(ch)
	}
}

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default: // a signal is waiting already
	}
}

// Update runs f in a write transaction and, once it has been committed, wakes the loops that wait for the topics that f has
// announced. Where other processes share the database f may be run several times: f must set variables outside
// of the transaction in every run.
func (d *DB) Update(ctx context.Context, doing string, f func(*Tx) error) error {
	t, err := d.transact(ctx, f)
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	for name, others := range t.announced {
		signal(d.topics[name])
		if others {
			d.notices.tell(name)
		}
	}
	return nil
}
