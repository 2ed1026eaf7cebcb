package catalogtest

import (
	"slices"
	"testing"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// agent makes an agent of the workspace that answers from the datastores.
func (w *world) agent(datastores ...string) domain.Agent {
	w.t.Helper()
	a, err := w.CreateAgent(w.ctx, domain.Agent{
		ID: domain.NewID(), WorkspaceID: w.ws, Name: "Helper", Description: "answers", ModelName: domain.DefaultModelName,
		Temperature: 0.25, Visibility: domain.Private, SystemPrompt: "Be kind.", UserPrompt: "{query}",
		PromptType: domain.PromptRaw, PromptTemplate: "{context}", DatastoreIDs: datastores, AllowedOrigins: []string{"https://a.example", "http://localhost:3000"},
	})
	ok(w.t, err)
	return a
}

func testAgents(t *testing.T, open Open) {
	t.Run("an agent is read as it was stored, its datastores in their order", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		second := w.datastore(w.ws).ID
		made := w.agent(second, w.store)
		got, err := w.Agent(w.ctx, w.ws, made.ID)
		ok(t, err)
		equal(t, made, got)
	})
	t.Run("an agent of another workspace is not found, changed or deleted", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		made, other := w.agent(), w.workspace()
		_, err := w.Agent(w.ctx, other, made.ID)
		code(t, domain.CodeNotFound, err)
		_, err = w.UpdateAgent(w.ctx, other, made.ID, domain.AgentPatch{Name: new("mine")})
		code(t, domain.CodeNotFound, err)
		_, err = w.DeleteAgent(w.ctx, other, made.ID)
		code(t, domain.CodeNotFound, err)
		got, err := w.Agent(w.ctx, w.ws, made.ID)
		ok(t, err)
		equal(t, made.Name, got.Name)
	})
	t.Run("a datastore of another workspace cannot be named, and the fault says which", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		foreign := w.datastore(w.workspace()).ID
		a := domain.Agent{ID: domain.NewID(), WorkspaceID: w.ws, DatastoreIDs: []string{w.store, foreign}}
		_, err := w.CreateAgent(w.ctx, a)
		code(t, domain.CodeInvalid, err)
		equal(t, "datastoreIds[1]", faultyField(t, err))
		_, err = w.Agent(w.ctx, w.ws, a.ID)
		code(t, domain.CodeNotFound, err)
	})
	t.Run("naming a datastore twice is the same as once", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		second := w.datastore(w.ws).ID
		a := w.agent(w.store, second, w.store)
		got, err := w.Agent(w.ctx, w.ws, a.ID)
		ok(t, err)
		equal(t, []string{w.store, second}, got.DatastoreIDs)
	})
	t.Run("a patch changes what it carries and nothing else", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		made := w.agent(w.store)
		want := made
		want.Temperature, want.Visibility = 0, domain.Public
		got, err := w.UpdateAgent(w.ctx, w.ws, made.ID, domain.AgentPatch{Temperature: new(0.0), Visibility: new(domain.Public)})
		ok(t, err)
		want.UpdatedAt = got.UpdatedAt
		equal(t, want, got)
		equal(t, true, got.UpdatedAt.After(made.UpdatedAt))
		read, err := w.Agent(w.ctx, w.ws, made.ID)
		ok(t, err)
		equal(t, want, read)
	})
	t.Run("a patch that names an unknown datastore changes nothing", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		made := w.agent(w.store)
		_, err := w.UpdateAgent(w.ctx, w.ws, made.ID, domain.AgentPatch{Name: new("new"), DatastoreIDs: &[]string{domain.NewID()}})
		code(t, domain.CodeInvalid, err)
		got, err := w.Agent(w.ctx, w.ws, made.ID)
		ok(t, err)
		equal(t, made, got)
	})
	t.Run("datastores can be taken from an agent", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		made := w.agent(w.store)
		_, err := w.UpdateAgent(w.ctx, w.ws, made.ID, domain.AgentPatch{DatastoreIDs: &[]string{}})
		ok(t, err)
		got, err := w.Agent(w.ctx, w.ws, made.ID)
		ok(t, err)
		equal(t, []string{}, got.DatastoreIDs)
	})
	t.Run("an agent's origins are changed and taken", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		made := w.agent(w.store)
		for _, origins := range [][]string{{"*"}, nil} {
			_, err := w.UpdateAgent(w.ctx, w.ws, made.ID, domain.AgentPatch{AllowedOrigins: &origins})
			ok(t, err)
			got, err := w.Agent(w.ctx, w.ws, made.ID)
			ok(t, err)
			equal(t, origins, got.AllowedOrigins)
		}
	})
	t.Run("only a public agent is found without its workspace", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		made := w.agent(w.store)
		_, err := w.PublicAgent(w.ctx, made.ID)
		code(t, domain.CodeNotFound, err)
		_, err = w.UpdateAgent(w.ctx, w.ws, made.ID, domain.AgentPatch{Visibility: new(domain.Public)})
		ok(t, err)
		got, err := w.PublicAgent(w.ctx, made.ID)
		ok(t, err)
		equal(t, []string{w.store}, got.DatastoreIDs)
	})
	t.Run("a deleted agent is returned and gone", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		made := w.agent(w.store)
		got, err := w.DeleteAgent(w.ctx, w.ws, made.ID)
		ok(t, err)
		equal(t, made, got)
		_, err = w.Agent(w.ctx, w.ws, made.ID)
		code(t, domain.CodeNotFound, err)
	})
	t.Run("an id that is taken is a conflict", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		made := w.agent()
		_, err := w.CreateAgent(w.ctx, made)
		code(t, domain.CodeConflict, err)
	})
}

