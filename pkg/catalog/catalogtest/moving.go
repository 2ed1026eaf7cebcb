package catalogtest

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/catalog/catalogtest/world"
	"github.com/sluice/sluice/pkg/domain"
)

// concurrentMoves moves a datastore back and forth while all of the catalog's processes keep working.
type concurrentMoves struct {
	*history
	processes []*catalog.Catalog

	mu        sync.Mutex // guards history and the fields below
	published map[string]domain.Job
	stream    []domain.Job
}

func newConcurrentMoves(w *world.World, others ...*catalog.Catalog) *concurrentMoves {
	w.T.Helper()
	u := &concurrentMoves{
		history:   &history{World: w, rand: rand.New(rand.NewPCG(1, 7)), written: map[string][]version{}},
		processes: append([]*catalog.Catalog{w.Catalog}, others...),
		published: map[string]domain.Job{},
	}
	for range 25 {
		u.CreateFile()
	}
	for _, c := range u.processes {
		u.rest(c)
	}
	return u
}

// run moves the datastore back and forth and checks that all active content ends up in the last place.
func (u *concurrentMoves) run() {
	u.T.Helper()
	var working sync.WaitGroup
	stop := make(chan struct{})
	for _, c := range u.processes {
		for range 2 {
			working.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						u.rest(c)
					}
				}
			})
		}
	}
	for i := range 30 {
		to := []domain.Place{world.Serving, placeB, placeC}[i*7%3]
		if _, err := u.processes[i%len(u.processes)].UpdateDatastore(u.Ctx, u.WS, u.StoreID, domain.DatastorePatch{Type: &to.Engine, EmbeddingModel: &to.Model}); err != nil {
			u.T.Error(err)
		}
		if i%3 == 0 {
			u.CreateFile()
		}
	}
	close(stop)
	working.Wait()
	for rounds := 0; readDatastore(u.World).Move != nil; rounds++ {
		if rounds == 1000 {
			u.T.Fatalf("the move does not end: %+v", progress(u.World))
		}
		u.rest(u.Catalog)
	}
	for len(u.OutboxIDs()) > 0 || len(u.stream) > 0 {
		u.rest(u.Catalog)
	}
	world.Equal(u.T, true, len(u.content()) >= 35)
	world.Equal(u.T, int64(0), u.CountInFlight())
	u.checkActive()
}

// rest simulates one iteration of each of a process's background loops: mover, dispatcher, worker and applier.
func (u *concurrentMoves) rest(c *catalog.Catalog) {
	d, err := c.DatastoreByID(u.Ctx, u.StoreID)
	if err != nil {
		u.T.Error(err)
		return
	}
	if d.Move != nil {
		if _, err := c.IssueMoves(u.Ctx, u.StoreID, d.Move.ID, 5); err != nil {
			u.T.Error(err)
		}
		if _, err := c.FinishMove(u.Ctx, u.StoreID, d.Move.ID); err != nil {
			u.T.Error(err)
		}
	}
	jobs, err := c.Outbox(u.Ctx, 5)
	if err != nil {
		u.T.Error(err)
	}
	for i := range jobs {
		jobs[i] = u.publish(jobs[i])
	}
	if err := c.PublishedAll(u.Ctx, jobs); err != nil {
		u.T.Error(err)
	}
	if evs := u.take(); len(evs) > 0 {
		if _, err := c.ApplyAll(u.Ctx, evs); err != nil {
			u.T.Error(err)
		}
	}
}

func (u *concurrentMoves) publish(j domain.Job) domain.Job {
	u.mu.Lock()
	defer u.mu.Unlock()
	if known, duplicate := u.published[j.ID]; duplicate {
		return known
	}
	j.Generation = 1 + uint64(len(u.published))
	u.published[j.ID] = j
	u.stream = append(u.stream, j)
	return j
}

// take simulates a worker: it runs a few jobs and returns their events. Some jobs stay in the stream and are delivered
// again.
func (u *concurrentMoves) take() (out []domain.Event) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for n := min(len(u.stream), 3); n > 0; n-- {
		i := u.rand.IntN(len(u.stream))
		j := u.stream[i]
		for _, p := range j.Places {
			u.written[j.DatasourceID] = append(u.written[j.DatasourceID], version{p, j.Generation})
		}
		out = append(out, j.Event(domain.EventSynched, u.Clock.Now()))
		if u.rand.IntN(5) > 0 {
			u.stream = append(u.stream[:i], u.stream[i+1:]...)
		}
	}
	return out
}

func testConcurrentMoves(t *testing.T, open world.Open) {
	t.Run("a datastore that is sent to and fro while all else goes on comes to rest whole", func(t *testing.T) {
		t.Parallel()
		newConcurrentMoves(world.New(t, open)).run()
	})
}

func testSharedConcurrentMoves(t *testing.T, open OpenShared) {
	w, others := newShared(t, open, 2)
	newConcurrentMoves(w, others...).run()
}

func testSharedFinish(t *testing.T, open OpenShared) {
	w, others := newShared(t, open, 2)
	all := append(others, w.Catalog)
	w.Synch(w.CreateFile().ID)
	for _, to := range []domain.Place{placeB, placeC, world.Serving} {
		move := setPlace(w, to).Move
		for _, j := range issue(w, move) {
			w.End(j, domain.EventSynched)
		}
		var mu sync.Mutex
		switched, name := 0, "on the way to "+to.Model
		for _, err := range atOnce(all, func(i int, c *catalog.Catalog) error {
			if i == 0 {
				if _, err := c.UpdateDatastore(w.Ctx, w.WS, w.StoreID, domain.DatastorePatch{Name: &name}); err != nil {
					return err
				}
			}
			done, err := c.FinishMove(w.Ctx, w.StoreID, move.ID)
			mu.Lock()
			defer mu.Unlock()
			if done {
				switched++
			}
			return err
		}) {
			world.OK(t, err)
		}
		world.Equal(t, 1, switched)
		d := readDatastore(w)
		world.Equal(t, []any{to, name}, []any{d.Serving(), d.Name})
	}
}

func testSharedClaims(t *testing.T, open OpenShared) {
	w, others := newShared(t, open, 3)
	all := append(others, w.Catalog)
	for range 5 {
		world.Must(w.RequestRepair(w.Ctx, false))(t)
	}
	var mu sync.Mutex
	claimed, held := 0, 0
	for _, err := range atOnce(all, func(i int, c *catalog.Catalog) error {
		r, err := c.ClaimRepair(w.Ctx, fmt.Sprint("process-", i))
		if err != nil {
			return err
		}
		has, err := c.Lease(w.Ctx, "audit", fmt.Sprint("process-", i), 1e9)
		mu.Lock()
		defer mu.Unlock()
		if r != nil {
			claimed++
		}
		if has {
			held++
		}
		return err
	}) {
		world.OK(t, err)
	}
	world.Equal(t, []int{1, 1}, []int{claimed, held})
}
