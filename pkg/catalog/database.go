package catalog

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"

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

// database is a pool that writes and a pool that reads.
type database struct {
	dialect dialect
	name    string // for people, without secrets
	scope   string // tells this catalog's locks and notices from those of another one in the same database
	write   *sql.DB
	writer  *pool
	read    *pool
	// together is where transactions share commits; nil: each has a connection of its own.
	together *together
	// migrations opens a connection without the bounds that hold for requests.
	migrations func() (*sql.DB, error)
	migrated   bool // it has a schema, of whatever version
	ready      func(ctx context.Context) error
	session    func(sessionOptions) *session // nil: no other process shares the database
	memo       memo                          // of what queries ask, for an engine that is not shared
}

func (d *database) close() error {
	d.memo.forget() // the driver refers to it for as long as the process lives
	return errors.Join(d.read.close(), d.writer.close())
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
