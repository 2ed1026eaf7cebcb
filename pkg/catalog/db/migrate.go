package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

// migrate brings the schema up to date. Of several processes that start at once one does it and the others wait.
func (d *DB) migrate(ctx context.Context) (err error) {
	if d.migrated {
		if _, pending, err := migrator(ctx, d.dialect.goose, d.write, d.schema); err != nil || !pending {
			return err
		}
	}
	db, err := d.migrations()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	unlock, err := d.lockSchema(ctx, db)
	if err != nil {
		return fmt.Errorf("waiting for another process that migrates the schema: %w", err)
	}
	defer func() { err = errors.Join(err, unlock()) }()
	p, pending, err := migrator(ctx, d.dialect.goose, db, d.schema)
	if err != nil || !pending {
		return err
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrating the schema: %w", err)
	}
	return nil
}

// migrator reads the schema's version, and reports whether it is older than what this program wants.
func migrator(ctx context.Context, dialect goose.Dialect, db *sql.DB, schema fs.FS) (p *goose.Provider, pending bool, err error) {
	if p, err = goose.NewProvider(dialect, db, schema); err != nil {
		return nil, false, fmt.Errorf("reading migrations: %w", err)
	}
	have, want, err := p.GetVersions(ctx)
	if err != nil {
		return nil, false, fmt.Errorf("reading the schema's version: %w", err)
	}
	if have > want {
		return nil, false, &NewerError{Have: have, Want: want}
	}
	return p, have < want, nil
}

// lockSchema takes a lock that ends with its connection, so none is left behind by a process that dies.
func (d *DB) lockSchema(ctx context.Context, db *sql.DB) (unlock func() error, err error) {
	if !d.dialect.shared {
		return func() error { return nil }, nil
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	key := d.key("migrations", "")
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, key); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return func() error {
		_, err := conn.ExecContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, key)
		return errors.Join(err, conn.Close())
	}, nil
}
