package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"

	_ "modernc.org/sqlite" // the "sqlite" driver
)

const (
	// formatVersion is the format version of all files in a space.
	formatVersion = 3
	// Earlier formats, still readable if the codes are recomputed. signsFormat has sign bits instead of codes, and
	// rowsFormat has untransposed codes.
	signsFormat, rowsFormat = 1, 2
)

// schema creates a space's tables. SQLite doesn't detect damaged content, so each blob ends with a CRC-32C, and the
// "rows" table has a "sum" column with a CRC-32C of the row.
const schema = `
CREATE TABLE state (
	id      INTEGER PRIMARY KEY CHECK (id = 1),
	version INTEGER NOT NULL, -- grows by one with each commit
	body    BLOB NOT NULL     -- the stateBody of that version
);
CREATE TABLE live (
	chunk INTEGER PRIMARY KEY, -- 65,536 slots
	bits  BLOB NOT NULL
);
CREATE TABLE segments (
	id        INTEGER PRIMARY KEY,
	slots     BLOB NOT NULL, -- roaring bitmap, live and dead
	directory BLOB NOT NULL  -- first term of each block
);
CREATE TABLE blocks (
	id   INTEGER PRIMARY KEY,
	data BLOB NOT NULL
);
CREATE TABLE rows (
	slot       INTEGER PRIMARY KEY,
	key        TEXT NOT NULL,
	datasource TEXT NOT NULL,
	generation INTEGER NOT NULL, -- order-preserving: see storedGeneration
	ordinal    INTEGER NOT NULL,
	length     INTEGER NOT NULL, -- in terms
	lang       TEXT NOT NULL,
	sum        INTEGER NOT NULL,
	page       INTEGER NOT NULL,
	start      INTEGER NOT NULL,
	custom_id  TEXT NOT NULL,
	heading    TEXT NOT NULL,
	context    TEXT NOT NULL,
	metadata   BLOB NOT NULL,
	text       TEXT NOT NULL
);
CREATE UNIQUE INDEX rows_by_key ON rows (key);
CREATE INDEX rows_by_datasource ON rows (datasource, generation, ordinal);
`

// openDB opens the database with at most `conns` connections. For the writer, transactions take the write lock when
// they begin.
func openDB(path string, writer bool, conns int) (*sql.DB, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("finding %q: %w", path, err)
	}
	query := url.Values{"_pragma": {
		"busy_timeout(10000)", "synchronous(FULL)", "cache_size(-1024)", "mmap_size(0)", "temp_store(MEMORY)",
		"wal_autocheckpoint(2000)", "journal_size_limit(16777216)",
	}}
	if writer {
		query["_pragma"] = append(query["_pragma"], "journal_mode(WAL)")
		query.Set("_txlock", "immediate")
	} else {
		query["_pragma"] = append(query["_pragma"], "query_only(1)")
	}
	if runtime.GOOS != "windows" { // Windows lacks this VFS
		// Only one process uses the index, so its connections can share the WAL's state in memory. By default they would
		// mmap a file, and a page fault on it while the disk hangs would block the garbage collector, and with it the whole
		// process.
		query.Set("vfs", "unix-excl")
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: filepath.ToSlash(abs), RawQuery: query.Encode()}).String())
	if err != nil {
		return nil, fmt.Errorf("opening database %q: %w", path, err)
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns) // opening a connection reads the disk
	return db, nil
}

// begin starts a transaction and returns a function that rolls it back, unless it was committed, and releases the
// connection. ctx limits only the wait for a connection. If it also ended the transaction, database/sql would roll back
// in a goroutine of its own, and callers couldn't wait for that goroutine before closing the database.
func begin(ctx context.Context, db *sql.DB, options *sql.TxOptions) (tx *sql.Tx, end func(), err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, nil, err
	}
	if tx, err = conn.BeginTx(context.WithoutCancel(ctx), options); err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	return tx, func() {
		_ = tx.Rollback()
		_ = conn.Close()
	}, nil
}

// createTables creates the tables in an empty database, in one transaction.
func createTables(ctx context.Context, db *sql.DB, first *Snapshot) error {
	tx, end, err := begin(ctx, db, nil)
	if err != nil {
		return fmt.Errorf("starting to create tables: %w", err)
	}
	defer end()
	var n int
	if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema`).Scan(&n); err != nil {
		return fmt.Errorf("looking for tables: %w", err)
	}
	if n > 0 {
		return nil
	}
	if _, err := tx.ExecContext(ctx, schema); err != nil {
		return fmt.Errorf("creating tables: %w", err)
	}
	body, err := first.encode()
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO state (id, version, body) VALUES (1, 0, ?)`, body); err != nil {
		return fmt.Errorf("storing the first state: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("committing tables: %w", err)
	}
	return nil
}