func testDatastores(t *testing.T, open Open) {
	t.Run("a datastore is read as it was stored", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		made := w.datastore(w.ws)
		got, err := w.Datastore(w.ctx, w.ws, made.ID)
		ok(t, err)
		equal(t, made, got)
	})
	t.Run("a datastore of another workspace is not found, changed, counted or deleted", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		other := w.workspace()
		_, err := w.Datastore(w.ctx, other, w.store)
		code(t, domain.CodeNotFound, err)
		_, err = w.UpdateDatastore(w.ctx, other, w.store, domain.DatastorePatch{Name: new("mine")})
		code(t, domain.CodeNotFound, err)
		_, err = w.DatastoreCounts(w.ctx, other, w.store)
		code(t, domain.CodeNotFound, err)
		_, err = w.DeleteDatastore(w.ctx, other, w.store)
		code(t, domain.CodeNotFound, err)
		_, err = w.Datastore(w.ctx, w.ws, w.store)
		ok(t, err)
	})
	t.Run("a patch changes what it carries and nothing else", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		want, err := w.Datastore(w.ctx, w.ws, w.store)
		ok(t, err)
		want.Visibility = domain.Public
		got, err := w.UpdateDatastore(w.ctx, w.ws, w.store, domain.DatastorePatch{Visibility: new(domain.Public)})
		ok(t, err)
		want.UpdatedAt = got.UpdatedAt
		equal(t, want, got)
	})
	t.Run("the sizes of chunks are kept, travel with jobs, and fit together", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.datastore(w.ws)
		d.ID, d.Chunking = domain.NewID(), domain.Chunking{TargetTokens: 64, MaxTokens: 100}
		made, err := w.CreateDatastore(w.ctx, d)
		ok(t, err)
		got, err := w.Datastore(w.ctx, w.ws, d.ID)
		ok(t, err)
		equal(t, made, got)
		_, err = w.UpdateDatastore(w.ctx, w.ws, d.ID, domain.DatastorePatch{Chunking: &domain.ChunkingPatch{TargetTokens: new(101)}})
		code(t, domain.CodeInvalid, err)
		equal(t, "chunking.maxTokens", faultyField(t, err))
		got, err = w.UpdateDatastore(w.ctx, w.ws, d.ID, domain.DatastorePatch{Chunking: &domain.ChunkingPatch{TargetTokens: new(99)}})
		ok(t, err)
		equal(t, domain.Chunking{TargetTokens: 99, MaxTokens: 100}, got.Chunking)
		job, err := w.NewJob(w.ctx, domain.Datasource{ID: domain.NewID(), WorkspaceID: w.ws, DatastoreID: d.ID}, domain.JobIngest)
		ok(t, err)
		equal(t, got.Chunking, job.Chunking)
	})
	t.Run("only a public datastore is found without its workspace", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		_, err := w.PublicDatastore(w.ctx, w.store)
		code(t, domain.CodeNotFound, err)
		_, err = w.UpdateDatastore(w.ctx, w.ws, w.store, domain.DatastorePatch{Visibility: new(domain.Public)})
		ok(t, err)
		_, err = w.PublicDatastore(w.ctx, w.store)
		ok(t, err)
	})
	t.Run("every datastore of every workspace is walked", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		want := []string{w.store, w.datastore(w.workspace()).ID}
		slices.Sort(want)
		var got []string
		ok(t, w.EachDatastore(w.ctx, func(d domain.Datastore) error {
			got = append(got, d.ID)
			return nil
		}))
		equal(t, want, got)
	})
	t.Run("datasources are counted by status", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		first := w.createFile()
		w.createFile()
		w.synch(first.ID)
		w.createFile()
		got, err := w.DatastoreCounts(w.ctx, w.ws, w.store)
		ok(t, err)
		equal(t, map[domain.Status]int64{domain.StatusSynched: 1, domain.StatusPending: 1, domain.StatusUnsynched: 1}, got)
	})
}

