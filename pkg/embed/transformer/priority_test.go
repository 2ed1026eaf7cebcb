package transformer

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/embed"
)

func TestPassagesYieldToQueriesBetweenLayers(t *testing.T) {
	t.Parallel()
	e := mustOpen(t, Config{Threads: 1, Priority: NewPriority()}, tinyModels["mean"], nil)
	waiting := make(chan struct{}, 100)
	e.priority.maxYield, e.priority.waiting = time.Hour, func() { waiting <- struct{}{} }

	e.priority.begin()
	done := make(chan error, 1)
	go func() {
		_, err := e.Embed(context.Background(), []string{"the cat"}, embed.Passage)
		done <- err
	}()
	<-waiting
	if _, err := e.Embed(t.Context(), []string{"a mat"}, embed.Query); err != nil { // queries do not wait for one another
		t.Fatal(err)
	}
	select {
	case err := <-done:
		t.Fatalf("the passage did not wait; error %v", err)
	default:
	}
	e.priority.end()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if e.priority.queries != 0 {
		t.Errorf("%d queries are left under way", e.priority.queries)
	}
}

func TestPassagesProgressDuringManyQueries(t *testing.T) {
	t.Parallel()
	e := mustOpen(t, Config{Priority: NewPriority()}, tinyModels["mean"], nil)
	e.priority.maxYield = time.Millisecond
	e.priority.begin()
	defer e.priority.end()
	if _, err := e.Embed(t.Context(), []string{"the cat"}, embed.Passage); err != nil {
		t.Error(err)
	}
}

func TestAYieldingPassageEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	p := Priority{maxYield: time.Hour, waiting: cancel}
	p.begin()
	p.yield(ctx)
	p.end()
}

func TestQueriesMayOverlap(t *testing.T) {
	t.Parallel()
	p := Priority{maxYield: time.Hour}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 100 {
				p.begin()
				p.end()
				p.yield(context.Background())
			}
		})
	}
	group.Wait()
	p.yield(context.Background()) // returns at once, because no query is running
}
