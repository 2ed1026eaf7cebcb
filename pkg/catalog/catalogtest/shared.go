package catalogtest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/catalog/catalogtest/world"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lists"
)

// OpenShared opens one empty catalog several times, as separate processes would. It is closed when the test ends.
type OpenShared func(t testing.TB, processes ...catalog.Options) []*catalog.Catalog

// RunShared runs the tests for a catalog shared by several processes.
func RunShared(t *testing.T, open OpenShared) {
	for sentence, test := range map[string]func(*testing.T, OpenShared){
		"everything at once in three processes ends with everything in its place":      testConcurrentService,
		"one of several processes begins a request, and the others learn of it":        testSharedIdempotency,
		"of several processes one takes over a request that was lost with its process": testSharedLostRequest,
		"documents that several processes upsert at once are one by their custom id":   testSharedUpserts,
		"messages stay in the order in which they were stored, whatever clocks say":    testSharedMessages,
		"patches of different fields by several processes are all kept":                testSharedPatches,
		"the highest generation is not lowered by a process that has seen less":        testSharedMark,
		"a site's limit of pages holds when several processes find pages of it":        testSharedPages,
		"a datastore that is sent to and fro by several processes comes to rest whole": testSharedConcurrentMoves,
		"a move is finished once, however many processes see that nothing is missing":  testSharedFinish,
		"repairs and leases go to one of several processes":                            testSharedClaims,
		"a clear error rejects changes to a resource that another process has deleted": testSharedDeletion,
		"the last pages of a site, ended by several processes at once, end its crawl":  testSharedSite,
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			test(t, open)
		})
	}
}

// newShared returns a world and `others` more catalogs that use the same database.
func newShared(t testing.TB, open OpenShared, others int, options ...func(i int, o *catalog.Options)) (*world.World, []*catalog.Catalog) {
	t.Helper()
	var rest []*catalog.Catalog
	w := world.New(t, func(t testing.TB, o catalog.Options) *catalog.Catalog {
		all := make([]catalog.Options, 1+others)
		for i := range all {
			all[i] = o
			for _, f := range options {
				f(i, &all[i])
			}
		}
		opened := open(t, all...)
		rest = opened[1:]
		return opened[0]
	})
	return w, rest
}

// atOnce calls f concurrently for every catalog and returns one error per catalog, in order.
func atOnce(all []*catalog.Catalog, f func(i int, c *catalog.Catalog) error) []error {
	out := make([]error, len(all))
	var running sync.WaitGroup
	for i, c := range all {
		running.Go(func() { out[i] = f(i, c) })
	}
	running.Wait()
	return out
}

func testConcurrentService(t *testing.T, open OpenShared) {
	w, others := newShared(t, open, 2)
	newConcurrentService(w, others...).run()
}

func testSharedUpserts(t *testing.T, open OpenShared) {
	w, others := newShared(t, open, 3)
	all := append(others, w.Catalog)
	for range 5 {
		world.OK(t, errors.Join(atOnce(all, func(i int, c *catalog.Catalog) error {
			var in []catalog.NewDatasource
			for k := range 4 { // each in a different order
				in = append(in, w.File(func(n *catalog.NewDatasource) { n.Datasource.CustomID = fmt.Sprint("sku-", (i+k)%4) }))
			}
			_, err := c.UpsertDatasources(w.Ctx, in)
			return err
		})...))
	}
	ds, _, err := w.Datasources(w.Ctx, w.WS, catalog.DatasourceFilter{}, catalog.Page{})
	world.OK(t, err)
	world.Equal(t, 4, len(ds))
}

func testSharedMessages(t *testing.T, open OpenShared) {
	w, others := newShared(t, open, 1, func(i int, o *catalog.Options) {
		now := o.Now
		o.Now = func() time.Time { return now().Add(-time.Duration(i) * time.Hour) }
	})
	v := world.Must(w.EnsureConversation(w.Ctx, domain.Conversation{ID: domain.NewID(), WorkspaceID: w.WS, AgentID: NewAgent(w).ID}))(t)
	var want []string
	for i, c := range []*catalog.Catalog{w.Catalog, others[0], w.Catalog, others[0]} {
		question, answer := fmt.Sprint("question ", i), fmt.Sprint("answer ", i)
		want = append(want, question, answer)
		world.OK(t, c.AppendMessages(w.Ctx, v.ID,
			domain.Message{ID: domain.NewID(), Role: domain.RoleUser, Text: question},
			domain.Message{ID: domain.NewID(), Role: domain.RoleAssistant, Text: answer}))
	}
	got := world.Must(w.Messages(w.Ctx, v.ID, 100))(t)
	world.Equal(t, want, lists.Map(got, func(m domain.Message) string { return m.Text }))
}

