package catalogtest

import (
	"slices"
	"testing"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/catalog/catalogtest/world"
	"github.com/sluice/sluice/pkg/domain"
)

// NewAgent creates an agent that uses these datastores.
func NewAgent(w *world.World, datastores ...string) domain.Agent {
	w.T.Helper()
	a := world.Must(w.CreateAgent(w.Ctx, domain.Agent{
		ID: domain.NewID(), WorkspaceID: w.WS, Name: "Helper", Description: "answers", ModelName: domain.DefaultModelName,
		Temperature: 0.25, Visibility: domain.Private, SystemPrompt: "Be kind.", UserPrompt: "{query}",
		PromptType: domain.PromptRaw, PromptTemplate: "{context}", DatastoreIDs: datastores, AllowedOrigins: []string{"https://a.example", "http://localhost:3000"},
	}))(w.T)
	return a
}

func testAgents(t *testing.T, open world.Open) {
	world.Run(t, open, "an agent is read as it was stored, its datastores in their order", func(t *testing.T, w *world.World) {
		second := w.NewDatastore(w.WS).ID
		made := NewAgent(w, second, w.StoreID)
		got := world.Must(w.Agent(w.Ctx, w.WS, made.ID))(t)
		world.Equal(t, made, got)
	})
	world.Run(t, open, "an agent of another workspace is not found, changed or deleted", func(t *testing.T, w *world.World) {
		made, other := NewAgent(w), w.NewWorkspace()
		world.Refused(w.Agent(w.Ctx, other, made.ID))(t, domain.CodeNotFound)
		world.Refused(w.UpdateAgent(w.Ctx, other, made.ID, domain.AgentPatch{Name: new("mine")}))(t, domain.CodeNotFound)
		world.Refused(w.DeleteAgent(w.Ctx, other, made.ID))(t, domain.CodeNotFound)
		got := world.Must(w.Agent(w.Ctx, w.WS, made.ID))(t)
		world.Equal(t, made.Name, got.Name)
	})
	world.Run(t, open, "a datastore of another workspace cannot be named, and the fault says which", func(t *testing.T, w *world.World) {
		foreign := w.NewDatastore(w.NewWorkspace()).ID
		a := domain.Agent{ID: domain.NewID(), WorkspaceID: w.WS, DatastoreIDs: []string{w.StoreID, foreign}}
		_, err := w.CreateAgent(w.Ctx, a)
		world.Code(t, domain.CodeInvalid, err)
		world.Equal(t, "datastoreIds[1]", world.FaultyField(t, err))
		world.Refused(w.Agent(w.Ctx, w.WS, a.ID))(t, domain.CodeNotFound)
	})
	world.Run(t, open, "naming a datastore twice is the same as once", func(t *testing.T, w *world.World) {
		second := w.NewDatastore(w.WS).ID
		a := NewAgent(w, w.StoreID, second, w.StoreID)
		got := world.Must(w.Agent(w.Ctx, w.WS, a.ID))(t)
		world.Equal(t, []string{w.StoreID, second}, got.DatastoreIDs)
	})
	world.Run(t, open, "a patch changes what it carries and nothing else", func(t *testing.T, w *world.World) {
		made := NewAgent(w, w.StoreID)
		want := made
		want.Temperature, want.Visibility = 0, domain.Public
		got := world.Must(w.UpdateAgent(w.Ctx, w.WS, made.ID, domain.AgentPatch{Temperature: new(0.0), Visibility: new(domain.Public)}))(t)
		want.UpdatedAt = got.UpdatedAt
		world.Equal(t, want, got)
		world.Equal(t, true, got.UpdatedAt.After(made.UpdatedAt))
		read := world.Must(w.Agent(w.Ctx, w.WS, made.ID))(t)
		world.Equal(t, want, read)
	})
	world.Run(t, open, "a patch that names an unknown datastore changes nothing", func(t *testing.T, w *world.World) {
		made := NewAgent(w, w.StoreID)
		_, err := w.UpdateAgent(w.Ctx, w.WS, made.ID, domain.AgentPatch{Name: new("new"), DatastoreIDs: &[]string{domain.NewID()}})
		world.Code(t, domain.CodeInvalid, err)
		got := world.Must(w.Agent(w.Ctx, w.WS, made.ID))(t)
		world.Equal(t, made, got)
	})
	world.Run(t, open, "datastores can be taken from an agent", func(t *testing.T, w *world.World) {
		made := NewAgent(w, w.StoreID)
		world.Must(w.UpdateAgent(w.Ctx, w.WS, made.ID, domain.AgentPatch{DatastoreIDs: &[]string{}}))(t)
		got := world.Must(w.Agent(w.Ctx, w.WS, made.ID))(t)
		world.Equal(t, []string{}, got.DatastoreIDs)
	})
	world.Run(t, open, "an agent's origins are changed and taken", func(t *testing.T, w *world.World) {
		made := NewAgent(w, w.StoreID)
		for _, origins := range [][]string{{"*"}, nil} {
			world.Must(w.UpdateAgent(w.Ctx, w.WS, made.ID, domain.AgentPatch{AllowedOrigins: &origins}))(t)
			got := world.Must(w.Agent(w.Ctx, w.WS, made.ID))(t)
			world.Equal(t, origins, got.AllowedOrigins)
		}
	})
	world.Run(t, open, "only a public agent is found without its workspace", func(t *testing.T, w *world.World) {
		made := NewAgent(w, w.StoreID)
		world.Refused(w.PublicAgent(w.Ctx, made.ID))(t, domain.CodeNotFound)
		world.Must(w.UpdateAgent(w.Ctx, w.WS, made.ID, domain.AgentPatch{Visibility: new(domain.Public)}))(t)
		got := world.Must(w.PublicAgent(w.Ctx, made.ID))(t)
		world.Equal(t, []string{w.StoreID}, got.DatastoreIDs)
	})
	world.Run(t, open, "a deleted agent is returned and gone", func(t *testing.T, w *world.World) {
		made := NewAgent(w, w.StoreID)
		got := world.Must(w.DeleteAgent(w.Ctx, w.WS, made.ID))(t)
		world.Equal(t, made, got)
		world.Refused(w.Agent(w.Ctx, w.WS, made.ID))(t, domain.CodeNotFound)
	})
	world.Run(t, open, "an id that is taken is a conflict", func(t *testing.T, w *world.World) {
		made := NewAgent(w)
		world.Refused(w.CreateAgent(w.Ctx, made))(t, domain.CodeConflict)
	})
}

