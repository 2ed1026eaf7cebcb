package catalogtest

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// upheaval is a datastore that is sent to and fro while everything else goes on, in every process that shares the
// catalog.
type upheaval struct {
	*history
	processes []*catalog.Catalog

	mu        sync.Mutex // guards history, and what follows
	published map[string]domain.Job
	stream    []domain.Job
}

func newUpheaval(w *world, others ...*catalog.Catalog) *upheaval {
	w.t.Helper()
	u := &upheaval{
		history:   &history{world: w, rand: rand.New(rand.NewPCG(1, 7)), written: map[string][]version{}},
		processes: append([]*catalog.Catalog{w.Catalog}, others...),
		published: map[string]domain.Job{},
	}
	for range 25 {
		u.createFile()
	}
	for _, c := range u.processes {
		u.rest(c)
	}
	return u
}

// run sends the datastore to and fro, and demands that it comes to rest with everything that readers see in its place.
func (u *upheaval) run() {
	u.t.Helper()
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
		to := []domain.Place{serving, elsewhere, thither}[i*7%3]
		if _, err := u.processes[i%len(u.processes)].UpdateDatastore(u.ctx, u.ws, u.store, domain.DatastorePatch{Type: &to.Engine, EmbeddingModel: &to.Model}); err != nil {
			u.t.Error(err)
		}
		if i%3 == 0 {
			u.createFile()
		}
	}
	close(stop)
	working.Wait()
	for rounds := 0; u.where().Move != nil; rounds++ {
		if rounds == 1000 {
			u.t.Fatalf("the move does not end: %+v", u.progress())
		}
		u.rest(u.Catalog)
	}
	for len(u.outbox()) > 0 || len(u.stream) > 0 {
		u.rest(u.Catalog)
	}
	equal(u.t, true, len(u.content()) >= 35)
	equal(u.t, int64(0), u.inFlight())
	u.checkActive()
}

// rest plays one round of everything but the sending, in one process: mover, dispatcher, worker, applier.
func (u *upheaval) rest(c *catalog.Catalog) {
	d, err := c.DatastoreByID(u.ctx, u.store)
	if err != nil {
		u.t.Error(err)
		return
	}
	if d.Move != nil {
		if _, err := c.IssueMoves(u.ctx, u.store, d.Move.ID, 5); err != nil {
			u.t.Error(err)
		}
		if _, err := c.FinishMove(u.ctx, u.store, d.Move.ID); err != nil {
			u.t.Error(err)
		}
	}
	jobs, err := c.Outbox(u.ctx, 5)
	if err != nil {
		u.t.Error(err)
	}
	for i := range jobs {
		jobs[i] = u.publish(jobs[i])
	}
	if err := c.PublishedAll(u.ctx, jobs); err != nil {
		u.t.Error(err)
	}
	if evs := u.take(); len(evs) > 0 {
		if _, err := c.ApplyAll(u.ctx, evs); err != nil {
			u.t.Error(err)
		}
	}
}

func (u *upheaval) publish(j domain.Job) domain.Job {
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

// take does some of the jobs in the stream and returns what is to be said of them; some come twice.
func (u *upheaval) take() (out []domain.Event) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for n := min(len(u.stream), 3); n > 0; n-- {
		i := u.rand.IntN(len(u.stream))
		j := u.stream[i]
		for _, p := range j.Places {
			u.written[j.DatasourceID] = append(u.written[j.DatasourceID], version{p, j.Generation})
		}
		out = append(out, j.Event(domain.EventSynched, u.clock.now()))
		if u.rand.IntN(5) > 0 {
			u.stream = append(u.stream[:i], u.stream[i+1:]...)
		}
	}
	return out
}

func testUpheaval(t *testing.T, open Open) {
	t.Run("a datastore that is sent to and fro while all else goes on comes to rest whole", func(t *testing.T) {
		t.Parallel()
		newUpheaval(newWorld(t, open)).run()
	})
}

func testSharedUpheaval(t *testing.T, open OpenShared) {
	w, others := newShared(t, open, 2)
	newUpheaval(w, others...).run()
}

func testSharedFinish(t *testing.T, open OpenShared) {
	w, others := newShared(t, open, 2)
	all := append(others, w.Catalog)
	w.synch(w.createFile().ID)
	for _, to := range []domain.Place{elsewhere, thither, serving} {
		move := w.send(to).Move
		for _, j := range w.issue(move) {
			w.end(j, domain.EventSynched)
		}
		var mu sync.Mutex
		switched, name := 0, "on the way to "+to.Model
		for _, err := range atOnce(all, func(i int, c *catalog.Catalog) error {
			if i == 0 {
				if _, err := c.UpdateDatastore(w.ctx, w.ws, w.store, domain.DatastorePatch{Name: &name}); err != nil {
					return err
				}
			}
			done, err := c.FinishMove(w.ctx, w.store, move.ID)
			mu.Lock()
			defer mu.Unlock()
			if done {
				switched++
			}
			return err
		}) {
			ok(t, err)
		}
		equal(t, 1, switched)
		d := w.where()
		equal(t, []any{to, name}, []any{d.Serving(), d.Name})
	}
}

func testSharedClaims(t *testing.T, open OpenShared) {
	w, others := newShared(t, open, 3)
	all := append(others, w.Catalog)
	for range 5 {
		_, err := w.RequestRepair(w.ctx, false)
		ok(t, err)
	}
	var mu sync.Mutex
	claimed, held := 0, 0
	for _, err := range atOnce(all, func(i int, c *catalog.Catalog) error {
		r, err := c.ClaimRepair(w.ctx, fmt.Sprint("process-", i))
		if err != nil {
			return err
		}
		has, err := c.Lease(w.ctx, "audit", fmt.Sprint("process-", i), 1e9)
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
		ok(t, err)
	}
	equal(t, []int{1, 1}, []int{claimed, held})
}
