package control

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHubNotifiesASlowWatcherOncePerChange(t *testing.T) {
	t.Parallel()
	hub := NewHub(nil)
	ctx, cancel := context.WithCancel(t.Context())
	changes, err := hub.Watch(ctx, "store")
	if err != nil {
		t.Fatal(err)
	}
	hub.Changed("other", "x")
	hub.Changed("store", "a")
	if got := <-changes; got != "a" {
		t.Fatalf("got %q", got)
	}
	// While the watcher isn't reading, the hub's goroutine may hold one change. All others are combined.
	for range 1000 {
		hub.Changed("store", "b")
		hub.Changed("store", "c")
	}
	var got []string
	for len(got) == 0 || got[len(got)-1] != "c" {
		got = append(got, <-changes)
	}
	if len(got) > 4 {
		t.Errorf("2,000 changes of two datasources were told %d times: %v", len(got), got)
	}
	cancel()
	for range changes { // ends when the hub closes the channel
	}
	if diff := cmp.Diff(0, len(hub.watchers)); diff != "" {
		t.Error(diff)
	}
}