func testDatastores(t *testing.T, open world.Open) {
	world.Run(t, open, "a datastore is read as it was stored", func(t *testing.T, w *world.World) {
		made := w.NewDatastore(w.WS)
		got := world.Must(w.Datastore(w.Ctx, w.WS, made.ID))(t)
		world.Equal(t, made, got)
	})
	world.Run(t, open, "a datastore of another workspace is not found, changed, counted or deleted", func(t *testing.T, w *world.World) {
		other := w.NewWorkspace()
		world.Refused(w.Datastore(w.Ctx, other, w.StoreID))(t, domain.CodeNotFound)
		world.Refused(w.UpdateDatastore(w.Ctx, other, w.StoreID, domain.DatastorePatch{Name: new("mine")}))(t, domain.CodeNotFound)
		world.Refused(w.DatastoreCounts(w.Ctx, other, w.StoreID))(t, domain.CodeNotFound)
		world.Refused(w.DeleteDatastore(w.Ctx, other, w.StoreID))(t, domain.CodeNotFound)
		world.Must(w.Datastore(w.Ctx, w.WS, w.StoreID))(t)
	})
	world.Run(t, open, "a patch changes what it carries and nothing else", func(t *testing.T, w *world.World) {
		want := world.Must(w.Datastore(w.Ctx, w.WS, w.StoreID))(t)
		want.Visibility = domain.Public
		got := world.Must(w.UpdateDatastore(w.Ctx, w.WS, w.StoreID, domain.DatastorePatch{Visibility: new(domain.Public)}))(t)
		want.UpdatedAt = got.UpdatedAt
		world.Equal(t, want, got)
	})
	world.Run(t, open, "the sizes of chunks are kept, travel with jobs, and fit together", func(t *testing.T, w *world.World) {
		d := w.NewDatastore(w.WS)
		d.ID, d.Chunking = domain.NewID(), domain.Chunking{TargetTokens: 64, MaxTokens: 100}
		made, err := w.CreateDatastore(w.Ctx, d)
		world.OK(t, err)
		got := world.Must(w.Datastore(w.Ctx, w.WS, d.ID))(t)
		world.Equal(t, made, got)
		_, err = w.UpdateDatastore(w.Ctx, w.WS, d.ID, domain.DatastorePatch{Chunking: &domain.ChunkingPatch{TargetTokens: new(101)}})
		world.Code(t, domain.CodeInvalid, err)
		world.Equal(t, "chunking.maxTokens", world.FaultyField(t, err))
		got = world.Must(w.UpdateDatastore(w.Ctx, w.WS, d.ID, domain.DatastorePatch{Chunking: &domain.ChunkingPatch{TargetTokens: new(99)}}))(t)
		world.Equal(t, domain.Chunking{TargetTokens: 99, MaxTokens: 100}, got.Chunking)
		job := world.Must(w.NewJob(w.Ctx, domain.Datasource{ID: domain.NewID(), WorkspaceID: w.WS, DatastoreID: d.ID}, domain.JobIngest))(t)
		world.Equal(t, got.Chunking, job.Chunking)
	})
	world.Run(t, open, "only a public datastore is found without its workspace", func(t *testing.T, w *world.World) {
		world.Refused(w.PublicDatastore(w.Ctx, w.StoreID))(t, domain.CodeNotFound)
		world.Must(w.UpdateDatastore(w.Ctx, w.WS, w.StoreID, domain.DatastorePatch{Visibility: new(domain.Public)}))(t)
		world.Must(w.PublicDatastore(w.Ctx, w.StoreID))(t)
	})
	world.Run(t, open, "every datastore of every workspace is walked", func(t *testing.T, w *world.World) {
		want := []string{w.StoreID, w.NewDatastore(w.NewWorkspace()).ID}
		slices.Sort(want)
		var got []string
		world.OK(t, w.EachDatastore(w.Ctx, func(d domain.Datastore) error {
			got = append(got, d.ID)
			return nil
		}))
		world.Equal(t, want, got)
	})
	world.Run(t, open, "datasources are counted by status", func(t *testing.T, w *world.World) {
		first := w.CreateFile()
		w.CreateFile()
		w.Synch(first.ID)
		w.CreateFile()
		got := world.Must(w.DatastoreCounts(w.Ctx, w.WS, w.StoreID))(t)
		world.Equal(t, map[domain.Status]int64{domain.StatusSynched: 1, domain.StatusPending: 1, domain.StatusUnsynched: 1}, got)
	})
}

