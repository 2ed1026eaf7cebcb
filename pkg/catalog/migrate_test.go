package catalog_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// firstVersion is what a database of the first version may hold.
const firstVersion = `
INSERT INTO workspaces (id, name, created_at) VALUES ('ws', 'test', 1);
INSERT INTO datastores (id, workspace_id, name, description, type, visibility, embedding_model, created_at, updated_at)
	VALUES ('store', 'ws', 'Manuals', '', 'embedded', 'private', 'm', 1, 1);
INSERT INTO datasources (id, workspace_id, datastore_id, group_id, type, name, custom_id, metadata, config, original, original_key,
	search_text, status, progress, error, warnings, discovery_done, follow_links, capped, job_id, job_kind, run_id, place, runs,
	active_generation, chunks, text_bytes, created_at, updated_at, touched_at, last_synch)
	VALUES ('d', 'ws', 'store', '', 'text', 'Pump', '', '', '{}', '', '', 'pump', 'synched', '', '', '', 0, 0, 0, 'j', 'ingest', '', 0, 1,
	7, 3, 300, 2, 2, 2, 2);
INSERT INTO datasources (id, workspace_id, datastore_id, group_id, type, name, custom_id, metadata, config, original, original_key,
	search_text, status, progress, error, warnings, discovery_done, follow_links, capped, job_id, job_kind, run_id, place, runs,
	active_generation, chunks, text_bytes, created_at, updated_at, touched_at, last_synch)
	VALUES ('site', 'ws', 'store', '', 'web_site', 'Pumps', '', '', '{"source_url":"https://pumps.example/","max_pages":2}', '', '', '',
		'synched', '', '', '', 1, 0, 0, 'j', 'crawl', 'j', 0, 0, 0, 0, 0, 3, 3, 3, 3),
	('page', 'ws', 'store', 'site', 'web_page', 'A', '', '', '{"source_url":"https://pumps.example/a"}',
		'{"key":"k","sha256":"a"}', 'k', '', 'synched', '', '', '', 0, 0, 0, 'i', 'ingest', 'j', 0, 1, 5, 1, 1, 4, 4, 4, 4);
INSERT INTO sweeps (id, workspace_id, datastore_id, datasource_id, below, originals, jobs, attempts, cause, due_at)
	VALUES ('s', 'ws', 'store', 'd', 7, '', 0, 0, '', 0);
INSERT INTO agents (id, workspace_id, name, description, model_name, temperature, visibility, system_prompt, user_prompt, prompt_type,
	prompt_template, created_at, updated_at) VALUES ('agent', 'ws', 'Helper', '', 'llm_4', 0, 'private', '', '', '', '', 1, 1);
INSERT INTO conversations (id, workspace_id, agent_id, visitor_id, title, created_at, updated_at)
	VALUES ('talk', 'ws', 'agent', 'anna', 'Does it LEAK?', 1, 1);
INSERT INTO messages (id, conversation_id, role, text, sources, created_at, seq) VALUES ('m', 'talk', 'user', 'Does it LEAK?', '', 1, 1);
INSERT INTO usage_counts (workspace_id, month, metric, value) VALUES ('ws', '2026-03', 'queries', 4);
UPDATE marks SET value = 7;
`

func TestDatabaseOfTheFirstVersion(t *testing.T) {
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
		t.Run("what it holds is there after migrating, in "+engine, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			o, driver, address := where(t)
			if err := catalog.MigrateTo(ctx, o, 1); err != nil {
				t.Fatal(err)
			}
			db, err := sql.Open(driver, address)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if _, err := db.Exec(firstVersion); err != nil {
				t.Fatal(err)
			}
			c := open(t, o)
			store, err := c.DatastoreByID(ctx, "store")
			if err != nil || store.Move != nil || store.Since != 0 {
				t.Fatal(store, err)
			}
			d, err := c.Datasource(ctx, "ws", "d")
			if err != nil || d.Target != nil || d.Resume != nil || d.Fence != 0 || d.ActiveGeneration != 7 {
				t.Fatal(d, err)
			}
			progress, err := c.SiteProgress(ctx, "site", "page")
			if diff := cmp.Diff(map[string]domain.SiteProgress{"site": {Discovered: 1, Fetched: 1}}, progress); err != nil || diff != "" {
				t.Fatal(diff, err)
			}
			// The site's page was counted: there is room for one more.
			done, err := c.Apply(ctx, domain.Event{
				Type: domain.EventDiscovered, JobID: "j", JobKind: domain.JobCrawl, DatastoreID: "store", DatasourceID: "site", At: time.UnixMicro(5),
				Links: []domain.Link{{URL: "https://pumps.example/b"}, {URL: "https://pumps.example/c"}},
			})
			if err != nil || done.NewPages != 1 {
				t.Fatal(done, err)
			}
			talks, _, err := c.Conversations(ctx, "ws", catalog.ConversationFilter{Search: "it leak"}, catalog.Page{})
			if err != nil || len(talks) != 1 || talks[0].ID != "talk" {
				t.Fatal(talks, err)
			}
			if taken, err := c.TakeTurn(ctx, "talk", "a", time.Minute); err != nil || !taken {
				t.Fatal(taken, err)
			}
			used, err := c.Usage(ctx, "ws", time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))
			if err != nil || used[domain.MetricQueries] != 4 {
				t.Fatal(used, err)
			}
			if chunks, bytes, err := c.Stored(ctx, "ws"); err != nil || chunks != 4 || bytes != 301 {
				t.Fatal(chunks, bytes, err)
			}
			sweeps, err := c.Sweeps(ctx, 2)
			if err != nil || len(sweeps) != 1 {
				t.Fatal(sweeps, err)
			}
			want := domain.Sweep{ID: "s", WorkspaceID: "ws", DatastoreID: "store", DatasourceID: "d", Below: 7}
			if diff := cmp.Diff(want, sweeps[0].Sweep); diff != "" {
				t.Fatalf("(-want +got)\n%s", diff)
			}
		})
	}
}
