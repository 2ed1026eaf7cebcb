package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
)

// versionReader reads an SQLite database's data_version. It has its own connection, because data_version only counts
// commits made on other connections, including those in other processes.
type versionReader struct {
	conn *sql.Conn

	mu   sync.Mutex
	read *sql.Stmt
}

func newVersionReader(ctx context.Context, pool *sql.DB) (*versionReader, error) {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("connecting to read versions: %w", err)
	}
	read, err := conn.PrepareContext(ctx, `PRAGMA data_version`)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("preparing to read versions: %w", err), conn.Close())
	}
	return &versionReader{conn: conn, read: read}, nil
}

// close may be called more than once.
func (v *versionReader) close() error {
	err := v.conn.Close()
	if errors.Is(err, sql.ErrConnDone) {
		err = nil
	}
	return errors.Join(v.read.Close(), err)
}

// Version returns a number that changes with every commit by any process, so that caches can detect outdated data. It
// is much cheaper than a query. It returns false if the database has no such number or the number can't be read.
func (d *DB) Version(ctx context.Context) (version int64, ok bool) {
	if d.versions == nil {
		return 0, false
	}
	d.versions.mu.Lock()
	defer d.versions.mu.Unlock()
	err := d.versions.read.QueryRowContext(ctx).Scan(&version)
	return version, err == nil
}
