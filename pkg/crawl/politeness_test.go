package crawl

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice/sluice/pkg/crawl/robots"
	"github.com/sluice/sluice/pkg/domain"
)

// polite returns the politeness of a crawler with the given limits. In a synctest bubble, it uses the bubble's clock.
func polite(concurrency int, delay, maxWait time.Duration) *politeness {
	return newPoliteness(Options{
		PerHostConcurrency: concurrency, PerHostDelay: delay, MaxWait: maxWait,
	}.withDefaults())
}

func TestPoliteness_keeps_the_time_between_two_requests_to_a_host(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := polite(2, time.Second, time.Minute)
		start := time.Now()
		for i := range 4 {
			release, err := p.acquire(t.Context(), "a", "", 0)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := time.Since(start), time.Duration(i)*time.Second; got != want {
				t.Errorf("request %d started after %s, want %s", i, got, want)
			}
			release()
		}
		before := time.Now()
		release, err := p.acquire(t.Context(), "b", "", 0)
		if err != nil || time.Since(before) != 0 {
			t.Errorf("another host had to wait %s, %v", time.Since(before), err)
		}
		release()
	})
}

func TestPoliteness_takes_the_delay_of_robots_when_it_is_longer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := polite(1, time.Second, time.Hour)
		for _, tc := range []struct{ asked, want time.Duration }{
			{5 * time.Second, 5 * time.Second}, {time.Millisecond, time.Second}, {time.Hour, maxCrawlDelay},
		} {
			host := tc.asked.String()
			start := time.Now()
			for range 2 {
				release, err := p.acquire(t.Context(), host, "", tc.asked)
				if err != nil {
					t.Fatal(err)
				}
				release()
			}
			if got := time.Since(start); got != tc.want {
				t.Errorf("asked for %s, waited %s, want %s", tc.asked, got, tc.want)
			}
		}
	})
}

func TestPoliteness_defers_fetches_that_would_wait_too_long(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := polite(1, -1, 10*time.Second)
		p.retryLater(t.Context(), "paused", "paused answers 429", time.Minute)
		_, err := p.acquire(t.Context(), "paused", "http://paused/", 0)
		if e := wantError(t, err); !e.Deferred || e.Err != nil || e.RetryAfter != time.Minute || !strings.Contains(e.Message, "paused answers 429") {
			t.Errorf("got %+v", e)
		}
		release, err := p.acquire(t.Context(), "busy", "", 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.acquire(t.Context(), "busy", "http://busy/", 0)
		if e := wantError(t, err); !e.Deferred || e.RetryAfter <= 0 {
			t.Errorf("got %+v", e)
		}
		release()
		time.Sleep(time.Minute)
		release, err = p.acquire(t.Context(), "paused", "", 0)
		if err != nil {
			t.Fatalf("after the pause: %v", err)
		}
		release()
	})
}

func TestPoliteness_does_not_join_a_queue_that_does_not_move(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := polite(1, -1, 10*time.Second)
		release, err := p.acquire(t.Context(), "hung", "", 0)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		start := time.Now()
		for i := range 10 {
			_, err = p.acquire(t.Context(), "hung", "http://hung/", 0)
			if e := wantError(t, err); !e.Deferred {
				t.Fatalf("number %d: %v", i, e)
			}
		}
		if waited := time.Since(start); waited > 0 {
			t.Errorf("ten fetches were held up for %s by a request that does not end", waited)
		}
		release()
		if release, err = p.acquire(t.Context(), "hung", "", 0); err != nil {
			t.Fatalf("when it has ended: %v", err)
		}
		release()
	})
}

func TestPoliteness_ends_with_the_context(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, held := range []bool{true, false} { // waiting for a free slot, or for the delay to pass
			delay := 10 * time.Second
			if held {
				delay = -1
			}
			p := polite(1, delay, time.Hour)
			release, err := p.acquire(t.Context(), "a", "", 0)
			if err != nil {
				t.Fatal(err)
			}
			if !held {
				release()
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if _, err := p.acquire(ctx, "a", "", 0); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
			cancel()
			if held {
				release()
			}
			slots := p.slots.(*LocalSlots)
			if len(p.gates.hosts) != 0 || len(slots.hosts["a"].leases) != 0 {
				t.Errorf("left behind: %d gates, %d slots", len(p.gates.hosts), len(slots.hosts["a"].leases))
			}
		}
	})
}

func TestPoliteness_is_shared_by_two_crawlers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := Options{Slots: NewLocalSlots(time.Now), PerHostConcurrency: 1, PerHostDelay: time.Second, MaxWait: time.Minute}.withDefaults()
		one, other := newPoliteness(o), newPoliteness(o)
		start := time.Now()
		release, err := one.acquire(t.Context(), "a", "", 0)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			time.Sleep(5 * time.Second)
			release()
		}()
		release, err = other.acquire(t.Context(), "a", "", 0)
		if got := time.Since(start); err != nil || got < 5*time.Second || got > 6*time.Second {
			t.Fatalf("the slot came after %s, %v", got, err)
		}
		release()
		one.retryLater(t.Context(), "a", "a answers 503", 2*time.Minute)
		_, err = other.acquire(t.Context(), "a", "http://a/", 0)
		if e := wantError(t, err); !e.Deferred || e.RetryAfter != 2*time.Minute {
			t.Errorf("got %+v", e)
		}
	})
}

