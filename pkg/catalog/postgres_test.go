package catalog_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/catalog/catalogtest"
	"github.com/sluice/sluice/tools/local/engines"
)

func TestPostgres(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector is shown the same code with SQLite")
	}
	t.Parallel()
	schemas := newSchemas(t)
	onEach := func(o catalog.Options, address string) catalog.Options {
		o.URL, o.Connections = address, 4
		return o
	}
	var mu sync.Mutex
	statements := map[string]bool{}
	t.Run("suite", func(t *testing.T) {
		catalogtest.Run(t, func(t testing.TB, o catalog.Options) *catalog.Catalog {
			c := open(t, onEach(o, schemas.take(t)))
			t.Cleanup(func() {
				mu.Lock()
				defer mu.Unlock()
				c.Statements(statements)
			})
			return c
		})
	})
	c := open(t, onEach(catalog.Options{}, schemas.take(t)))
	for text := range statements {
		if slices.ContainsFunc(mayWalk, func(part string) bool { return strings.Contains(text, part) }) || strings.Contains(text, "pg_advisory") {
			continue
		}
		plan, err := c.Plan(context.Background(), text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for _, step := range plan {
			if strings.Contains(step, "Seq Scan") {
				t.Errorf("this statement gets slower with the size of the catalog:\n%s\n%s", text, strings.Join(plan, "\n"))
			}
		}
	}
	t.Run("suite of several processes", func(t *testing.T) {
		catalogtest.RunShared(t, func(t testing.TB, all ...catalog.Options) (out []*catalog.Catalog) {
			address := schemas.take(t)
			for _, o := range all {
				out = append(out, open(t, onEach(o, address)))
			}
			return out
		})
	})
}

// postgres creates a database for a test. If the server supports it, the database does not sort text bytewise.
func postgres(t testing.TB) string {
	t.Helper()
	server := engines.PostgreSQLForTest(t)
	name := "catalog_" + strings.ToLower(rand.Text())
	const natural = ` TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C.UTF-8'`
	if err := sqlExec(server, `CREATE DATABASE `+name+natural); err != nil {
		t.Logf("texts are ordered by their bytes: %v", err)
		return server
	}
	t.Cleanup(func() {
		if err := sqlExec(server, `DROP DATABASE `+name+` WITH (FORCE)`); err != nil {
			t.Error(err)
		}
	})
	return with(t, server, func(u *url.URL) { u.Path = "/" + name })
}

// schemas hands out empty schemas and cleans them after use, which is faster than creating databases.
type schemas struct {
	database string
	admin    *sql.DB
	mu       sync.Mutex
	free     []string
}

func newSchemas(t testing.TB) *schemas {
	t.Helper()
	s := &schemas{database: postgres(t)}
	var err error
	// The simple protocol runs several statements in one request.
	simple := with(t, s.database, func(u *url.URL) { u.RawQuery += "&default_query_exec_mode=simple_protocol" })
	if s.admin, err = sql.Open("pgx", simple); err != nil {
		t.Fatal(err)
	}
	s.admin.SetMaxIdleConns(4)
	t.Cleanup(func() {
		if err := s.admin.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// take returns the URL of an empty schema. Commits there don't wait for the disk, because no test that uses it
// simulates a power failure.
func (s *schemas) take(t testing.TB) string {
	t.Helper()
	s.mu.Lock()
	var name string
	if n := len(s.free); n > 0 {
		name, s.free = s.free[n-1], s.free[:n-1]
	}
	s.mu.Unlock()
	if name == "" {
		name = "s_" + strings.ToLower(rand.Text())
		if _, err := s.admin.Exec(`CREATE SCHEMA ` + name); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { s.giveBack(t, name) })
	return with(t, s.database, func(u *url.URL) {
		q := u.Query()
		q.Set("search_path", name)
		q.Set("synchronous_commit", "off")
		u.RawQuery = q.Encode()
	})
}

// giveBack deletes all rows in the schema but keeps the tables. It turns off foreign key checks, because no rows remain
// that could violate them.
func (s *schemas) giveBack(t testing.TB, name string) {
	rows, err := s.admin.Query(`SELECT tablename FROM pg_tables WHERE schemaname = $1 AND tablename NOT IN ('goose_db_version', 'marks')`, name)
	if err != nil {
		t.Error(err)
		return
	}
	defer rows.Close()
	text := `BEGIN; SET LOCAL session_replication_role = replica; UPDATE ` + name + `.marks SET value = 0;`
	for rows.Next() {
		var table string
		if err := rows.Scan(&table); err != nil {
			t.Error(err)
		}
		text += `DELETE FROM ` + name + `.` + table + `;`
	}
	if err := rows.Err(); err != nil {
		t.Error(err)
	}
	if _, err := s.admin.Exec(text + `COMMIT`); err != nil {
		t.Error(err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, name)
}

func with(t testing.TB, address string, change func(*url.URL)) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	change(u)
	return u.String()
}

func sqlExec(address string, statements ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, s := range statements {
		if _, err := conn.Exec(ctx, s); err != nil {
			return err
		}
	}
	return nil
}