func testLists(t *testing.T, open Open) {
	t.Run("pages follow one another, newest first, while rows come and go", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		var in []catalog.NewDatasource
		for range 7 {
			in = append(in, w.file())
		}
		want := datasourceIDs(w.create(in...))
		slices.Reverse(want)
		var got []string
		page := catalog.Page{Limit: 3}
		for {
			ds, next, err := w.Datasources(w.ctx, w.ws, catalog.DatasourceFilter{}, page)
			ok(t, err)
			got = append(got, datasourceIDs(ds)...)
			if next == "" {
				break
			}
			page.Cursor = next
			w.createFile() // newer than what was read: no page shows it
			_, err = w.DeleteDatasource(w.ctx, w.ws, ds[len(ds)-1].ID)
			ok(t, err)
		}
		equal(t, want, got)
	})
	t.Run("a full last page has no next cursor", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		w.datastore(w.ws)
		stores, next, err := w.Datastores(w.ctx, w.ws, catalog.Page{Limit: 2})
		ok(t, err)
		equal(t, 2, len(stores))
		equal(t, "", next)
	})
	t.Run("agents and datastores are listed by workspace", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		first, second := w.agent(w.store), w.agent()
		agents, next, err := w.Agents(w.ctx, w.ws, catalog.Page{Limit: 1})
		ok(t, err)
		equal(t, second.ID, agents[0].ID)
		agents, next, err = w.Agents(w.ctx, w.ws, catalog.Page{Cursor: next})
		ok(t, err)
		equal(t, []domain.Agent{first}, agents)
		equal(t, "", next)
		stores, _, err := w.Datastores(w.ctx, w.workspace(), catalog.Page{})
		ok(t, err)
		equal(t, 0, len(stores))
	})
	for _, limit := range []int{-1, 201} {
		t.Run("a limit outside its bounds is refused", func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, open)
			_, _, err := w.Agents(w.ctx, w.ws, catalog.Page{Limit: limit})
			code(t, domain.CodeInvalid, err)
		})
	}
	for _, cursor := range []string{"?", "YQ", "LjE", "MQ"} {
		t.Run("what is no cursor is refused: "+cursor, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, open)
			_, _, err := w.Agents(w.ctx, w.ws, catalog.Page{Cursor: cursor})
			code(t, domain.CodeInvalid, err)
		})
	}
	t.Run("a cursor of another list is refused", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		w.createFile()
		w.createFile()
		_, next, err := w.Datasources(w.ctx, w.ws, catalog.DatasourceFilter{}, catalog.Page{Limit: 1})
		ok(t, err)
		if next == "" {
			t.Fatal("there is no cursor")
		}
		_, _, err = w.Agents(w.ctx, w.ws, catalog.Page{Cursor: next})
		code(t, domain.CodeInvalid, err)
		_, _, err = w.Datastores(w.ctx, w.ws, catalog.Page{Cursor: next})
		code(t, domain.CodeInvalid, err)
		_, _, err = w.Conversations(w.ctx, w.ws, catalog.ConversationFilter{}, catalog.Page{Cursor: next})
		code(t, domain.CodeInvalid, err)
		_, _, err = w.Replay(w.ctx, catalog.ReplayFilter{}, next)
		code(t, domain.CodeInvalid, err)
	})
	t.Run("datasources are filtered by each field", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		site := w.createSite(domain.DatasourceConfig{}, "https://pumps.example/Öl_100%25")
		page := domain.ChildID(site.ID, "https://pumps.example/Öl_100%25")
		other := w.datastore(w.ws).ID
		elsewhere := w.createFile(func(n *catalog.NewDatasource) { n.Datasource.DatastoreID = other })
		file := w.createFile(func(n *catalog.NewDatasource) { n.Datasource.CustomID = "SKU-77" })
		w.synch(elsewhere.ID)
		for _, test := range []struct {
			filter catalog.DatasourceFilter
			want   []string
		}{
			{catalog.DatasourceFilter{}, []string{file.ID, elsewhere.ID, page, site.ID}},
			{catalog.DatasourceFilter{DatastoreID: other}, []string{elsewhere.ID}},
			{catalog.DatasourceFilter{Status: domain.StatusSynched}, []string{elsewhere.ID}},
			{catalog.DatasourceFilter{Type: domain.TypeWebSite}, []string{site.ID}},
			{catalog.DatasourceFilter{GroupID: site.ID}, []string{page}},
			{catalog.DatasourceFilter{Search: "öL_1"}, []string{page}},
			{catalog.DatasourceFilter{Search: "%"}, []string{page}},
			{catalog.DatasourceFilter{Search: "sku-7"}, []string{file.ID}},
			{catalog.DatasourceFilter{Search: "sku_7"}, []string{}},
			{catalog.DatasourceFilter{Search: "!"}, []string{}},
			{catalog.DatasourceFilter{DatastoreID: w.store, Type: domain.TypeFile, Status: domain.StatusPending, Search: "pump"}, []string{file.ID}},
		} {
			ds, _, err := w.Datasources(w.ctx, w.ws, test.filter, catalog.Page{})
			ok(t, err)
			equal(t, test.want, datasourceIDs(ds))
		}
	})
}
