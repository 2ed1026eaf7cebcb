package catalogtest

import (
	"math"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/catalog/catalogtest/world"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lists"
	"github.com/sluice/sluice/pkg/telemetry"
)

func testDatasources(t *testing.T, open world.Open) {
	world.Run(t, open, "a datasource is stored with its job, which says what the datasource says", func(t *testing.T, w *world.World) {
		n := w.File(func(n *catalog.NewDatasource) {
			n.Datasource.CustomID, n.Datasource.Metadata = "sku", map[string]any{"author": "Kim", "year": 2026.0, "open": true}
			n.Job.Name, n.Job.WorkspaceID = "not this", "nor this"
			n.Job.Places, n.Job.Previous = []domain.Place{placeB}, &domain.Version{Generation: 5}
			n.Job.GroupID, n.Job.Move, n.Job.Force = "nor this", "nor this", true
		})
		made := w.Create(n)[0]
		world.Equal(t, domain.StatusUnsynched, made.Status)
		world.Equal(t, n.Job.ID, made.JobID)
		world.Equal(t, 1, made.Runs)
		world.Equal(t, made, w.Get(made.ID))
		jobs := world.Must(w.Outbox(w.Ctx, 10))(t)
		world.Equal(t, []domain.Job{{
			ID: n.Job.ID, Kind: domain.JobIngest, WorkspaceID: w.WS, DatastoreID: w.StoreID, DatasourceID: made.ID, Type: domain.TypeFile,
			Name: made.Name, CustomID: "sku", Metadata: made.Metadata, Places: []domain.Place{world.Serving}, Force: true, Original: made.Original, CreatedAt: made.CreatedAt,
		}}, jobs)
	})
	world.Run(t, open, "a job bears the trace in which it was asked for, and the outbox says since when it waits", func(t *testing.T, w *world.World) {
		due, oldest, err := w.OutboxBacklog(w.Ctx)
		world.OK(t, err)
		world.Equal(t, 0, due)
		world.Equal(t, time.Time{}, oldest)
		const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		world.Must(w.CreateDatasources(telemetry.Extract(w.Ctx, trace), []catalog.NewDatasource{w.File()}))(t)
		w.Create(w.File())
		jobs := world.Must(w.Outbox(w.Ctx, 10))(t)
		world.Equal(t, []string{trace, ""}, []string{jobs[0].Trace, jobs[1].Trace})
		due, oldest, err = w.OutboxBacklog(w.Ctx)
		world.OK(t, err)
		world.Equal(t, 2, due)
		world.Equal(t, false, oldest.IsZero())
	})
	world.Run(t, open, "several are stored all or none", func(t *testing.T, w *world.World) {
		first := w.File()
		lost := w.File(func(n *catalog.NewDatasource) { n.Datasource.DatastoreID = domain.NewID() })
		world.Refused(w.CreateDatasources(w.Ctx, []catalog.NewDatasource{first, lost}))(t, domain.CodeNotFound)
		world.Refused(w.Datasource(w.Ctx, w.WS, first.Datasource.ID))(t, domain.CodeNotFound)
		world.Equal(t, []string{}, w.OutboxIDs())
	})
	world.Run(t, open, "the datastore of another workspace is not found", func(t *testing.T, w *world.World) {
		foreign := w.NewDatastore(w.NewWorkspace()).ID
		_, err := w.CreateDatasources(w.Ctx, []catalog.NewDatasource{w.File(func(n *catalog.NewDatasource) { n.Datasource.DatastoreID = foreign })})
		world.Code(t, domain.CodeNotFound, err)
	})
	world.Run(t, open, "an id that is taken is a conflict", func(t *testing.T, w *world.World) {
		n := w.File()
		world.Refused(w.CreateDatasources(w.Ctx, []catalog.NewDatasource{n, n}))(t, domain.CodeConflict)
	})
	world.Run(t, open, "values that cannot be encoded are rejected and nothing is stored", func(t *testing.T, w *world.World) {
		n := w.File(func(n *catalog.NewDatasource) { n.Datasource.Metadata = map[string]any{"x": math.NaN()} })
		if _, err := w.CreateDatasources(w.Ctx, []catalog.NewDatasource{n}); err == nil {
			t.Fatal("metadata with NaN was stored")
		}
		world.Equal(t, []string{}, w.OutboxIDs())
	})
	world.Run(t, open, "a datasource of another workspace is not found, replaced, queued or deleted", func(t *testing.T, w *world.World) {
		made, other := w.CreateFile(), w.NewWorkspace()
		world.Refused(w.Datasource(w.Ctx, other, made.ID))(t, domain.CodeNotFound)
		world.Refused(w.ReplaceContent(w.Ctx, other, made.ID, catalog.Replacement{Job: domain.Job{ID: domain.NewID()}}))(t, domain.CodeNotFound)
		again := domain.Job{ID: domain.NewID(), Kind: domain.JobIngest}
		world.Refused(w.Requeue(w.Ctx, other, made.ID, again, catalog.PriorityReplay))(t, domain.CodeNotFound)
		world.Refused(w.DeleteDatasource(w.Ctx, other, made.ID))(t, domain.CodeNotFound)
		world.Equal(t, made, w.Get(made.ID))
	})
	world.Run(t, open, "the newest datasource with a custom id is found in its datastore alone", func(t *testing.T, w *world.World) {
		custom := func(n *catalog.NewDatasource) { n.Datasource.CustomID = "sku" }
		w.CreateFile(custom)
		newest := w.CreateFile(custom)
		got := world.Must(w.DatasourceByCustomID(w.Ctx, w.WS, w.StoreID, "sku"))(t)
		world.Equal(t, newest, got)
		for _, test := range []struct{ ws, store, id string }{
			{w.WS, w.StoreID, "other"}, {w.WS, w.StoreID, ""}, {w.WS, w.NewDatastore(w.WS).ID, "sku"}, {w.NewWorkspace(), w.StoreID, "sku"},
		} {
			world.Refused(w.DatasourceByCustomID(w.Ctx, test.ws, test.store, test.id))(t, domain.CodeNotFound)
		}
	})
	world.Run(t, open, "new content replaces what the caller names, queues its job and sweeps the original before", func(t *testing.T, w *world.World) {
		made := w.Synch(w.CreateFile().ID)
		r := catalog.Replacement{
			Name: new("New name"), Metadata: &map[string]any{"v": "2"}, CustomID: new("sku"), FileName: new("new.md"),
			Original: domain.Original{Key: "new", SHA256: "def", Size: 7, MIMEType: "text/markdown"}, Job: domain.Job{ID: domain.NewID()},
		}
		got := world.Must(w.ReplaceContent(w.Ctx, w.WS, made.ID, r))(t)
		want := made
		want.Name, want.CustomID, want.Metadata, want.Original = "New name", "sku", *r.Metadata, &r.Original
		want.Config = domain.DatasourceConfig{MIMEType: "text/markdown", FileName: "new.md", FileSize: 7, SHA256: "def", CustomID: "sku", ChangedAt: got.Config.ChangedAt}
		want.Status, want.JobID, want.Runs, want.UpdatedAt = domain.StatusUnsynched, r.Job.ID, 2, got.UpdatedAt
		world.Equal(t, want, got)
		world.Equal(t, true, got.Config.ChangedAt.After(made.UpdatedAt))
		world.Equal(t, want, w.Get(made.ID))
		jobs := world.Must(w.Outbox(w.Ctx, 10))(t)
		world.Equal(t, 1, len(jobs))
		world.Equal(t, "new", jobs[0].Original.Key)
		world.Equal(t, "New name", jobs[0].Name)
		sweeps := w.AllSweeps()
		world.Equal(t, 1, len(sweeps))
		world.Equal(t, []string{made.Original.Key}, sweeps[0].Originals)
		world.Equal(t, uint64(0), sweeps[0].Below)
	})
	world.Run(t, open, "new content alone leaves name, metadata and custom id", func(t *testing.T, w *world.World) {
		made := w.CreateFile(func(n *catalog.NewDatasource) {
			n.Datasource.CustomID, n.Datasource.Metadata = "sku", map[string]any{"a": "b"}
		})
		got, err := w.ReplaceContent(w.Ctx, w.WS, made.ID, catalog.Replacement{Original: domain.Original{Key: "new"}, Job: domain.Job{ID: domain.NewID()}})
		world.OK(t, err)
		world.Equal(t, []any{made.Name, made.CustomID, made.Metadata}, []any{got.Name, got.CustomID, got.Metadata})
	})
	world.Run(t, open, "the content of a web site cannot be replaced", func(t *testing.T, w *world.World) {
		site := w.CreateSite(domain.DatasourceConfig{})
		world.Refused(w.ReplaceContent(w.Ctx, w.WS, site.ID, catalog.Replacement{Job: domain.Job{ID: domain.NewID()}}))(t, domain.CodeInvalid)
	})
	world.Run(t, open, "a datasource without content to read is rejected", func(t *testing.T, w *world.World) {
		n := []catalog.NewDatasource{w.File(func(n *catalog.NewDatasource) { n.Datasource.Original = nil })}
		world.Refused(w.CreateDatasources(w.Ctx, n))(t, domain.CodeInvalid)
		world.Refused(w.UpsertDatasources(w.Ctx, n))(t, domain.CodeInvalid)
	})
	world.Run(t, open, "an upsert replaces what carries the custom id in the datastore, keeps its id, and creates the rest", func(t *testing.T, w *world.World) {
		other := w.NewDatastore(w.WS).ID
		custom := func(id, name string) func(*catalog.NewDatasource) {
			return func(n *catalog.NewDatasource) { n.Datasource.CustomID, n.Datasource.Name = id, name }
		}
		have := w.CreateFile(custom("a", "old"))
		elsewhere := w.CreateFile(custom("a", "elsewhere"), func(n *catalog.NewDatasource) { n.Datasource.DatastoreID = other })
		in := []catalog.NewDatasource{
			w.File(custom("a", "new")), w.File(custom("b", "first")), w.File(custom("b", "second")), w.File(custom("", "plain")), w.File(custom("", "plain")),
		}
		out := world.Must(w.UpsertDatasources(w.Ctx, in))(t)
		world.Equal(t, have.ID, out[0].ID)
		world.Equal(t, out[1].ID, out[2].ID)
		world.Equal(t, 4, len(lists.Set(world.DatasourceIDs(out))))
		got := w.Get(have.ID)
		world.Equal(t, []any{"new", in[0].Datasource.Original.Key, in[0].Job.ID}, []any{got.Name, got.Original.Key, got.JobID})
		world.Equal(t, "second", w.Get(out[1].ID).Name)
		world.Equal(t, elsewhere, w.Get(elsewhere.ID))
		swept := map[string]bool{}
		for _, s := range w.AllSweeps() {
			swept[s.Originals[0]] = true
		}
		world.Equal(t, lists.Set([]string{have.Original.Key, in[1].Datasource.Original.Key}), swept)
		world.Equal(t, 5, len(w.OutboxIDs()))
	})
	world.Run(t, open, "an upsert is stored all or none", func(t *testing.T, w *world.World) {
		have := w.CreateFile(func(n *catalog.NewDatasource) { n.Datasource.CustomID = "a" })
		world.Refused(w.UpsertDatasources(w.Ctx, []catalog.NewDatasource{
			w.File(func(n *catalog.NewDatasource) { n.Datasource.CustomID = "a" }),
			w.File(func(n *catalog.NewDatasource) { n.Datasource.DatastoreID = domain.NewID() }),
		}))(t, domain.CodeNotFound)
		world.Equal(t, have, w.Get(have.ID))
		world.Equal(t, 0, len(w.AllSweeps()))
	})
	world.Run(t, open, "queueing again keeps the active generation and clears the error", func(t *testing.T, w *world.World) {
		made := w.Synch(w.CreateFile().ID)
		again := domain.NewIngestJob(made, w.Settled())
		world.Must(w.Requeue(w.Ctx, w.WS, made.ID, again, catalog.PriorityReplay))(t)
		w.PublishAll()
		w.ApplyEvent(w.Get(made.ID), domain.EventError, func(ev *domain.Event) { ev.Error = "encrypted" })
		failed := w.Get(made.ID)
		world.Equal(t, "encrypted", failed.Error)
		got := world.Must(w.Requeue(w.Ctx, w.WS, made.ID, domain.NewIngestJob(made, w.Settled()), catalog.PriorityReplay))(t)
		world.Equal(t, domain.StatusUnsynched, got.Status)
		world.Equal(t, "", got.Error)
		world.Equal(t, made.ActiveGeneration, got.ActiveGeneration)
	})
	world.Run(t, open, "a job to read again names the active content, so that unchanged content is not processed again", func(t *testing.T, w *world.World) {
		d := w.CreateFile()
		w.PublishAll()
		w.ApplyEvent(d, domain.EventSynched, world.Chunks(4), func(ev *domain.Event) { ev.Fingerprint = "print" })
		world.Must(w.Requeue(w.Ctx, w.WS, d.ID, domain.Job{ID: domain.NewID(), Kind: domain.JobIngest}, catalog.PriorityReplay))(t)
		j := w.PublishAll()[0]
		world.Equal(t, domain.Version{Place: world.Serving, Generation: j.Generation - 1, Chunks: 4, Fingerprint: "print"}, *j.Previous)
		world.Equal(t, false, j.Force)
		w.End(j, domain.EventUnchanged)
		got := w.Get(d.ID)
		world.Equal(t, []any{domain.StatusSynched, j.Generation - 1, "print"}, []any{got.Status, got.ActiveGeneration, got.Fingerprint})
	})
	world.Run(t, open, "a datasource without stored content cannot be read again", func(t *testing.T, w *world.World) {
		made := w.CreateFile(func(n *catalog.NewDatasource) { n.Datasource.Original, n.Job.Kind = nil, domain.JobCrawl })
		world.Refused(w.Requeue(w.Ctx, w.WS, made.ID, domain.NewIngestJob(made, w.Settled()), catalog.PriorityReplay))(t, domain.CodeConflict)
	})
}

