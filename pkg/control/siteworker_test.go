package control

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/catalog"
)

// siteWork simulates queued site work. It holds the number of batches left per task.
type siteWork struct {
	left  []int
	fault error // returned by every batch
	wake  chan struct{}
	done  []string // ids changed by batches
	asked int
}

func (s *siteWork) SiteWork(_ context.Context, _ catalog.SiteTask, _ int) ([]catalog.SiteTask, error) {
	s.asked = 0
	var tasks []catalog.SiteTask
	for _, n := range s.left {
		if n > 0 {
			tasks = append(tasks, catalog.SiteTask{})
		}
	}
	return tasks, nil
}

func (s *siteWork) WorkOnSite(context.Context, catalog.SiteTask) (catalog.SiteBatch, error) {
	i := s.asked
	s.asked++
	if s.fault != nil {
		return catalog.SiteBatch{}, s.fault
	}
	for s.left[i] == 0 {
		i++
	}
	s.left[i]--
	id := string(rune('a' + i))
	s.done = append(s.done, id)
	return catalog.SiteBatch{DatastoreID: "store", Changed: []string{id}, More: s.left[i] > 0}, nil
}

func (s *siteWork) SiteWake() <-chan struct{} { return s.wake }

// changedIDs is a Watchers that records the ids of changed datasources.
type changedIDs []string

func (w *changedIDs) Changed(_, datasourceID string) { *w = append(*w, datasourceID) }

func TestSiteWorkerProcessesSitesRoundRobin(t *testing.T) {
	t.Parallel()
	work := &siteWork{left: []int{3, 1}}
	var heard changedIDs
	k := SiteWorker{Sites: work, Hub: &heard, Log: quiet}
	more, err := k.round(t.Context())
	if err != nil || !more {
		t.Fatalf("more %v, err %v", more, err)
	}
	if diff := cmp.Diff([]string{"a", "b"}, work.done); diff != "" {
		t.Error(diff)
	}
	if err := k.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{"a", "b", "a", "a"}
	if diff := cmp.Diff(want, work.done); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(changedIDs(want), heard); diff != "" {
		t.Error(diff)
	}
}

func TestSiteWorkerContinuesAfterAFailedSite(t *testing.T) {
	t.Parallel()
	work := &siteWork{left: []int{1, 1}, fault: errDown}
	k := SiteWorker{Sites: work, Log: quiet}
	more, err := k.round(t.Context())
	if more || !errors.Is(err, errDown) || work.asked != 2 {
		t.Errorf("more %v, err %v, asked %d times; want a fault after trying both", more, err, work.asked)
	}
}

func TestSiteWorkerEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	k := SiteWorker{Sites: &siteWork{left: []int{1}, wake: make(chan struct{})}, Log: quiet}
	k.Run(ctx)
}