func testSharedPatches(t *testing.T, open OpenShared) {
	w, others := newShared(t, open, 1)
	agent := NewAgent(w)
	for round := range 10 {
		text := fmt.Sprint("round ", round)
		world.OK(t, errors.Join(atOnce([]*catalog.Catalog{w.Catalog, others[0]}, func(i int, c *catalog.Catalog) error {
			agents, stores := domain.AgentPatch{Name: &text}, domain.DatastorePatch{Name: &text}
			if i == 1 {
				agents, stores = domain.AgentPatch{Description: &text}, domain.DatastorePatch{Description: &text}
			}
			_, err := c.UpdateAgent(w.Ctx, w.WS, agent.ID, agents)
			_, also := c.UpdateDatastore(w.Ctx, w.WS, w.StoreID, stores)
			return errors.Join(err, also)
		})...))
		a := world.Must(w.Agent(w.Ctx, w.WS, agent.ID))(t)
		d := world.Must(w.Datastore(w.Ctx, w.WS, w.StoreID))(t)
		world.Equal(t, []string{text, text, text, text}, []string{a.Name, a.Description, d.Name, d.Description})
	}
}

func testSharedMark(t *testing.T, open OpenShared) {
	w, others := newShared(t, open, 1)
	first, second := w.CreateFile(), w.CreateFile()
	world.OK(t, w.Published(w.Ctx, domain.Job{ID: first.JobID, DatasourceID: first.ID, DatastoreID: w.StoreID}, 70))
	world.OK(t, others[0].Published(w.Ctx, domain.Job{ID: second.JobID, DatasourceID: second.ID, DatastoreID: w.StoreID}, 40))
	for _, c := range []*catalog.Catalog{w.Catalog, others[0]} {
		g := world.Must(c.MaxGeneration(w.Ctx))(t)
		world.Equal(t, uint64(70), g)
	}
}

func testSharedPages(t *testing.T, open OpenShared) {
	w, others := newShared(t, open, 3)
	site := w.CreateSite(domain.DatasourceConfig{MaxPages: 10})
	world.OK(t, errors.Join(atOnce(append(others, w.Catalog), func(i int, c *catalog.Catalog) error {
		for k := range 8 {
			ev := w.Event(site, domain.EventDiscovered, world.Links(fmt.Sprintf("https://pumps.example/%d/%d", i, k)))
			if _, err := c.Apply(w.Ctx, ev); err != nil {
				return err
			}
		}
		return nil
	})...))
	world.Equal(t, int64(10), w.Get(site.ID).Progress.Total)
}

func testSharedSite(t *testing.T, open OpenShared) {
	w, others := newShared(t, open, 2)
	all := append(others, w.Catalog)
	for range 8 {
		site := w.CreateSite(domain.DatasourceConfig{}, world.PageA, world.PageB)
		w.PublishAll()
		pages := []domain.Datasource{w.PageAt(site, world.PageA), w.PageAt(site, world.PageB), site}
		world.OK(t, errors.Join(atOnce(all, func(i int, c *catalog.Catalog) error {
			_, err := c.Apply(w.Ctx, w.Event(pages[i], domain.EventSynched, world.Chunks(1)))
			return err
		})...))
		world.Equal(t, domain.StatusSynched, w.Get(site.ID).Status)
	}
}

func testSharedDeletion(t *testing.T, open OpenShared) {
	w, others := newShared(t, open, 2)
	all := append(others, w.Catalog)
	for range 10 {
		store, agent := w.NewDatastore(w.WS), NewAgent(w)
		for i, err := range atOnce(append(all, all...), func(i int, c *catalog.Catalog) (err error) {
			switch i {
			case 0:
				_, err = c.DeleteDatastore(w.Ctx, w.WS, store.ID)
			case 1:
				_, err = c.CreateAgent(w.Ctx, domain.Agent{ID: domain.NewID(), WorkspaceID: w.WS, DatastoreIDs: []string{store.ID}})
			case 2:
				n := w.File(func(n *catalog.NewDatasource) { n.Datasource.DatastoreID = store.ID })
				_, err = c.CreateDatasources(w.Ctx, []catalog.NewDatasource{n})
			case 3:
				_, err = c.DeleteAgent(w.Ctx, w.WS, agent.ID)
			case 4:
				_, err = c.EnsureConversation(w.Ctx, domain.Conversation{ID: domain.NewID(), WorkspaceID: w.WS, AgentID: agent.ID})
			default:
				_, err = c.UpdateAgent(w.Ctx, w.WS, agent.ID, domain.AgentPatch{DatastoreIDs: &[]string{store.ID}})
			}
			return err
		}) {
			if got := domain.CodeOf(err); got != "" && got != domain.CodeNotFound && got != domain.CodeInvalid {
				t.Errorf("%d: %v", i, err)
			}
		}
		world.Code(t, domain.CodeNotFound, func() error { _, err := w.Datastore(w.Ctx, w.WS, store.ID); return err }())
	}
	agents, _, err := w.Agents(w.Ctx, w.WS, catalog.Page{Limit: 100})
	world.OK(t, err)
	for _, a := range agents {
		world.Equal(t, []string{}, a.DatastoreIDs)
	}
}
