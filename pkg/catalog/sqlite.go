package catalog

import (
	"context"
	"database/sql"
	"errors"
	"net/url"

	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

var sqliteDialect = dialect{goose: goose.DialectSQLite3, prepares: true}

// sqliteReaders is the size of the pool of readers; each holds up to 2 MiB of pages.
const sqliteReaders = 4

// openSQLite opens a database in a file: one connection writes, so transactions follow one another.
func openSQLite(ctx context.Context, path string) (*database, error) {
	if path == "" {
		return nil, errors.New("no path given")
	}
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
	writing := func() (*sql.DB, error) { return open(1, "journal_mode(wal)", "synchronous(full)") }
	write, err := writing()
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
	d := &database{
		dialect:    sqliteDialect,
		name:       path,
		write:      write,
		writer:     newPool(write, sqliteDialect),
		read:       newPool(read, sqliteDialect),
		migrations: writing,
	}
	d.together = newTogether(&d.memo)
	d.ready = func(ctx context.Context) error {
		var one int
		return d.read.queryRow(ctx, `SELECT 1`).Scan(&one)
	}
	return d, nil
}