func testRetrieval(t *testing.T, open world.Open) {
	world.Run(t, open, "the active generation and what a fragment shows come for those that exist", func(t *testing.T, w *world.World) {
		made := w.Synch(w.CreateFile(func(n *catalog.NewDatasource) {
			n.Datasource.CustomID, n.Datasource.Metadata = "sku", map[string]any{"a": "b"}
			n.Datasource.Config = domain.DatasourceConfig{MIMEType: "application/pdf", FileName: "x.pdf", SourceURL: "https://x/"}
		}).ID)
		waiting := w.CreateFile()
		got := world.Must(w.Active(w.Ctx, []string{made.ID, waiting.ID, domain.NewID(), made.ID}))(t)
		world.Equal(t, map[string]domain.ActiveDatasource{
			made.ID: {
				ID: made.ID, DatastoreID: w.StoreID, Type: domain.TypeFile, Name: made.Name, CustomID: "sku", Place: world.Serving,
				ActiveGeneration: made.ActiveGeneration, MIMEType: "application/pdf", SourceURL: "https://x/", FileName: "x.pdf",
				CreatedAt: made.CreatedAt, Metadata: map[string]any{"a": "b"},
			},
			waiting.ID: {ID: waiting.ID, DatastoreID: w.StoreID, Type: domain.TypeFile, Name: waiting.Name, Place: world.Serving, CreatedAt: waiting.CreatedAt},
		}, got)
	})
	world.Run(t, open, "more ids than one query takes are answered", func(t *testing.T, w *world.World) {
		var in []catalog.NewDatasource
		for range 300 {
			in = append(in, w.File())
		}
		made := world.DatasourceIDs(w.Create(in...))
		got := world.Must(w.Active(w.Ctx, made))(t)
		world.Equal(t, 300, len(got))
	})
	world.Run(t, open, "filters select by custom id and by id, a site for its pages, within the datastores alone", func(t *testing.T, w *world.World) {
		sku := func(n *catalog.NewDatasource) { n.Datasource.CustomID = "sku" }
		first, second := w.CreateFile(sku), w.CreateFile(sku)
		other := w.NewDatastore(w.WS).ID
		elsewhere := w.CreateFile(sku, func(n *catalog.NewDatasource) { n.Datasource.DatastoreID = other })
		site := w.CreateSite(domain.DatasourceConfig{}, "https://pumps.example/a")
		page := domain.ChildID(site.ID, "https://pumps.example/a")
		for sentence, test := range map[string]struct {
			stores []string
			filter domain.Filters
			want   []string
		}{
			"nothing named":             {[]string{w.StoreID}, domain.Filters{Metadata: map[string]any{"a": 1}}, nil},
			"a custom id":               {[]string{w.StoreID}, domain.Filters{CustomIDs: []string{"sku"}}, []string{first.ID, second.ID}},
			"a custom id in two stores": {[]string{w.StoreID, other}, domain.Filters{CustomIDs: []string{"sku"}}, []string{first.ID, second.ID, elsewhere.ID}},
			"an id":                     {[]string{w.StoreID}, domain.Filters{DatasourceIDs: []string{second.ID, elsewhere.ID}}, []string{second.ID}},
			"both":                      {[]string{w.StoreID}, domain.Filters{CustomIDs: []string{"sku"}, DatasourceIDs: []string{first.ID, site.ID}}, []string{first.ID}},
			"a site":                    {[]string{w.StoreID}, domain.Filters{DatasourceIDs: []string{site.ID}}, []string{site.ID, page}},
			"what does not exist":       {[]string{w.StoreID}, domain.Filters{CustomIDs: []string{"nobody", ""}}, []string{}},
		} {
			got := world.Must(w.ResolveFilters(w.Ctx, test.stores, test.filter))(t)
			if (got == nil) != (test.want == nil) {
				t.Errorf("%s: got %v, want %v", sentence, got, test.want)
			}
			world.Equal(t, lists.Set(test.want), lists.Set(got))
		}
	})
}
