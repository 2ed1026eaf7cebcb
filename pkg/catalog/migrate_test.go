package catalog_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/domain"
)

// TestSchemasOfOtherVersions opens databases whose schema version is older than the first release or newer than this
// program.
func TestSchemasOfOtherVersions(t *testing.T) {
	t.Parallel()
	schemas := newSchemas(t)
	for engine, where := range map[string]func(t testing.TB) (o catalog.Options, driver, address string){
		"SQLite": func(t testing.TB) (catalog.Options, string, string) {
			path := filepath.Join(t.TempDir(), "c.db")
			return catalog.Options{Path: path}, "sqlite", path
		},
		"PostgreSQL": func(t testing.TB) (catalog.Options, string, string) {
			address := schemas.take(t)
			return catalog.Options{URL: address, Connections: 4}, "pgx", address
		},
	} {
		opened := func(t *testing.T, statements ...string) error {
			t.Helper()
			o, driver, address := where(t)
			c, err := catalog.Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.EnsureWorkspace(t.Context(), "ws", "kept"); err != nil {
				t.Fatal(err)
			}
			if _, err := c.CreateAgent(t.Context(), domain.Agent{ID: "agent", WorkspaceID: "ws", Name: "Agent"}); err != nil {
				t.Fatal(err)
			}
			v := domain.Conversation{ID: "conversation", WorkspaceID: "ws", AgentID: "agent", VisitorID: "visitor"}
			if _, err := c.EnsureConversation(t.Context(), v, domain.Message{ID: "message", Role: domain.RoleAssistant, Text: "kept"}); err != nil {
				t.Fatal(err)
			}
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			db, err := sql.Open(driver, address)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			for _, s := range statements {
				if _, err := db.ExecContext(t.Context(), s); err != nil {
					t.Fatal(err)
				}
			}
			c, err = catalog.Open(t.Context(), o)
			if err == nil {
				messages, readErr := c.Messages(t.Context(), "conversation", 10)
				if readErr != nil || len(messages) != 1 || messages[0].Text != "kept" {
					t.Errorf("the conversation contains %v: %v", messages, readErr)
				}
				err = c.Close()
			}
			for _, s := range []string{ // other tests use the same schema
				`DELETE FROM goose_db_version WHERE version_id > 0`,
				`INSERT INTO goose_db_version (version_id, is_applied) VALUES (11, ` + trueIn(engine) + `), (12, ` + trueIn(engine) + `), (13, ` + trueIn(engine) + `), (14, ` + trueIn(engine) + `), (15, ` + trueIn(engine) + `), (16, ` + trueIn(engine) + `), (17, ` + trueIn(engine) + `), (18, ` + trueIn(engine) + `)`,
			} {
				if _, err := db.ExecContext(t.Context(), s); err != nil {
					t.Fatal(err)
				}
			}
			var name string
			if kept := db.QueryRowContext(t.Context(), `SELECT name FROM workspaces WHERE id = 'ws'`).Scan(&name); kept != nil || name != "kept" {
				t.Errorf("of what it held %q is left: %v", name, kept)
			}
			return err
		}
		t.Run("a development version is refused, in "+engine, func(t *testing.T) {
			t.Parallel()
			err := opened(t, `UPDATE goose_db_version SET version_id = 8 WHERE version_id > 0`)
			if older := new(db.OlderError); !errors.As(err, &older) || older.Have != 8 {
				t.Fatal(err)
			}
		})
		t.Run("the last development version is updated, in "+engine, func(t *testing.T) {
			t.Parallel()
			if err := opened(t, `ALTER TABLE messages DROP COLUMN sentences`, `ALTER TABLE datastores DROP COLUMN ocr_languages`,
				`DROP INDEX datasources_workspace_custom`, `ALTER TABLE idempotency_keys DROP COLUMN content`, `DROP TABLE search_settings`, `ALTER TABLE datastores DROP COLUMN search_version`,
				`DROP TABLE files`, `DROP TABLE upload_parts`, `DROP TABLE uploads`, `DROP TABLE vector_stores`, `DROP TABLE batch_files`, `DROP TABLE file_batches`,
				`DROP INDEX datasources_file`, `ALTER TABLE datasources DROP COLUMN file_id`,
				`DROP TABLE conversation_items`, `DROP TABLE item_conversations`, `DROP TABLE responses`,
				`UPDATE goose_db_version SET version_id = 1 WHERE version_id > 0`,
				`INSERT INTO goose_db_version (version_id, is_applied) VALUES (9, `+trueIn(engine)+`), (11, `+trueIn(engine)+`)`); err != nil {
				t.Fatal(err)
			}
		})
		t.Run("a version to come is refused, in "+engine, func(t *testing.T) {
			t.Parallel()
			err := opened(t, `UPDATE goose_db_version SET version_id = 999 WHERE version_id > 0`)
			if newer := new(db.NewerError); !errors.As(err, &newer) || newer.Have != 999 {
				t.Fatal(err)
			}
		})
	}
}

func trueIn(engine string) string {
	if engine == "SQLite" {
		return "1"
	}
	return "TRUE"
}
