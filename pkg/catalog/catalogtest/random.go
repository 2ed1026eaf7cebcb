package catalogtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/catalog/catalogtest/world"
	"github.com/sluice/sluice/pkg/domain"
)

// testRandom runs random histories. Callers create, change and delete datasources, the dispatcher sometimes fails to
// record what it has published, and events arrive late, twice, or after their job was replaced.
func testRandom(t *testing.T, open world.Open) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprintf("whatever happens in history %d, every datasource is waited for in one place, and in the end none", seed), func(t *testing.T) {
			t.Parallel()
			h := &history{World: world.New(t, open), rand: rand.New(rand.NewPCG(seed, 7)), written: map[string][]version{}}
			for range 150 {
				h.step()
			}
			h.checkPlaces()
			h.drain()
			h.arrive()
			h.checkActive()
			counts := world.Must(h.DatastoreCounts(h.Ctx, h.WS, h.StoreID))(t)
			for status := range counts {
				world.Equal(t, true, status.Terminal())
			}
			world.Equal(t, int64(0), h.CountInFlight())
			world.Equal(t, []string{}, h.OutboxIDs())
			h.Clock.Advance(time.Hour)
			world.Equal(t, 0, len(h.StuckFor(0)))
		})
	}
}

type history struct {
	*world.World
	rand   *rand.Rand
	alive  []string       // ids known to callers
	events []domain.Event // in transit
	jobs   []domain.Job   // published
	// written maps each datasource id to the datasource's completely written generations, each with its place.
	written map[string][]version
}

type version struct {
	place      domain.Place
	generation uint64
}

func pick[T any](h *history, items []T) (T, bool) {
	var none T
	if len(items) == 0 {
		return none, false
	}
	return items[h.rand.IntN(len(items))], true
}

func (h *history) step() {
	h.T.Helper()
	h.Clock.Advance(time.Millisecond)
	switch h.rand.IntN(17) {
	case 0, 1:
		h.alive = append(h.alive, h.CreateFile().ID)
	case 2:
		id := domain.NewID()
		site := domain.Datasource{
			ID: id, WorkspaceID: h.WS, DatastoreID: h.StoreID, Type: domain.TypeWebSite,
			Config: domain.DatasourceConfig{SourceURL: "https://pumps.example/", MaxPages: 4, Exclude: []string{"/" + id + "/"}},
		}
		h.Create(catalog.NewDatasource{Datasource: site, Job: domain.NewCrawlJob(site, h.Settled())})
		h.alive = append(h.alive, site.ID)
	case 3:
		h.requeue()
	case 4:
		if id, any := pick(h, h.alive); any {
			_, err := h.DeleteDatasource(h.Ctx, h.WS, id)
			h.mayBeGone(err)
		}
	case 5, 6, 7:
		h.publish()
	case 8:
		h.checkPlaces()
	case 9:
		setPlace(h.World, []domain.Place{world.Serving, placeB, placeC}[h.rand.IntN(3)])
	case 10, 11:
		h.move()
	case 15:
		h.workOnce()
	case 16:
		h.stop()
	default:
		h.deliver()
	}
}

// mayBeGone requires that err is nil or "not found", because another caller may have deleted the object.
func (h *history) mayBeGone(err error) {
	h.T.Helper()
	if domain.CodeOf(err) != domain.CodeNotFound {
		world.OK(h.T, err)
	}
}

func (h *history) requeue() {
	h.T.Helper()
	id, any := pick(h, h.alive)
	if !any {
		return
	}
	d, err := h.Datasource(h.Ctx, h.WS, id)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return
	}
	world.OK(h.T, err)
	kind := domain.JobCrawl
	if d.Original != nil {
		kind = domain.JobIngest
	}
	job := world.Must(h.NewJob(h.Ctx, d, kind))(h.T)
	world.Must(h.Requeue(h.Ctx, h.WS, id, job, catalog.PriorityReplay))(h.T)
}

// publish publishes some jobs. Like a dispatcher that crashes, it doesn't always record which jobs it has published.
func (h *history) publish() {
	h.T.Helper()
	jobs := world.Must(h.Outbox(h.Ctx, 1+h.rand.IntN(4)))(h.T)
	for _, j := range jobs {
		h.Seq++
		h.events = append(h.events, h.eventsOf(j, h.Seq)...)
		if h.rand.IntN(4) > 0 {
			world.OK(h.T, h.Published(h.Ctx, j, h.Seq))
		}
	}
}

