package catalogtest

import (
	"testing"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

func testDescriptions(t *testing.T, open Open) {
	describe := func(w *world, ws, id string, d catalog.Description) (domain.Datasource, error) {
		return w.Describe(w.ctx, ws, id, d, domain.Job{ID: domain.NewID()})
	}
	name, daily, depth := "Pumps, large", "@daily", 3
	metadata := map[string]any{"author": "Ada"}

	t.Run("what a page is called and how it is fetched are changed as one, and it is read anew", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.single()
		w.play(pages{pageA: {content: "a"}})
		equal(t, domain.StatusSynched, w.get(d.ID).Status)
		_, err := describe(w, w.ws, d.ID, catalog.Description{Name: &name, Metadata: &metadata, Web: &domain.WebPatch{Refresh: &daily}})
		ok(t, err)
		got := w.get(d.ID)
		equal(t, name, got.Name)
		equal(t, metadata, got.Metadata)
		equal(t, daily, got.Config.Refresh)
		equal(t, domain.StatusUnsynched, got.Status)
		jobs := w.publishAll()
		equal(t, 1, len(jobs))
		equal(t, domain.JobIngest, jobs[0].Kind)
	})
	t.Run("where how it is fetched cannot be changed, nothing is", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		site := w.createSite(domain.DatasourceConfig{}, pageA)
		for id, patch := range map[string]domain.WebPatch{
			w.createFile().ID:      {Refresh: &daily},
			w.page(site, pageA).ID: {Refresh: &daily},
			w.single().ID:          {MaxDepth: &depth},
		} {
			before := w.get(id)
			_, err := describe(w, w.ws, id, catalog.Description{Name: &name, Metadata: &metadata, Web: &patch})
			code(t, domain.CodeInvalid, err)
			equal(t, before, w.get(id))
		}
	})
	t.Run("a page that is being fetched again keeps both until that is done", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.single()
		w.play(pages{pageA: {content: "a"}})
		w.requeue(w.get(d.ID))
		before := w.get(d.ID)
		_, err := describe(w, w.ws, d.ID, catalog.Description{Name: &name, Web: &domain.WebPatch{Refresh: &daily}})
		code(t, domain.CodeConflict, err)
		equal(t, before, w.get(d.ID))
	})
	t.Run("a site, which has no content, is described and fetched otherwise without a job", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		site := w.createSite(domain.DatasourceConfig{})
		w.publishAll()
		got, err := describe(w, w.ws, site.ID, catalog.Description{Name: &name, Web: &domain.WebPatch{Refresh: &daily, MaxDepth: &depth}})
		ok(t, err)
		equal(t, name, got.Name)
		want := site.Config
		want.Refresh, want.MaxDepth = daily, depth
		equal(t, want, w.get(site.ID).Config)
		equal(t, 0, len(w.publishAll()))
	})
	t.Run("what is not there, or another workspace's, is not found", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.single()
		before := w.get(d.ID)
		_, err := describe(w, w.workspace(), d.ID, catalog.Description{Name: &name, Web: &domain.WebPatch{Refresh: &daily}})
		code(t, domain.CodeNotFound, err)
		_, err = describe(w, w.ws, domain.NewID(), catalog.Description{Name: &name})
		code(t, domain.CodeNotFound, err)
		equal(t, before, w.get(d.ID))
	})
}
