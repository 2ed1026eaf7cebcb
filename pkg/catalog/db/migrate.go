package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

// migrate updates the schema. If several processes start at once, one of them updates it while the others wait.
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

// migrator returns a provider for the migrations in `schema` and reports whether any are pending.
func migrator(ctx context.Context, dialect goose.Dialect, db *sql.DB, schema fs.FS) (p *goose.Provider, pending bool, err error) {
	if p, err = goose.NewProvider(dialect, db, schema); err != nil {
		return nil, false, fmt.Errorf("reading migrations: %w", err)
	}
	have, want, err := p.GetVersions(ctx)
	if err != nil {
		return nil, false, fmt.Errorf("reading the schema's version: %w", err)
	}
	return p, have < want, CheckVersion(schema, have)
}

// NewerError means that a newer version of the program has migrated the catalog.
type NewerError struct{ Have, Want int64 }

func (e *NewerError) Error() string {
	return fmt.Sprintf("its schema has version %d, but this program only supports versions up to %d: use a newer version of the program, "+
		"or restore a backup that was made before the upgrade", e.Have, e.Want)
}

// OlderError means that the catalog is from before the first release.
type OlderError struct{ Have, Oldest int64 }

func (e *OlderError) Error() string {
	return fmt.Sprintf("its schema version %d is from before the first release and cannot be upgraded (the oldest that can is %d): "+
		"add the content again to an empty data directory or database, or keep using the program that wrote this one", e.Have, e.Oldest)
}

// Versions returns the oldest and newest schema versions among the migrations.
func Versions(schema fs.FS) (oldest, newest int64, err error) {
	names, err := fs.Glob(schema, "*.sql")
	for _, name := range names {
		v, versionErr := goose.NumericComponent(name)
		err = errors.Join(err, versionErr)
		newest = max(newest, v)
		if oldest == 0 || v < oldest {
			oldest = v
		}
	}
	if err != nil {
		return 0, 0, fmt.Errorf("reading migrations: %w", err)
	}
	return oldest, newest, nil
}

// CheckVersion returns a NewerError or an OlderError if a database with this schema version can't be migrated. Version
// 0 means an empty database.
func CheckVersion(schema fs.FS, have int64) error {
	oldest, newest, err := Versions(schema)
	switch {
	case err != nil:
		return err
	case have > newest:
		return &NewerError{Have: have, Want: newest}
	case have > 0 && have < oldest:
		return &OlderError{Have: have, Oldest: oldest}
	}
	return nil
}

// lockSchema takes a lock that belongs to a database connection, so the lock is released if the process dies.
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
