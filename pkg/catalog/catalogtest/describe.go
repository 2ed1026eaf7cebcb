package catalogtest

import (
	"testing"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/catalog/catalogtest/world"
	"github.com/sluice/sluice/pkg/domain"
)

func testDescriptions(t *testing.T, open world.Open) {
	describe := func(w *world.World, ws, id string, d catalog.Description) (domain.Datasource, error) {
		return w.Describe(w.Ctx, ws, id, d, domain.Job{ID: domain.NewID()})
	}
	name, daily, depth := "Pumps, large", "@daily", 3
	metadata := map[string]any{"author": "Ada"}

	world.Run(t, open, "name and fetch settings of a page change together, and the page is fetched again", func(t *testing.T, w *world.World) {
		d := w.CreatePage()
		w.RunWorkers(world.Pages{world.PageA: {Content: "a"}})
		world.Equal(t, domain.StatusSynched, w.Get(d.ID).Status)
		world.Must(describe(w, w.WS, d.ID, catalog.Description{Name: &name, Metadata: &metadata, Web: &domain.WebPatch{Refresh: &daily}}))(t)
		got := w.Get(d.ID)
		world.Equal(t, name, got.Name)
		world.Equal(t, metadata, got.Metadata)
		world.Equal(t, daily, got.Config.Refresh)
		world.Equal(t, domain.StatusUnsynched, got.Status)
		jobs := w.PublishAll()
		world.Equal(t, 1, len(jobs))
		world.Equal(t, domain.JobIngest, jobs[0].Kind)
	})
	world.Run(t, open, "where how it is fetched cannot be changed, nothing is", func(t *testing.T, w *world.World) {
		site := w.CreateSite(domain.DatasourceConfig{}, world.PageA)
		for id, patch := range map[string]domain.WebPatch{
			w.CreateFile().ID:              {Refresh: &daily},
			w.PageAt(site, world.PageA).ID: {Refresh: &daily},
			w.CreatePage().ID:              {MaxDepth: &depth},
		} {
			before := w.Get(id)
			world.Refused(describe(w, w.WS, id, catalog.Description{Name: &name, Metadata: &metadata, Web: &patch}))(t, domain.CodeInvalid)
			world.Equal(t, before, w.Get(id))
		}
	})
	world.Run(t, open, "a page that is being fetched again keeps both until that is done", func(t *testing.T, w *world.World) {
		d := w.CreatePage()
		w.RunWorkers(world.Pages{world.PageA: {Content: "a"}})
		w.FetchAgain(w.Get(d.ID))
		before := w.Get(d.ID)
		world.Refused(describe(w, w.WS, d.ID, catalog.Description{Name: &name, Web: &domain.WebPatch{Refresh: &daily}}))(t, domain.CodeConflict)
		world.Equal(t, before, w.Get(d.ID))
	})
	world.Run(t, open, "a site, which has no content, is described and fetched otherwise without a job", func(t *testing.T, w *world.World) {
		site := w.CreateSite(domain.DatasourceConfig{})
		w.PublishAll()
		got := world.Must(describe(w, w.WS, site.ID, catalog.Description{Name: &name, Web: &domain.WebPatch{Refresh: &daily, MaxDepth: &depth}}))(t)
		world.Equal(t, name, got.Name)
		want := site.Config
		want.Refresh, want.MaxDepth, want.ChangedAt = daily, depth, got.UpdatedAt
		world.Equal(t, want, w.Get(site.ID).Config)
		world.Equal(t, 0, len(w.PublishAll()))
	})
	world.Run(t, open, "unknown datasources and those of other workspaces are not found", func(t *testing.T, w *world.World) {
		d := w.CreatePage()
		before := w.Get(d.ID)
		world.Refused(describe(w, w.NewWorkspace(), d.ID, catalog.Description{Name: &name, Web: &domain.WebPatch{Refresh: &daily}}))(t, domain.CodeNotFound)
		world.Refused(describe(w, w.WS, domain.NewID(), catalog.Description{Name: &name}))(t, domain.CodeNotFound)
		world.Equal(t, before, w.Get(d.ID))
	})
}