func testLists(t *testing.T, open world.Open) {
	world.Run(t, open, "pages follow one another, newest first, while rows come and go", func(t *testing.T, w *world.World) {
		var in []catalog.NewDatasource
		for range 7 {
			in = append(in, w.File())
		}
		want := world.DatasourceIDs(w.Create(in...))
		slices.Reverse(want)
		var got []string
		page := catalog.Page{Limit: 3}
		for {
			ds, next, err := w.Datasources(w.Ctx, w.WS, catalog.DatasourceFilter{}, page)
			world.OK(t, err)
			got = append(got, world.DatasourceIDs(ds)...)
			if next == "" {
				break
			}
			page.Cursor = next
			w.CreateFile() // newer than the pages already read, so the following pages don't contain it
			world.Must(w.DeleteDatasource(w.Ctx, w.WS, ds[len(ds)-1].ID))(t)
		}
		world.Equal(t, want, got)
	})
	world.Run(t, open, "a full last page has no next cursor", func(t *testing.T, w *world.World) {
		w.NewDatastore(w.WS)
		stores, next, err := w.Datastores(w.Ctx, w.WS, catalog.Page{Limit: 2})
		world.OK(t, err)
		world.Equal(t, 2, len(stores))
		world.Equal(t, "", next)
	})
	world.Run(t, open, "agents and datastores are listed by workspace", func(t *testing.T, w *world.World) {
		first, second := NewAgent(w, w.StoreID), NewAgent(w)
		agents, next, err := w.Agents(w.Ctx, w.WS, catalog.Page{Limit: 1})
		world.OK(t, err)
		world.Equal(t, second.ID, agents[0].ID)
		agents, next, err = w.Agents(w.Ctx, w.WS, catalog.Page{Cursor: next})
		world.OK(t, err)
		world.Equal(t, []domain.Agent{first}, agents)
		world.Equal(t, "", next)
		stores, _, err := w.Datastores(w.Ctx, w.NewWorkspace(), catalog.Page{})
		world.OK(t, err)
		world.Equal(t, 0, len(stores))
	})
	for _, limit := range []int{-1, 201} {
		world.Run(t, open, "a limit outside its bounds is refused", func(t *testing.T, w *world.World) {
			_, _, err := w.Agents(w.Ctx, w.WS, catalog.Page{Limit: limit})
			world.Code(t, domain.CodeInvalid, err)
		})
	}
	for _, cursor := range []string{"?", "YQ", "LjE", "MQ"} {
		world.Run(t, open, "an invalid cursor is rejected: "+cursor, func(t *testing.T, w *world.World) {
			_, _, err := w.Agents(w.Ctx, w.WS, catalog.Page{Cursor: cursor})
			world.Code(t, domain.CodeInvalid, err)
		})
	}
	world.Run(t, open, "a cursor of another list is refused", func(t *testing.T, w *world.World) {
		w.CreateFile()
		w.CreateFile()
		_, next, err := w.Datasources(w.Ctx, w.WS, catalog.DatasourceFilter{}, catalog.Page{Limit: 1})
		world.OK(t, err)
		if next == "" {
			t.Fatal("there is no cursor")
		}
		_, _, err = w.Agents(w.Ctx, w.WS, catalog.Page{Cursor: next})
		world.Code(t, domain.CodeInvalid, err)
		_, _, err = w.Datastores(w.Ctx, w.WS, catalog.Page{Cursor: next})
		world.Code(t, domain.CodeInvalid, err)
		_, _, err = w.Conversations(w.Ctx, w.WS, catalog.ConversationFilter{}, catalog.Page{Cursor: next})
		world.Code(t, domain.CodeInvalid, err)
		_, _, err = w.Replay(w.Ctx, catalog.ReplayFilter{}, next)
		world.Code(t, domain.CodeInvalid, err)
	})
	world.Run(t, open, "datasources are filtered by each field", func(t *testing.T, w *world.World) {
		site := w.CreateSite(domain.DatasourceConfig{}, "https://pumps.example/Öl_100%25")
		page := domain.ChildID(site.ID, "https://pumps.example/Öl_100%25")
		other := w.NewDatastore(w.WS).ID
		elsewhere := w.CreateFile(func(n *catalog.NewDatasource) {
			n.Datasource.DatastoreID, n.Datasource.CustomID = other, "SKU-77"
		})
		file := w.CreateFile(func(n *catalog.NewDatasource) { n.Datasource.CustomID = "SKU-77" })
		w.Synch(elsewhere.ID)
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
			{catalog.DatasourceFilter{CustomID: "SKU-77"}, []string{file.ID, elsewhere.ID}},
			{catalog.DatasourceFilter{CustomID: "SKU-77", DatastoreID: w.StoreID}, []string{file.ID}},
			{catalog.DatasourceFilter{CustomID: "SKU-77", Status: domain.StatusSynched}, []string{elsewhere.ID}},
			{catalog.DatasourceFilter{CustomID: "sku-77"}, []string{}},
			{catalog.DatasourceFilter{CustomID: "SKU-7"}, []string{}},
			{catalog.DatasourceFilter{Search: "sku-7", DatastoreID: w.StoreID}, []string{file.ID}},
			{catalog.DatasourceFilter{Search: "sku_7"}, []string{}},
			{catalog.DatasourceFilter{Search: "!"}, []string{}},
			{catalog.DatasourceFilter{DatastoreID: w.StoreID, Type: domain.TypeFile, Status: domain.StatusPending, Search: "pump"}, []string{file.ID}},
		} {
			ds, _, err := w.Datasources(w.Ctx, w.WS, test.filter, catalog.Page{})
			world.OK(t, err)
			world.Equal(t, test.want, world.DatasourceIDs(ds))
		}
	})
}
