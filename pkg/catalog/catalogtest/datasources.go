package catalogtest

import (
	"math"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/telemetry"
)

func testDatasources(t *testing.T, open Open) {
	t.Run("a datasource is stored with its job, which says what the datasource says", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		n := w.file(func(n *catalog.NewDatasource) {
			n.Datasource.CustomID, n.Datasource.Metadata = "sku", map[string]any{"author": "Kim", "year": 2026.0, "open": true}
			n.Job.Name, n.Job.WorkspaceID = "not this", "nor this"
			n.Job.Places, n.Job.Previous = []domain.Place{elsewhere}, &domain.Version{Generation: 5}
			n.Job.GroupID, n.Job.Move, n.Job.Force = "nor this", "nor this", true
		})
		made := w.create(n)[0]
		equal(t, domain.StatusUnsynched, made.Status)
		equal(t, n.Job.ID, made.JobID)
		equal(t, 1, made.Runs)
		equal(t, made, w.get(made.ID))
		jobs, err := w.Outbox(w.ctx, 10)
		ok(t, err)
		equal(t, []domain.Job{{
			ID: n.Job.ID, Kind: domain.JobIngest, WorkspaceID: w.ws, DatastoreID: w.store, DatasourceID: made.ID, Type: domain.TypeFile,
			Name: made.Name, CustomID: "sku", Metadata: made.Metadata, Places: []domain.Place{serving}, Force: true, Original: made.Original,
		}}, jobs)
	})
	t.Run("a job bears the trace in which it was asked for, and the outbox says since when it waits", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		due, oldest, err := w.OutboxBacklog(w.ctx)
		ok(t, err)
		equal(t, 0, due)
		equal(t, time.Time{}, oldest)
		const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		_, err = w.CreateDatasources(telemetry.Within(w.ctx, trace), []catalog.NewDatasource{w.file()})
		ok(t, err)
		w.create(w.file())
		jobs, err := w.Outbox(w.ctx, 10)
		ok(t, err)
		equal(t, []string{trace, ""}, []string{jobs[0].Trace, jobs[1].Trace})
		due, oldest, err = w.OutboxBacklog(w.ctx)
		ok(t, err)
		equal(t, 2, due)
		equal(t, false, oldest.IsZero())
	})
	t.Run("several are stored all or none", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		first := w.file()
		lost := w.file(func(n *catalog.NewDatasource) { n.Datasource.DatastoreID = domain.NewID() })
		_, err := w.CreateDatasources(w.ctx, []catalog.NewDatasource{first, lost})
		code(t, domain.CodeNotFound, err)
		_, err = w.Datasource(w.ctx, w.ws, first.Datasource.ID)
		code(t, domain.CodeNotFound, err)
		equal(t, []string{}, w.outbox())
	})
	t.Run("the datastore of another workspace is not found", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		foreign := w.datastore(w.workspace()).ID
		_, err := w.CreateDatasources(w.ctx, []catalog.NewDatasource{w.file(func(n *catalog.NewDatasource) { n.Datasource.DatastoreID = foreign })})
		code(t, domain.CodeNotFound, err)
	})
	t.Run("an id that is taken is a conflict", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		n := w.file()
		_, err := w.CreateDatasources(w.ctx, []catalog.NewDatasource{n, n})
		code(t, domain.CodeConflict, err)
	})
	t.Run("what cannot be encoded is an error and stores nothing", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		n := w.file(func(n *catalog.NewDatasource) { n.Datasource.Metadata = map[string]any{"x": math.NaN()} })
		if _, err := w.CreateDatasources(w.ctx, []catalog.NewDatasource{n}); err == nil {
			t.Fatal("metadata with NaN was stored")
		}
		equal(t, []string{}, w.outbox())
	})
	t.Run("a datasource of another workspace is not found, replaced, queued or deleted", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		made, other := w.createFile(), w.workspace()
		_, err := w.Datasource(w.ctx, other, made.ID)
		code(t, domain.CodeNotFound, err)
		_, err = w.ReplaceContent(w.ctx, other, made.ID, catalog.Replacement{Job: domain.Job{ID: domain.NewID()}})
		code(t, domain.CodeNotFound, err)
		_, err = w.Requeue(w.ctx, other, made.ID, domain.Job{ID: domain.NewID(), Kind: domain.JobIngest}, catalog.PriorityReplay)
		code(t, domain.CodeNotFound, err)
		_, err = w.DeleteDatasource(w.ctx, other, made.ID)
		code(t, domain.CodeNotFound, err)
		equal(t, made, w.get(made.ID))
	})
	t.Run("the newest datasource with a custom id is found in its datastore alone", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		custom := func(n *catalog.NewDatasource) { n.Datasource.CustomID = "sku" }
		w.createFile(custom)
		newest := w.createFile(custom)
		got, err := w.DatasourceByCustomID(w.ctx, w.ws, w.store, "sku")
		ok(t, err)
		equal(t, newest, got)
		for _, test := range []struct{ ws, store, id string }{
			{w.ws, w.store, "other"}, {w.ws, w.store, ""}, {w.ws, w.datastore(w.ws).ID, "sku"}, {w.workspace(), w.store, "sku"},
		} {
			_, err := w.DatasourceByCustomID(w.ctx, test.ws, test.store, test.id)
			code(t, domain.CodeNotFound, err)
		}
	})
	t.Run("new content replaces what the caller names, queues its job and sweeps the original before", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		made := w.synch(w.createFile().ID)
		r := catalog.Replacement{
			Name: new("New name"), Metadata: &map[string]any{"v": "2"}, CustomID: new("sku"), FileName: new("new.md"),
			Original: domain.Original{Key: "new", SHA256: "def", Size: 7, MIMEType: "text/markdown"}, Job: domain.Job{ID: domain.NewID()},
		}
		got, err := w.ReplaceContent(w.ctx, w.ws, made.ID, r)
		ok(t, err)
		want := made
		want.Name, want.CustomID, want.Metadata, want.Original = "New name", "sku", *r.Metadata, &r.Original
		want.Config = domain.DatasourceConfig{MIMEType: "text/markdown", FileName: "new.md", FileSize: 7, SHA256: "def", CustomID: "sku"}
		want.Status, want.JobID, want.Runs, want.UpdatedAt = domain.StatusUnsynched, r.Job.ID, 2, got.UpdatedAt
		equal(t, want, got)
		equal(t, want, w.get(made.ID))
		jobs, err := w.Outbox(w.ctx, 10)
		ok(t, err)
		equal(t, 1, len(jobs))
		equal(t, "new", jobs[0].Original.Key)
		equal(t, "New name", jobs[0].Name)
		sweeps := w.sweeps()
		equal(t, 1, len(sweeps))
		equal(t, []string{made.Original.Key}, sweeps[0].Originals)
		equal(t, uint64(0), sweeps[0].Below)
	})
	t.Run("new content alone leaves name, metadata and custom id", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		made := w.createFile(func(n *catalog.NewDatasource) {
			n.Datasource.CustomID, n.Datasource.Metadata = "sku", map[string]any{"a": "b"}
		})
		got, err := w.ReplaceContent(w.ctx, w.ws, made.ID, catalog.Replacement{Original: domain.Original{Key: "new"}, Job: domain.Job{ID: domain.NewID()}})
		ok(t, err)
		equal(t, []any{made.Name, made.CustomID, made.Metadata}, []any{got.Name, got.CustomID, got.Metadata})
	})
	t.Run("the content of a web site cannot be replaced", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		site := w.createSite(domain.DatasourceConfig{})
		_, err := w.ReplaceContent(w.ctx, w.ws, site.ID, catalog.Replacement{Job: domain.Job{ID: domain.NewID()}})
		code(t, domain.CodeInvalid, err)
	})
	t.Run("what is to be read and has no content is refused", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		n := []catalog.NewDatasource{w.file(func(n *catalog.NewDatasource) { n.Datasource.Original = nil })}
		_, err := w.CreateDatasources(w.ctx, n)
		code(t, domain.CodeInvalid, err)
		_, err = w.UpsertDatasources(w.ctx, n)
		code(t, domain.CodeInvalid, err)
	})
	t.Run("an upsert replaces what carries the custom id in the datastore, keeps its id, and creates the rest", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		other := w.datastore(w.ws).ID
		custom := func(id, name string) func(*catalog.NewDatasource) {
			return func(n *catalog.NewDatasource) { n.Datasource.CustomID, n.Datasource.Name = id, name }
		}
		have := w.createFile(custom("a", "old"))
		elsewhere := w.createFile(custom("a", "elsewhere"), func(n *catalog.NewDatasource) { n.Datasource.DatastoreID = other })
		in := []catalog.NewDatasource{
			w.file(custom("a", "new")), w.file(custom("b", "first")), w.file(custom("b", "second")), w.file(custom("", "plain")), w.file(custom("", "plain")),
		}
		out, err := w.UpsertDatasources(w.ctx, in)
		ok(t, err)
		equal(t, have.ID, out[0].ID)
		equal(t, out[1].ID, out[2].ID)
		equal(t, 4, len(asSet(datasourceIDs(out))))
		got := w.get(have.ID)
		equal(t, []any{"new", in[0].Datasource.Original.Key, in[0].Job.ID}, []any{got.Name, got.Original.Key, got.JobID})
		equal(t, "second", w.get(out[1].ID).Name)
		equal(t, elsewhere, w.get(elsewhere.ID))
		swept := map[string]bool{}
		for _, s := range w.sweeps() {
			swept[s.Originals[0]] = true
		}
		equal(t, asSet([]string{have.Original.Key, in[1].Datasource.Original.Key}), swept)
		equal(t, 5, len(w.outbox()))
	})
	t.Run("an upsert is stored all or none", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		have := w.createFile(func(n *catalog.NewDatasource) { n.Datasource.CustomID = "a" })
		_, err := w.UpsertDatasources(w.ctx, []catalog.NewDatasource{
			w.file(func(n *catalog.NewDatasource) { n.Datasource.CustomID = "a" }),
			w.file(func(n *catalog.NewDatasource) { n.Datasource.DatastoreID = domain.NewID() }),
		})
		code(t, domain.CodeNotFound, err)
		equal(t, have, w.get(have.ID))
		equal(t, 0, len(w.sweeps()))
	})
	t.Run("queueing again keeps what is active and forgets the error", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		made := w.synch(w.createFile().ID)
		again := domain.NewIngestJob(made, w.settled())
		_, err := w.Requeue(w.ctx, w.ws, made.ID, again, catalog.PriorityReplay)
		ok(t, err)
		w.publishAll()
		w.apply(w.get(made.ID), domain.EventError, func(ev *domain.Event) { ev.Error = "encrypted" })
		failed := w.get(made.ID)
		equal(t, "encrypted", failed.Error)
		got, err := w.Requeue(w.ctx, w.ws, made.ID, domain.NewIngestJob(made, w.settled()), catalog.PriorityReplay)
		ok(t, err)
		equal(t, domain.StatusUnsynched, got.Status)
		equal(t, "", got.Error)
		equal(t, made.ActiveGeneration, got.ActiveGeneration)
	})
	t.Run("a job to read again says what readers see, so that what has not changed need not be done again", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.createFile()
		w.publishAll()
		w.apply(d, domain.EventSynched, chunks(4), func(ev *domain.Event) { ev.Fingerprint = "print" })
		_, err := w.Requeue(w.ctx, w.ws, d.ID, domain.Job{ID: domain.NewID(), Kind: domain.JobIngest}, catalog.PriorityReplay)
		ok(t, err)
		j := w.publishAll()[0]
		equal(t, domain.Version{Place: serving, Generation: j.Generation - 1, Chunks: 4, Fingerprint: "print"}, *j.Previous)
		equal(t, false, j.Force)
		w.end(j, domain.EventUnchanged)
		got := w.get(d.ID)
		equal(t, []any{domain.StatusSynched, j.Generation - 1, "print"}, []any{got.Status, got.ActiveGeneration, got.Fingerprint})
	})
	t.Run("what has no stored content cannot be read again", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		made := w.createFile(func(n *catalog.NewDatasource) { n.Datasource.Original, n.Job.Kind = nil, domain.JobCrawl })
		_, err := w.Requeue(w.ctx, w.ws, made.ID, domain.NewIngestJob(made, w.settled()), catalog.PriorityReplay)
		code(t, domain.CodeConflict, err)
	})
}

