package maintenance

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/migrations"
	"github.com/sluice/sluice/pkg/domain"
)

// quickCheck reads an entire SQLite database and fails with ErrDamaged if its structure is damaged.
func quickCheck(ctx context.Context, file *sql.DB) error {
	var verdict string
	if err := file.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&verdict); err != nil {
		return fmt.Errorf("checking the database: %w", db.Damage(err))
	}
	if verdict != "ok" {
		return fmt.Errorf("%w: %s", db.ErrDamaged, verdict)
	}
	return nil
}

// CheckFile reads the whole SQLite catalog at path, which may be in use, and fails with ErrDamaged if its structure is
// damaged.
func CheckFile(ctx context.Context, path string) error {
	file, err := openFile(path, url.Values{"_pragma": {"busy_timeout(10000)", "query_only(1)"}, "mode": {"rw"}}.Encode())
	if err != nil {
		return err
	}
	defer file.Close()
	return quickCheck(ctx, file)
}

// Snapshot is a copy of an SQLite catalog at one point in time.
type Snapshot struct {
	Path   string
	Schema int64  // schema version
	ID     string // the catalog's id
	file   *sql.DB
}

// TakeSnapshot copies an SQLite catalog, which may be in use. The destination must not exist. If the catalog's schema
// is older than this program's, the copy keeps the older schema. TakeSnapshot fails if this program can't open the
// catalog.
func TakeSnapshot(ctx context.Context, from, to string) (_ *Snapshot, err error) {
	if err := copyDatabase(ctx, from, to); err != nil {
		return nil, fmt.Errorf("copying the catalog: %w", err)
	}
	defer func() {
		if err != nil {
			os.Remove(to)
		}
	}()
	s := &Snapshot{Path: to}
	if s.file, err = openFile(to, "mode=ro&immutable=1"); err != nil {
		return nil, fmt.Errorf("opening the copy of the catalog: %w", err)
	}
	if err := s.read(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("reading the copy of the catalog: %w", err), s.file.Close())
	}
	return s, nil
}

// openFile opens a database file with a single connection, without any setup or migrations.
func openFile(path, query string) (*sql.DB, error) {
	file, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: query}).String())
	if err == nil {
		file.SetMaxOpenConns(1)
	}
	return file, err
}

func copyDatabase(ctx context.Context, from, to string) error {
	if _, err := os.Stat(from); err != nil {
		return err
	}
	// O_EXCL guarantees a new file with mode 0600, which only its owner can read.
	file, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	source, err := openFile(from, url.Values{"_pragma": {"busy_timeout(10000)", "temp_store(memory)"}, "mode": {"rw"}}.Encode())
	if err == nil {
		_, err = source.ExecContext(ctx, `VACUUM INTO ?`, to)
		err = errors.Join(err, source.Close())
	}
	if err != nil {
		os.Remove(to)
		return db.Damage(err)
	}
	return nil
}

func (s *Snapshot) read(ctx context.Context) error {
	var err error
	if s.Schema, err = schemaVersion(ctx, s.file); err != nil {
		return err
	}
	err = s.file.QueryRowContext(ctx, `SELECT holder FROM leases WHERE name = ?`, db.IdentityLease).Scan(&s.ID)
	if errors.Is(err, sql.ErrNoRows) {
		return nil // the id was never used
	}
	return err
}

// schemaVersion reads a database's schema version. It fails if this program does not support that version.
func schemaVersion(ctx context.Context, file *sql.DB) (have int64, err error) {
	err = file.QueryRowContext(ctx, `SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version WHERE is_applied`).Scan(&have)
	if err != nil {
		return 0, fmt.Errorf("reading the schema's version: %w", db.Damage(err))
	}
	return have, db.CheckVersion(migrations.FS, have)
}

// SchemaVersion returns the newest schema version that this program supports.
func SchemaVersion() (newest int64, err error) {
	_, newest, err = db.Versions(migrations.FS)
	return newest, err
}

// Number of originals EachOriginal holds in memory at a time.
const snapshotPage = 500

// filesSchema is the first schema version with a files table.
const filesSchema = 13

// notShared excludes a datasource if its original is already selected for another row: for an existing file, or for a
// datasource with a lower id for the same file. This way, each original is selected only once.
const notShared = ` AND (file_id = '' OR NOT EXISTS (SELECT 1 FROM files f WHERE f.id = datasources.file_id AND f.original_key = datasources.original_key)
	AND NOT EXISTS (SELECT 1 FROM datasources e WHERE e.file_id <> '' AND e.file_id = datasources.file_id AND e.original_key = datasources.original_key
		AND e.id < datasources.id))`

// EachOriginal calls f once for every original in use, with the id of a datasource, file or upload part that refers to
// it. It stops at the first error from f and returns it.
func (s *Snapshot) EachOriginal(ctx context.Context, f func(ownerID string, o domain.Original) error) error {
	if s.Schema < filesSchema {
		return s.eachOriginal(ctx, `datasources WHERE original_key <> ''`, f)
	}
	for _, from := range []string{`files WHERE 1 = 1`, `upload_parts WHERE 1 = 1`, `datasources WHERE original_key <> ''` + notShared} {
		if err := s.eachOriginal(ctx, from, f); err != nil {
			return err
		}
	}
	return nil
}

func (s *Snapshot) eachOriginal(ctx context.Context, from string, f func(ownerID string, o domain.Original) error) error {
	type row struct {
		id       string
		original domain.Original
	}
	for after := ""; ; {
		page, err := func() (page []row, err error) {
			//nolint:gosec // the text consists of constants
			rows, err := s.file.QueryContext(ctx, `SELECT id, original FROM `+from+` AND id > ? ORDER BY id LIMIT ?`, after, snapshotPage)
			if err != nil {
				return nil, db.Damage(err)
			}
			defer rows.Close()
			for rows.Next() {
				var r row
				var text string
				if err := rows.Scan(&r.id, &text); err != nil {
					return nil, db.Damage(err)
				}
				if err := db.FromJSON(text, &r.original); err != nil {
					return nil, fmt.Errorf("original of %s: %w", r.id, err)
				}
				page = append(page, r)
			}
			return page, db.Damage(rows.Err())
		}()
		if err != nil {
			return fmt.Errorf("listing originals: %w", err)
		}
		for _, r := range page {
			if err := f(r.id, r.original); err != nil {
				return err
			}
			after = r.id
		}
		if len(page) < snapshotPage {
			return nil
		}
	}
}

// Close closes and deletes the copy.
func (s *Snapshot) Close() error { return errors.Join(s.file.Close(), os.Remove(s.Path)) }

// generationLeap is how far RaiseGenerations raises the generation. It is far more than the number of jobs a catalog
// can accept between the copy being made and the catalog being lost.
const generationLeap = 1_000_000_000

// RaiseGenerations raises the highest generation by generationLeap. Call it once after restoring a catalog from a copy,
// because the index and the job log may contain newer rows and jobs, whose generations must not be reused.
func (c *Maintenance) RaiseGenerations(ctx context.Context) error {
	return c.db.Update(ctx, "raising the generation", func(t *db.Tx) error {
		_, err := t.Exec(ctx, `UPDATE marks SET value = value + ? WHERE name = 'generation'`, int64(generationLeap))
		return err
	})
}
