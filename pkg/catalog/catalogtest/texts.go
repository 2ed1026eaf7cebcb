package catalogtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// testTexts holds both engines to the same idea of texts, which databases differ in.
func testTexts(t *testing.T, open Open) {
	t.Run("NUL and what is no UTF-8 do no harm, in what callers and workers write and look for", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		const bad = "Pump\x00 \xff manual"
		made := w.createFile(func(n *catalog.NewDatasource) {
			n.Datasource.Name, n.Datasource.CustomID = bad, "sku\x00"
			n.Datasource.Metadata = map[string]any{"k\x00": "v\x00"}
		})
		equal(t, "Pump \ufffd manual", w.get(made.ID).Name)
		got, err := w.DatasourceByCustomID(w.ctx, w.ws, w.store, "sku\x00")
		ok(t, err)
		equal(t, made.ID, got.ID)
		equal(t, made.Metadata, got.Metadata)
		w.publishAll()
		w.apply(made, domain.EventError, func(ev *domain.Event) { ev.Error = bad })
		equal(t, "Pump \ufffd manual", w.get(made.ID).Error)
		_, _, err = w.Datasources(w.ctx, w.ws, catalog.DatasourceFilter{Search: "\x00pump"}, catalog.Page{})
		ok(t, err)
		ok(t, w.DeferSweep(w.ctx, "none", w.clock.now(), bad))
	})
	t.Run("case and accents matter in custom ids, and case does not in a search", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		for _, id := range []string{"sku", "SKU", "skü", "s-ku"} {
			made := w.createFile(func(n *catalog.NewDatasource) { n.Datasource.CustomID = id })
			got, err := w.DatasourceByCustomID(w.ctx, w.ws, w.store, id)
			ok(t, err)
			equal(t, made.ID, got.ID)
			found, err := w.ResolveFilters(w.ctx, []string{w.store}, domain.Filters{CustomIDs: []string{id}})
			ok(t, err)
			equal(t, []string{made.ID}, found)
		}
		for search, want := range map[string]int{"sku": 2, "Sku": 2, "SKÜ": 1, "s_ku": 0, "s-": 1, `\`: 0, `'`: 0} {
			ds, _, err := w.Datasources(w.ctx, w.ws, catalog.DatasourceFilter{Search: search}, catalog.Page{})
			ok(t, err)
			if len(ds) != want {
				t.Errorf("searching %q found %d, want %d", search, len(ds), want)
			}
		}
	})
	t.Run("workspaces take turns however their ids are ordered", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		names := []string{"a", "B", "c", "_d", "-e", "Ä", "f f"}
		for _, name := range names {
			ok(t, w.EnsureWorkspace(w.ctx, name, name))
			store := w.datastore(name).ID
			for range 2 {
				w.createFile(func(n *catalog.NewDatasource) { n.Datasource.WorkspaceID, n.Datasource.DatastoreID = name, store })
			}
		}
		for round := range 4 { // the turn goes on from every one of them
			served := map[string]bool{}
			for range names {
				jobs, err := w.Outbox(w.ctx, 1)
				ok(t, err)
				served[jobs[0].WorkspaceID] = true
			}
			equal(t, len(names), len(served))
			jobs, err := w.Outbox(w.ctx, round)
			ok(t, err)
			equal(t, round, len(jobs))
		}
	})
	t.Run("lists in which many were made at the same moment lose none and repeat none", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		seen := map[string]bool{}
		for i := range 23 {
			w.createFile(func(n *catalog.NewDatasource) { n.Datasource.Name = fmt.Sprint(i) })
			if i%4 == 0 {
				w.clock.advance(-time.Second) // a clock that is set back
			}
		}
		page := catalog.Page{Limit: 5}
		for {
			ds, next, err := w.Datasources(w.ctx, w.ws, catalog.DatasourceFilter{}, page)
			ok(t, err)
			for _, d := range ds {
				equal(t, false, seen[d.Name])
				seen[d.Name] = true
			}
			if page.Cursor = next; next == "" {
				break
			}
		}
		equal(t, 23, len(seen))
	})
}
