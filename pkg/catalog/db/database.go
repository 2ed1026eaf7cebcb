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

// dialect holds everything that differs between the engines.
type dialect struct {
	goose    goose.Dialect
	numbered bool   // placeholders are $1, $2, … instead of ?
	prepares bool   // whether this package prepares statements, rather than the driver doing so per connection
	shared   bool   // whether several processes write concurrently, which means that rows must be locked
	lock     string // suffix for a SELECT of rows that the same transaction will write
}

// topics maps each topic to the channel that signals it.
type topics map[string]chan struct{}

// DB is an open database with separate connection pools for writes and reads.
type DB struct {
	Log          *slog.Logger
	clock        func() time.Time
	guardedClock func() time.Time
	last         atomic.Int64 // the last stamp returned
	topics       topics
	notices      *notices // nil if no other process shares the database
	holds        holds

	dialect  dialect
	name     string // for messages, without secrets
	scope    string // distinguishes this catalog's locks and notices from those of other catalogs in the same database
	write    *sql.DB
	writer   *Pool
	Read     *Pool
	versions *versionReader // nil if the version cannot be read
	// groups combines several transactions' commits. It is nil if each transaction has its own connection.
	groups *groupCommit
	// migrations opens a connection on which statements don't have the timeouts used for requests.
	migrations func() (*sql.DB, error)
	migrated   bool // whether the database has a schema, of any version
	ready      func(ctx context.Context) error
	session    func(sessionOptions) *session // nil if no other process shares the database
	observer   observer                      // nil if changed rows are not reported
	schema     fs.FS                         // the migrations
}

func (d *DB) closePools() error {
	if d.observer != nil {
		d.observer.Forget() // free its memory, because the driver still references it
	}
	var err error
	if d.versions != nil {
		err = d.versions.close()
	}
	return errors.Join(err, d.Read.close(), d.writer.close())
}

// rebind replaces ? placeholders outside quotes with $1, $2, … for engines with numbered placeholders.
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
