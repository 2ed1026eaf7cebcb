package catalog

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

// dialect is what differs between the engines; everything else is written once.
type dialect struct {
	goose    goose.Dialect
	numbered bool   // placeholders are $1, $2, … instead of ?
	lock     string // ends a SELECT whose row will be written in the same transaction
}

var sqliteDialect = dialect{goose: goose.DialectSQLite3}

// database is one connection that writes and a pool that reads.
type database struct {
	dialect dialect
	write   *sql.DB
	writer  *pool
	read    *pool
}

// sqliteReaders is the size of the pool of readers; each holds up to 2 MiB of pages.
const sqliteReaders = 4

func openSQLite(ctx context.Context, path string) (*database, error) {
	open := func(conns int, pragmas ...string) (*sql.DB, error) {
		v := url.Values{"_txlock": {"immediate"}}
		for _, p := range append(pragmas, "busy_timeout(10000)", "foreign_keys(1)", "temp_store(memory)") {
			v.Add("_pragma", p)
		}
		dsn := (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: v.Encode()}).String()
		db, err := sql.Open("sqlite", dsn)
		if err != nil {
			return nil, err
		}
		db.SetMaxOpenConns(conns)
		db.SetMaxIdleConns(conns)
		return db, nil
	}
	// synchronous=FULL: a commit that was acknowledged survives a power cut, in WAL mode too.
	write, err := open(1, "journal_mode(wal)", "synchronous(full)")
	if err != nil {
		return nil, err
	}
	if err := write.PingContext(ctx); err != nil { // makes the file, before a reader wants it
		return nil, errors.Join(err, write.Close())
	}
	read, err := open(sqliteReaders, "query_only(1)")
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	return &database{
		dialect: sqliteDialect,
		write:   write,
		writer:  newPool(write, sqliteDialect),
		read:    newPool(read, sqliteDialect),
	}, nil
}

func (d *database) close() error {
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
