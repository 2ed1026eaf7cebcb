package catalogtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/catalog/catalogtest/world"
	"github.com/sluice/sluice/pkg/domain"
)

// testTexts requires that SQLite and PostgreSQL treat text in the same way.
func testTexts(t *testing.T, open world.Open) {
	world.Run(t, open, "NUL and invalid UTF-8 do no harm in stored and searched texts", func(t *testing.T, w *world.World) {
		const bad = "Pump\x00 \xff manual"
		made := w.CreateFile(func(n *catalog.NewDatasource) {
			n.Datasource.Name, n.Datasource.CustomID = bad, "sku\x00"
			n.Datasource.Metadata = map[string]any{"k\x00": "v\x00"}
		})
		world.Equal(t, "Pump \ufffd manual", w.Get(made.ID).Name)
		got, err := w.DatasourceByCustomID(w.Ctx, w.WS, w.StoreID, "sku\x00")
		world.OK(t, err)
		world.Equal(t, made.ID, got.ID)
		world.Equal(t, made.Metadata, got.Metadata)
		w.PublishAll()
		w.ApplyEvent(made, domain.EventError, func(ev *domain.Event) { ev.Error = bad })
		world.Equal(t, "Pump \ufffd manual", w.Get(made.ID).Error)
		_, _, err = w.Datasources(w.Ctx, w.WS, catalog.DatasourceFilter{Search: "\x00pump"}, catalog.Page{})
		world.OK(t, err)
		world.OK(t, w.DeferSweep(w.Ctx, "none", w.Clock.Now(), bad))
	})
	world.Run(t, open, "case and accents matter in custom ids, and case does not in a search", func(t *testing.T, w *world.World) {
		for _, id := range []string{"sku", "SKU", "skü", "s-ku"} {
			made := w.CreateFile(func(n *catalog.NewDatasource) { n.Datasource.CustomID = id })
			got := world.Must(w.DatasourceByCustomID(w.Ctx, w.WS, w.StoreID, id))(t)
			world.Equal(t, made.ID, got.ID)
			found := world.Must(w.ResolveFilters(w.Ctx, []string{w.StoreID}, domain.Filters{CustomIDs: []string{id}}))(t)
			world.Equal(t, []string{made.ID}, found)
		}
		for search, want := range map[string]int{"sku": 2, "Sku": 2, "SKÜ": 1, "s_ku": 0, "s-": 1, `\`: 0, `'`: 0} {
			ds, _, err := w.Datasources(w.Ctx, w.WS, catalog.DatasourceFilter{Search: search}, catalog.Page{})
			world.OK(t, err)
			if len(ds) != want {
				t.Errorf("searching %q found %d, want %d", search, len(ds), want)
			}
		}
	})
	world.Run(t, open, "workspaces take turns however their ids are ordered", func(t *testing.T, w *world.World) {
		names := []string{"a", "B", "c", "_d", "-e", "Ä", "f f"}
		for _, name := range names {
			world.OK(t, w.EnsureWorkspace(w.Ctx, name, name))
			store := w.NewDatastore(name).ID
			for range 2 {
				w.CreateFile(func(n *catalog.NewDatasource) { n.Datasource.WorkspaceID, n.Datasource.DatastoreID = name, store })
			}
		}
		for round := range 4 { // later rounds start at different workspaces
			served := map[string]bool{}
			for range names {
				jobs := world.Must(w.Outbox(w.Ctx, 1))(t)
				served[jobs[0].WorkspaceID] = true
			}
			world.Equal(t, len(names), len(served))
			jobs := world.Must(w.Outbox(w.Ctx, round))(t)
			world.Equal(t, round, len(jobs))
		}
	})
	world.Run(t, open, "lists in which many were made at the same moment lose none and repeat none", func(t *testing.T, w *world.World) {
		seen := map[string]bool{}
		for i := range 23 {
			w.CreateFile(func(n *catalog.NewDatasource) { n.Datasource.Name = fmt.Sprint(i) })
			if i%4 == 0 {
				w.Clock.Advance(-time.Second) // the clock is set back
			}
		}
		page := catalog.Page{Limit: 5}
		for {
			ds, next, err := w.Datasources(w.Ctx, w.WS, catalog.DatasourceFilter{}, page)
			world.OK(t, err)
			for _, d := range ds {
				world.Equal(t, false, seen[d.Name])
				seen[d.Name] = true
			}
			if page.Cursor = next; next == "" {
				break
			}
		}
		world.Equal(t, 23, len(seen))
	})
}