func testRetrieval(t *testing.T, open Open) {
	t.Run("the active generation and what a fragment shows come for those that exist", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		made := w.synch(w.createFile(func(n *catalog.NewDatasource) {
			n.Datasource.CustomID, n.Datasource.Metadata = "sku", map[string]any{"a": "b"}
			n.Datasource.Config = domain.DatasourceConfig{MIMEType: "application/pdf", FileName: "x.pdf", SourceURL: "https://x/"}
		}).ID)
		waiting := w.createFile()
		got, err := w.Active(w.ctx, []string{made.ID, waiting.ID, domain.NewID(), made.ID})
		ok(t, err)
		equal(t, map[string]domain.ActiveDatasource{
			made.ID: {
				ID: made.ID, DatastoreID: w.store, Type: domain.TypeFile, Name: made.Name, CustomID: "sku", Place: serving,
				ActiveGeneration: made.ActiveGeneration, MIMEType: "application/pdf", SourceURL: "https://x/", FileName: "x.pdf",
				Metadata: map[string]any{"a": "b"},
			},
			waiting.ID: {ID: waiting.ID, DatastoreID: w.store, Type: domain.TypeFile, Name: waiting.Name, Place: serving},
		}, got)
	})
	t.Run("more ids than one query takes are answered", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		var in []catalog.NewDatasource
		for range 300 {
			in = append(in, w.file())
		}
		made := datasourceIDs(w.create(in...))
		got, err := w.Active(w.ctx, made)
		ok(t, err)
		equal(t, 300, len(got))
	})
	t.Run("filters select by custom id and by id, a site for its pages, within the datastores alone", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		sku := func(n *catalog.NewDatasource) { n.Datasource.CustomID = "sku" }
		first, second := w.createFile(sku), w.createFile(sku)
		other := w.datastore(w.ws).ID
		elsewhere := w.createFile(sku, func(n *catalog.NewDatasource) { n.Datasource.DatastoreID = other })
		site := w.createSite(domain.DatasourceConfig{}, "https://pumps.example/a")
		page := domain.ChildID(site.ID, "https://pumps.example/a")
		for sentence, test := range map[string]struct {
			stores []string
			filter domain.Filters
			want   []string
		}{
			"nothing named":             {[]string{w.store}, domain.Filters{Metadata: map[string]any{"a": 1}}, nil},
			"a custom id":               {[]string{w.store}, domain.Filters{CustomIDs: []string{"sku"}}, []string{first.ID, second.ID}},
			"a custom id in two stores": {[]string{w.store, other}, domain.Filters{CustomIDs: []string{"sku"}}, []string{first.ID, second.ID, elsewhere.ID}},
			"an id":                     {[]string{w.store}, domain.Filters{DatasourceIDs: []string{second.ID, elsewhere.ID}}, []string{second.ID}},
			"both":                      {[]string{w.store}, domain.Filters{CustomIDs: []string{"sku"}, DatasourceIDs: []string{first.ID, site.ID}}, []string{first.ID}},
			"a site":                    {[]string{w.store}, domain.Filters{DatasourceIDs: []string{site.ID}}, []string{site.ID, page}},
			"what does not exist":       {[]string{w.store}, domain.Filters{CustomIDs: []string{"nobody", ""}}, []string{}},
		} {
			got, err := w.ResolveFilters(w.ctx, test.stores, test.filter)
			ok(t, err)
			if (got == nil) != (test.want == nil) {
				t.Errorf("%s: got %v, want %v", sentence, got, test.want)
			}
			equal(t, asSet(test.want), asSet(got))
		}
	})
}

func asSet(ids []string) map[string]bool {
	out := map[string]bool{}
	for _, id := range ids {
		out[id] = true
	}
	return out
}
