package admission_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/sluice/sluice/pkg/admission"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAGateWithoutALimitLetsEverybodyIn(t *testing.T) {
	t.Parallel()
	g := admission.New(admission.Options{})
	for range 1000 {
		if !g.Enter(t.Context()) {
			t.Fatal("one was refused")
		}
	}
}

// TestNoMoreAreWithinThanTheLimit has many come at once, and counts.
func TestNoMoreAreWithinThanTheLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const limit, waiting, clients = 3, 4, 100
		g := admission.New(admission.Options{Limit: limit, Waiting: waiting, Patience: time.Second})
		var mu sync.Mutex
		var within, most, served, refused int
		var all sync.WaitGroup
		for range clients {
			all.Go(func() {
				in := g.Enter(t.Context())
				mu.Lock()
				if !in {
					refused++
					mu.Unlock()
					return
				}
				within++
				served++
				most = max(most, within)
				mu.Unlock()
				time.Sleep(10 * time.Millisecond)
				mu.Lock()
				within--
				mu.Unlock()
				g.Leave()
			})
		}
		all.Wait()
		if most != limit || served != limit+waiting || refused != clients-limit-waiting {
			t.Errorf("%d were within at once, %d served, %d refused", most, served, refused)
		}
		for range limit { // every place has been given back
			if !g.Enter(t.Context()) {
				t.Error("a place was lost")
			}
		}
	})
}

func TestWhoWaitsIsRefusedWhenItsTimeIsUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := admission.New(admission.Options{Limit: 1, Waiting: 10, Patience: 25 * time.Millisecond})
		g.Enter(t.Context())
		began := time.Now()
		if g.Enter(t.Context()) || time.Since(began) != 25*time.Millisecond {
			t.Errorf("decided after %v", time.Since(began))
		}
		if g.Refused() != time.Now() {
			t.Error("the refusal is not told")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		began = time.Now()
		if g.Enter(ctx) || time.Since(began) != time.Millisecond {
			t.Errorf("one that has left was decided after %v", time.Since(began))
		}
	})
}

// TestTheLastGoesFirst has three wait, of which the first is pushed out by the third.
func TestTheLastGoesFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := admission.New(admission.Options{Limit: 1, Waiting: 2, Patience: time.Minute})
		g.Enter(t.Context())
		var order []string
		var all sync.WaitGroup
		for _, name := range []string{"first", "second", "third"} {
			all.Go(func() {
				if g.Enter(t.Context()) {
					order = append(order, name)
					g.Leave()
					return
				}
				order = append(order, name+" refused")
			})
			synctest.Wait()
		}
		g.Leave()
		all.Wait()
		if want := []string{"first refused", "third", "second"}; len(order) != 3 || order[0] != want[0] || order[1] != want[1] || order[2] != want[2] {
			t.Errorf("the order was %v", order)
		}
	})
}

// TestCourtesyEnds has work stand back: not at all while nobody is refused, until it is quiet, and never beyond its
// patience.
func TestCourtesyEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := admission.New(admission.Options{Limit: 1})
		stood := time.Duration(-1)
		c := &admission.Courtesy{Gates: []*admission.Gate{g}, Quiet: 500 * time.Millisecond, Patience: 2 * time.Second, Observe: func(d time.Duration) { stood = d }}
		wait := func() time.Duration {
			began := time.Now()
			c.Wait(t.Context())
			return time.Since(began)
		}
		if took := wait(); took != 0 || stood != -1 {
			t.Errorf("stood back for %v though nobody was refused", took)
		}
		g.Enter(t.Context())
		g.Enter(t.Context())
		time.Sleep(100 * time.Millisecond)
		if took := wait(); took != 400*time.Millisecond || stood != took {
			t.Errorf("stood back for %v after one refusal", took)
		}
		ctx, stop := context.WithCancel(t.Context())
		refusals := make(chan struct{})
		go func() { // refuses for ever
			defer close(refusals)
			for ctx.Err() == nil {
				g.Enter(ctx)
				time.Sleep(50 * time.Millisecond)
			}
		}()
		synctest.Wait()
		if took := wait(); took != 2*time.Second {
			t.Errorf("stood back for %v while others were refused all the time", took)
		}
		stop()
		<-refusals
		var nobody *admission.Courtesy
		nobody.Wait(t.Context())
	})
}
