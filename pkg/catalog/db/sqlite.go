package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

var sqliteDialect = dialect{goose: goose.DialectSQLite3, prepares: true}

// Number of connections for reading, not counting the one that reads the database version. Each caches up to 2 MiB of
// pages.
const sqliteReaders = 4

// openSQLite opens a database file. There is only one write connection, so write transactions never overlap.
func openSQLite(ctx context.Context, o Options) (*DB, error) {
	path := o.Path
	if path == "" {
		return nil, errors.New("no path given")
	}
	d := &DB{dialect: sqliteDialect, name: path, observer: o.Observer}
	open := func(conns int, changes observer, pragmas ...string) (*sql.DB, error) {
		v := url.Values{"_txlock": {"immediate"}}
		for _, p := range append(pragmas, "busy_timeout(10000)", "foreign_keys(1)", "temp_store(memory)") {
			v.Add("_pragma", p)
		}
		dsn := (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: v.Encode()}).String()
		c, err := sqlite.NewConnector(dsn)
		if err != nil {
			return nil, err
		}
		if changes != nil {
			c = observedConnector{c, changes}
		}
		db := sql.OpenDB(c)
		db.SetMaxOpenConns(conns)
		db.SetMaxIdleConns(conns)
		return db, nil
	}
	// In WAL mode, a committed transaction survives a power failure only with synchronous=FULL.
	writing := func(changes observer) (*sql.DB, error) {
		return open(1, changes, "journal_mode(wal)", "synchronous(full)")
	}
	write, err := writing(o.Observer)
	if err != nil {
		return nil, err
	}
	if err := write.PingContext(ctx); err != nil { // create the file before a reader opens it
		return nil, errors.Join(err, write.Close())
	}
	read, err := open(sqliteReaders+1, nil, "query_only(1)")
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	if d.versions, err = newVersionReader(ctx, read); err != nil {
		return nil, errors.Join(err, read.Close(), write.Close())
	}
	d.write, d.writer, d.Read = write, newPool(write, sqliteDialect), newPool(read, sqliteDialect)
	d.migrations = func() (*sql.DB, error) { return writing(nil) }
	d.groups = newGroupCommit(o.Observer)
	// Read something right after each commit. The first read after a commit writes to a memory-mapped file that all
	// connections share. If the disk hangs during this write, the thread blocks, the garbage collector waits for the
	// thread, and the whole process stops. Right after the commit, the disk is unlikely to hang, because the commit has
	// just written to the same page.
	d.groups.committed = func() {
		var version int
		_ = write.QueryRowContext(context.Background(), `PRAGMA schema_version`).Scan(&version) // the next reader gets the error
	}
	d.ready = func(ctx context.Context) error {
		var one int
		return d.Read.QueryRow(ctx, `SELECT 1`).Scan(&one)
	}
	return d, nil
}

// observedConnector opens connections that report every row change to an observer.
type observedConnector struct {
	driver.Connector
	observer observer
}

// Connect implements driver.Connector.
func (w observedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := w.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	conn.(sqlite.HookRegisterer).RegisterPreUpdateHook(func(d sqlite.SQLitePreUpdateData) {
		w.observer.Change(d.TableName, d.Op == sqlite3.SQLITE_INSERT, func() (string, error) {
			row := make([]any, 1) // Old replaces each element with a column's old value
			err := d.Old(row...)
			id, ok := row[0].(string)
			if !ok {
				err = errors.Join(err, fmt.Errorf("the first column of %s must be an id, but is a %T", d.TableName, row[0]))
			}
			return id, err
		})
	})
	return conn, nil
}