func (h *history) eventsOf(j domain.Job, seq uint64) []domain.Event {
	j.Generation = seq
	h.jobs = append(h.jobs, j)
	ev := j.Event(domain.EventRunning, h.Clock.Now())
	out := []domain.Event{ev}
	if j.Kind == domain.JobCrawl {
		found := ev
		found.Type = domain.EventDiscovered
		world.Links(fmt.Sprint("https://pumps.example/", h.rand.IntN(6)), fmt.Sprint("https://pumps.example/", h.rand.IntN(6)))(&found)
		out = append(out, found)
	}
	end := ev
	switch dice := h.rand.IntN(18); {
	case dice < 3:
		end.Type, end.Error = domain.EventError, "the server does not answer"
	case dice == 3 && j.Kind == domain.JobCrawl:
		end = j.Event(domain.EventPostponed, h.Clock.Now())
		end.Until, end.Tries, end.Error = h.Clock.Now().Add(time.Millisecond), j.Tries+1, "the server is busy"
	case dice == 4 && j.Kind == domain.JobCrawl && j.Type == domain.TypeWebPage:
		end.Type, end.Error = domain.EventGone, "it does not exist"
	case dice == 5 && j.Kind == domain.JobCrawl && j.Type == domain.TypeWebPage:
		end.Type, end.Error = domain.EventSkipped, "it asks for that"
	case dice == 6 && j.Kind == domain.JobCrawl && j.Type == domain.TypeWebPage:
		end.Type = domain.EventSitemap
	case j.Kind == domain.JobCrawl && j.Type == domain.TypeWebPage:
		end.Type = domain.EventFetched
		// Choose from only a few different contents, so that some fetched pages are unchanged or duplicates.
		end.Fetched = &domain.Fetched{Original: domain.Original{Key: fmt.Sprint("page-", seq), SHA256: fmt.Sprint("content-", h.rand.IntN(4))}}
		if h.rand.IntN(4) == 0 {
			end.Fetched.Canonical = fmt.Sprint("https://pumps.example/", h.rand.IntN(6))
		}
	default:
		end = j.Event(domain.EventSynched, h.Clock.Now())
		end.Chunks, end.Complete = 3, h.rand.IntN(2) == 0
		for _, p := range j.Places {
			if j.Kind == domain.JobIngest {
				h.written[j.DatasourceID] = append(h.written[j.DatasourceID], version{p, seq})
			}
		}
	}
	return append(out, end)
}

// deliver applies a random event, so events arrive out of order. Some events are delivered more than once.
func (h *history) deliver() {
	h.T.Helper()
	if len(h.events) == 0 {
		return
	}
	i := h.rand.IntN(len(h.events))
	world.Must(h.Apply(h.Ctx, h.events[i]))(h.T)
	if h.rand.IntN(5) > 0 {
		h.events = append(h.events[:i], h.events[i+1:]...)
	}
}

// workOnce does one batch of site work.
func (h *history) workOnce() {
	h.T.Helper()
	tasks := world.Must(h.SiteWork(h.Ctx, catalog.SiteTask{}, 10))(h.T)
	if task, any := pick(h, tasks); any {
		world.Must(h.WorkOnSite(h.Ctx, task))(h.T)
	}
}

// stop stops the crawl of a random datasource, if it has one.
func (h *history) stop() {
	h.T.Helper()
	if id, any := pick(h, h.alive); any {
		_, err := h.StopCrawl(h.Ctx, h.WS, id)
		if domain.CodeOf(err) != domain.CodeInvalid { // it is a file
			h.mayBeGone(err)
		}
	}
}

func (h *history) move() {
	h.T.Helper()
	d := readDatastore(h.World)
	if d.Move == nil {
		return
	}
	world.Must(h.IssueMoves(h.Ctx, h.StoreID, d.Move.ID, 1+h.rand.IntN(3)))(h.T)
	finish(h.World, d.Move.ID)
}

// arrive runs the mover until the move ends. Datasources whose move failed get another job, as if a user had retried
// them.
func (h *history) arrive() {
	h.T.Helper()
	for range 100 {
		d := readDatastore(h.World)
		if d.Move == nil {
			return
		}
		h.move()
		h.drain()
		for _, id := range h.content() {
			if got := h.Get(id); got.Target == nil && got.Status == domain.StatusError && got.MoveID == d.Move.ID {
				world.Must(h.Requeue(h.Ctx, h.WS, id, domain.Job{ID: domain.NewID(), Kind: domain.JobIngest}, catalog.PriorityFresh))(h.T)
			}
		}
		h.drain()
	}
	h.T.Fatal("a move does not come to its end")
}

