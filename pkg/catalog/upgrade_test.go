package catalog_test

import (
	"archive/tar"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/sluice/sluice/pkg/catalog"
)

// TestRowsOfOlderVersionsComeThroughAlikeInBothEngines takes databases that older versions have left in SQLite, see
// tools/upgradefixtures, and puts their rows into a PostgreSQL of the same version. Migrated, both hold the same.
func TestRowsOfOlderVersionsComeThroughAlikeInBothEngines(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../testdata/upgrade/schema-*.tar.zst")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d fixtures, %v: go run ./tools/upgradefixtures", len(files), err)
	}
	schemas := newSchemas(t)
	for _, file := range files {
		address := schemas.take(t) // none of them is one that a newer version has had
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			path := filepath.Join(t.TempDir(), "catalog.db")
			takeOut(t, file, "catalog.db", path)
			old := openSQL(t, "sqlite", path)
			var version int64
			if err := old.QueryRow(`SELECT MAX(version_id) FROM goose_db_version WHERE is_applied = 1`).Scan(&version); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(file, fmt.Sprintf("schema-%02d", version)) {
				t.Errorf("%s is of version %d", file, version)
			}
			o := catalog.Options{URL: address, Connections: 4}
			if err := catalog.MigrateTo(ctx, o, version); err != nil {
				t.Fatal(err)
			}
			server := openSQL(t, "pgx", address)
			copyRows(t, old, server)
			rows := 0
			for _, o := range []catalog.Options{{Path: path}, o} {
				c, err := catalog.Open(context.WithoutCancel(ctx), o)
				if err == nil {
					err = c.Close()
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			for _, table := range tables(t, old) {
				want, got := rowsOf(t, old, table), rowsOf(t, server, table)
				if diff := cmp.Diff(want, got); diff != "" && !isNew(t, table, version) {
					t.Errorf("%s (-SQLite +PostgreSQL):\n%s", table, diff)
				}
				rows += len(want)
			}
			if rows < 10 {
				t.Errorf("there are but %d rows", rows)
			}
		})
	}
}

// isNew reports whether what a table holds was made at opening: this catalog's own id, where it had none.
func isNew(t *testing.T, table string, version int64) bool {
	t.Helper()
	return table == "leases" && version < 2
}

// takeOut writes a file of an archive.
func takeOut(t *testing.T, archive, name, path string) {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err != nil {
			t.Fatalf("%s is not in %s: %v", name, archive, err)
		}
		if h.Name != name {
			continue
		}
		content, err := io.ReadAll(r)
		if err = errors.Join(err, os.WriteFile(path, content, 0o600)); err != nil {
			t.Fatal(err)
		}
		return
	}
}

func openSQL(t *testing.T, driver, address string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// tables are those of a SQLite database in the order in which they were made: what one refers to comes before it.
func tables(t *testing.T, db *sql.DB) []string {
	t.Helper()
	rows, err := db.Query(`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'goose_db_version' ORDER BY rowid`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return names
}

// eachRow calls f with the names of a table's columns and the values of each row.
func eachRow(t *testing.T, db *sql.DB, table string, f func(columns []string, values []any)) {
	t.Helper()
	rows, err := db.Query(`SELECT * FROM ` + table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		values, places := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			places[i] = &values[i]
		}
		if err := rows.Scan(places...); err != nil {
			t.Fatal(err)
		}
		f(columns, values)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

// copyRows has the rows of all tables of a SQLite database, and no others, in one of PostgreSQL.
func copyRows(t *testing.T, from, to *sql.DB) {
	t.Helper()
	all := tables(t, from)
	for _, table := range slices.Backward(all) {
		if _, err := to.Exec(`DELETE FROM ` + table); err != nil {
			t.Fatal(err)
		}
	}
	for _, table := range all {
		eachRow(t, from, table, func(columns []string, values []any) {
			places := make([]string, len(columns))
			for i := range places {
				places[i] = fmt.Sprint("$", i+1)
			}
			insert := `INSERT INTO ` + table + ` (` + strings.Join(columns, ", ") + `) VALUES (` + strings.Join(places, ", ") + `)`
			if _, err := to.Exec(insert, values...); err != nil {
				t.Fatalf("%s: %v", table, err)
			}
		})
	}
}

// rowsOf are a table's rows as text, by the names of the columns, in order.
func rowsOf(t *testing.T, db *sql.DB, table string) []string {
	t.Helper()
	var all []string
	eachRow(t, db, table, func(columns []string, values []any) {
		row := make([]string, len(columns))
		for i, column := range columns {
			value := values[i]
			if raw, is := value.([]byte); is {
				value = string(raw)
			}
			row[i] = fmt.Sprintf("%s=%v", column, value)
		}
		slices.Sort(row)
		all = append(all, strings.Join(row, "\n"))
	})
	slices.Sort(all)
	return all
}
