package db

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pressly/goose/v3"
)

// dialect is what differs between the engines; everything else is written once.
type dialect struct {
	goose    goose.Dialect
	numbered bool   // placeholders are $1, $2, … instead of ?
	prepares bool   // statements are prepared here; else the driver does it, for each of its connections
	shared   bool   // several processes write at once: what must not change meanwhile is locked
	lock     string // ends a SELECT whose rows will be written in the same transaction
}

// topics are the channels that a commit wakes, by topic.
type topics map[string]chan struct{}

// DB is a pool that writes and a pool that reads.
type DB struct {
	Log       *slog.Logger
	clock     func() time.Time
	agedClock func() time.Time
	last      atomic.Int64 // the last stamp
	topics    topics
	notices   *notices // nil: no other process shares the database
	holds     holds

	dialect dialect
	name    string // for people, without secrets
	scope   string // tells this catalog's locks and notices from those of another one in the same database
	write   *sql.DB
	writer  *Pool
	Read    *Pool
	// together is where transactions share commits; nil: each has a connection of its own.
	together *together
	// migrations opens a connection without the bounds that hold for requests.
	migrations func() (*sql.DB, error)
	migrated   bool // it has a schema, of whatever version
	ready      func(ctx context.Context) error
	session    func(sessionOptions) *session // nil: no other process shares the database
	observer   observer                      // nil: changed rows are not reported
	schema     fs.FS                         // the migrations
}

// closePools ends all connections.
func (d *DB) closePools() error {
	if d.observer != nil {
		d.observer.Forget() // the driver refers to it for as long as the process lives
	}
	return errors.Join(d.Read.close(), d.writer.close())
}

// rebind turns each ? outside of quotes into $1, $2, … for an engine that wants them numbered.
func rebind(d dialect, text string) string {
	if !d.numbered {
		return text
	}
	var b strings.Builder
	n, quoted := 0, false
	for _, r := range text {
		switch {
		case r == '\'':
			quoted = !quoted
		case r == '?' && !quoted:
			n++
			b.WriteByte('$')
			b.WriteString(strconv.Itoa(n))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
