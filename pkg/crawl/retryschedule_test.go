package crawl

import (
	"testing"
	"time"
)

func TestRetriesAreSpread(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	var c retrySchedule
	for i := range 3 {
		if got, want := c.next("slow.example", 5*time.Second, 2*time.Second, now), 5*time.Second+time.Duration(i)*2*time.Second; got != want {
			t.Errorf("number %d comes back after %v, want %v", i, got, want)
		}
	}
	if got := c.next("other.example", time.Second, 2*time.Second, now); got != time.Second {
		t.Errorf("at another host one comes back after %v", got)
	}
	later := now.Add(time.Minute)
	if got := c.next("slow.example", 5*time.Second, 2*time.Second, later); got != 5*time.Second {
		t.Errorf("when all have come, the next one comes back after %v", got)
	}
	if got := c.next("slow.example", time.Hour, 2*time.Second, later); got != time.Hour {
		t.Errorf("a page whose host asks for an hour is retried after %v", got)
	}
}

func TestTheDelayOfRetriesIsBounded(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	var c retrySchedule
	late := map[time.Duration]int{}
	for range 1000 {
		got := c.next("slow.example", 5*time.Second, 5*time.Second, now)
		if got < 5*time.Second || got > maxRetryDelay {
			t.Fatalf("comes back after %v", got)
		}
		late[got.Truncate(time.Minute)]++
	}
	if len(late) < 9 {
		t.Errorf("the retries are spread over %d minutes: %v", len(late), late)
	}
}