func (h *history) content() (out []string) {
	h.T.Helper()
	world.OK(h.T, h.EachActive(h.Ctx, h.StoreID, func(a catalog.ActiveState) error {
		if a.Generation > 0 {
			out = append(out, a.DatasourceID)
		}
		return nil
	}))
	return out
}

// checkActive requires that all active content was completely written to the serving place and that no sweep will
// delete it.
func (h *history) checkActive() {
	h.T.Helper()
	sweeps := h.AllSweeps()
	for _, id := range h.content() {
		a := h.ActiveOne(id)
		world.Equal(h.T, readDatastore(h.World).Serving(), a.Place)
		here := version{a.Place, a.ActiveGeneration}
		if !slices.Contains(h.written[id], here) {
			h.T.Fatalf("readers of %s are shown generation %d in %s, which is not there; written is %v", id, here.generation, here.place, h.written[id])
		}
		for _, s := range sweeps {
			if s.DatastoreID == a.DatastoreID && (s.DatasourceID == "" || s.DatasourceID == id) &&
				(s.Place.IsZero() || s.Place == a.Place) && s.From <= here.generation && here.generation < s.Below {
				h.T.Fatalf("readers of %s see generation %d in %s, which this takes away: %+v", id, here.generation, here.place, s)
			}
		}
	}
}

// drain delivers events until none are left.
func (h *history) drain() {
	h.T.Helper()
	for range 100 {
		for len(h.events) > 0 {
			h.deliver()
		}
		h.Clock.Advance(time.Minute) // makes postponed jobs due
		h.WorkOnSites()
		for _, j := range h.PublishAll() {
			h.events = append(h.events, h.eventsOf(j, j.Generation)...)
		}
		if len(h.events) == 0 {
			h.checkPages()
			return
		}
	}
	h.T.Fatal("jobs follow from jobs without end")
}

// checkPages requires that every site's page counts are correct and that a site is final only if no page is waiting. No
// two pages of a site may have the same content, and a duplicate must refer to an existing page.
func (h *history) checkPages() {
	h.T.Helper()
	for _, id := range h.alive {
		site, err := h.Datasource(h.Ctx, h.WS, id)
		if domain.CodeOf(err) == domain.CodeNotFound || site.Type != domain.TypeWebSite {
			continue
		}
		world.OK(h.T, err)
		list, _, err := h.Datasources(h.Ctx, h.WS, catalog.DatasourceFilter{GroupID: id}, catalog.Page{Limit: catalog.MaxPageSize})
		world.OK(h.T, err)
		world.Equal(h.T, int64(len(list)), h.ProgressOf(id).Discovered)
		for _, p := range list {
			world.Equal(h.T, true, p.Status.Terminal())
			if p.DuplicateOf == "" || site.Crawl.Stopped() { // stopping the crawl also stopped the processing of skipped pages
				continue
			}
			keeper := world.Must(h.Datasource(h.Ctx, h.WS, p.DuplicateOf))(h.T)
			world.Equal(h.T, []any{domain.StatusSkipped, true}, []any{p.Status, keeper.Alive()})
		}
	}
}

// checkPlaces requires that every waiting datasource has exactly one job, in the outbox or in flight. A site waiting
// for its pages must have no job.
func (h *history) checkPlaces() {
	h.T.Helper()
	waiting := map[string]bool{}
	page := catalog.Page{Limit: catalog.MaxPageSize}
	for {
		ds, next, err := h.Datasources(h.Ctx, h.WS, catalog.DatasourceFilter{}, page)
		world.OK(h.T, err)
		for _, d := range ds {
			switch {
			case d.Status.Terminal():
			case d.Type == domain.TypeWebSite && d.DiscoveryDone:
				tasks := world.Must(h.SiteWork(h.Ctx, catalog.SiteTask{}, 100))(h.T)
				working := slices.ContainsFunc(tasks, func(task catalog.SiteTask) bool { return task.SiteID() == d.ID })
				world.Equal(h.T, true, working || d.Progress.Done < d.Progress.Total)
			default:
				waiting[d.ID] = true
			}
		}
		if page.Cursor = next; next == "" {
			break
		}
	}
	h.Clock.Advance(time.Minute) // postponed jobs are also in the outbox
	queued := h.OutboxIDs()
	for _, id := range queued {
		world.Equal(h.T, true, waiting[id])
	}
	world.Equal(h.T, len(waiting), len(queued)+int(h.CountInFlight()))
}