func TestPoliteness_reports_failing_slots(t *testing.T) {
	t.Parallel()
	o := Options{Slots: failingSlots{}}.withDefaults()
	_, err := newPoliteness(o).acquire(t.Context(), "a.example", "http://a.example/", 0)
	if e := wantError(t, err); e.Permanent || e.Deferred || !errors.Is(e, errFailingSlots) {
		t.Errorf("got %+v", e)
	}
}

type failingSlots struct{}

var errFailingSlots = errors.New("no connection")

func (failingSlots) Reserve(context.Context, string, domain.Pace, time.Duration) (domain.HostSlot, error) {
	return domain.HostSlot{}, errFailingSlots
}
func (failingSlots) Hold(context.Context, string, time.Time) error { return errFailingSlots }

func TestLocalSlots_forget_hosts(t *testing.T) {
	t.Parallel()
	l := NewLocalSlots(time.Now)
	for i := range 3 * maxHosts {
		slot, err := l.Reserve(t.Context(), fmt.Sprint(i), domain.Pace{Concurrency: 1, Lease: time.Hour}, 0)
		if err != nil || !slot.Granted {
			t.Fatal(slot, err)
		}
		slot.Release()
	}
	if len(l.hosts) > maxHosts {
		t.Errorf("%d hosts are kept", len(l.hosts))
	}
}

func TestFetch_waits_while_robots_are_unavailable(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusBadGateway)
	}))
	c := local(t)
	_, _, err := fetch(t, c, PageRequest{URL: s.URL + "/a"})
	if e := wantError(t, err); e.Deferred || e.Permanent {
		t.Errorf("the fetch that asked: %+v", e)
	}
	for range 5 {
		_, _, err = fetch(t, c, PageRequest{URL: s.URL + "/b"})
		if e := wantError(t, err); !e.Deferred || e.Err == nil || e.RetryAfter <= 0 || !strings.Contains(e.Message, "502 Bad Gateway") {
			t.Errorf("a fetch that found it so: %+v", e)
		}
	}
	if asked.Load() != 1 {
		t.Errorf("robots.txt was asked for %d times", asked.Load())
	}
}

func TestFetch_does_not_wait_long_for_the_robots_that_another_asks_for(t *testing.T) {
	t.Parallel()
	asked, answer := make(chan struct{}, 1), make(chan struct{})
	s := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == robots.Path {
			asked <- struct{}{}
			<-answer
		}
	}))
	c := local(t, func(o *Options) { o.MaxWait = 20 * time.Millisecond })
	first := make(chan error, 1)
	go func() {
		_, _, err := fetch(t, c, PageRequest{URL: s.URL + "/a"})
		first <- err
	}()
	<-asked
	_, _, err := fetch(t, c, PageRequest{URL: s.URL + "/b"})
	if e := wantError(t, err); !e.Deferred || e.Permanent || e.RetryAfter <= 0 || e.Err != nil {
		t.Errorf("got %+v", e)
	}
	close(answer)
	if err := <-first; err != nil {
		t.Errorf("the one that asked: %v", err)
	}
}

func TestFetch_makes_no_more_requests_at_once_than_allowed(t *testing.T) {
	t.Parallel()
	var now, limit atomic.Int32
	s := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			return
		}
		n := now.Add(1)
		defer now.Add(-1)
		for {
			m := limit.Load()
			if n <= m || limit.CompareAndSwap(m, n) {
				break
			}
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-r.Context().Done():
		}
	}))
	c := local(t, func(o *Options) { o.PerHostConcurrency = 3 })
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() {
			p, err := c.Fetch(withInProgress(context.Background()), PageRequest{URL: fmt.Sprintf("%s/%d", s.URL, i)}) // waits for its slot as long as necessary
			if err != nil {
				t.Error(err)
				return
			}
			_ = p.Close()
		})
	}
	wg.Wait()
	if m := limit.Load(); m != 3 {
		t.Errorf("%d requests at once", m)
	}
}

func TestFetch_honours_the_crawl_delay_of_robots(t *testing.T) {
	t.Parallel()
	for asked, says := range map[string]string{
		"60": "(robots.txt asks for 1m0s between requests)", "600": "(robots.txt asks for 10m0s between requests; the crawler waits at most 1m0s)",
	} {
		s := routes(t, map[string]string{"/robots.txt": "User-agent: *\nCrawl-delay: " + asked, "/a": "x", "/b": "x"})
		c := local(t)
		if _, _, err := fetch(t, c, PageRequest{URL: s.URL + "/a"}); err != nil {
			t.Fatal(err)
		}
		_, _, err := fetch(t, c, PageRequest{URL: s.URL + "/b"})
		if e := wantError(t, err); !e.Deferred || e.RetryAfter < 15*time.Second || e.RetryAfter > time.Minute || !strings.Contains(e.Message, says) {
			t.Errorf("got %+v", e)
		}
	}
}

func TestPoliteness_does_not_defer_a_fetch_in_progress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := polite(1, 20*time.Second, time.Second)
		release, err := p.acquire(t.Context(), "slow", "", 0)
		if err != nil {
			t.Fatal(err)
		}
		release()
		if _, err = p.acquire(t.Context(), "slow", "http://slow/", 0); !wantError(t, err).Deferred {
			t.Errorf("a fetch that begins: %v", err)
		}
		start := time.Now()
		if release, err = p.acquire(withInProgress(t.Context()), "slow", "", 0); err != nil {
			t.Fatalf("where a redirect leads: %v", err)
		}
		release()
		if waited := time.Since(start); waited != 20*time.Second {
			t.Errorf("its slot came after %s", waited)
		}
	})
}
