package crawl

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestLimiter_keeps_the_time_between_two_requests_to_a_host(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(2, time.Second, time.Minute, time.Now)
		start := time.Now()
		for i := range 4 {
			release, err := l.acquire(t.Context(), "a", "")
			if err != nil {
				t.Fatal(err)
			}
			if got, want := time.Since(start), time.Duration(i)*time.Second; got != want {
				t.Errorf("request %d started after %s, want %s", i, got, want)
			}
			release()
		}
		before := time.Now()
		release, err := l.acquire(t.Context(), "b", "")
		if err != nil || time.Since(before) != 0 {
			t.Errorf("another host had to wait %s, %v", time.Since(before), err)
		}
		release()
	})
}

func TestLimiter_takes_the_delay_of_robots_when_it_is_longer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(1, time.Second, time.Hour, time.Now)
		for _, tc := range []struct{ asked, want time.Duration }{
			{5 * time.Second, 5 * time.Second}, {time.Millisecond, time.Second}, {time.Hour, maxCrawlDelay},
		} {
			host := tc.asked.String()
			l.setCrawlDelay(host, tc.asked)
			start := time.Now()
			for range 2 {
				release, err := l.acquire(t.Context(), host, "")
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

func TestLimiter_hands_back_what_would_wait_too_long(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(1, 0, 10*time.Second, time.Now)
		l.hold("paused", time.Minute)
		_, err := l.acquire(t.Context(), "paused", "http://paused/")
		if e := wantError(t, err); !e.Deferred || e.RetryAfter != time.Minute {
			t.Errorf("got %+v", e)
		}
		release, err := l.acquire(t.Context(), "busy", "")
		if err != nil {
			t.Fatal(err)
		}
		_, err = l.acquire(t.Context(), "busy", "http://busy/")
		if e := wantError(t, err); !e.Deferred || e.RetryAfter <= 0 {
			t.Errorf("got %+v", e)
		}
		release()
		time.Sleep(time.Minute)
		release, err = l.acquire(t.Context(), "paused", "")
		if err != nil {
			t.Fatalf("after the pause: %v", err)
		}
		release()
	})
}

func TestLimiter_ends_with_the_context(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(1, 10*time.Second, time.Hour, time.Now)
		release, err := l.acquire(t.Context(), "a", "")
		if err != nil {
			t.Fatal(err)
		}
		for _, held := range []bool{true, false} { // waiting for the slot, waiting for the time
			if !held {
				release()
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if _, err := l.acquire(ctx, "a", ""); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
			cancel()
		}
		if h := l.hosts["a"]; h.users != 0 || len(h.slots) != 0 {
			t.Errorf("left behind: %d users, %d slots", h.users, len(h.slots))
		}
	})
}

func TestLimiter_forgets_hosts(t *testing.T) {
	t.Parallel()
	l := newLimiter(1, 0, time.Minute, time.Now)
	for i := range maxHosts + 100 {
		release, err := l.acquire(t.Context(), fmt.Sprint(i), "")
		if err != nil {
			t.Fatal(err)
		}
		release()
	}
	if len(l.hosts) > maxHosts {
		t.Errorf("%d hosts are kept", len(l.hosts))
	}
}

func TestFetch_makes_no_more_requests_at_once_than_allowed(t *testing.T) {
	t.Parallel()
	var now, most atomic.Int32
	s := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			return
		}
		n := now.Add(1)
		defer now.Add(-1)
		for {
			m := most.Load()
			if n <= m || most.CompareAndSwap(m, n) {
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
			p, err := c.Fetch(context.Background(), PageRequest{URL: fmt.Sprintf("%s/%d", s.URL, i)})
			if err != nil {
				t.Error(err)
				return
			}
			_ = p.Close()
		})
	}
	wg.Wait()
	if m := most.Load(); m != 3 {
		t.Errorf("%d requests at once", m)
	}
}

func TestFetch_honours_the_crawl_delay_of_robots(t *testing.T) {
	t.Parallel()
	s := routes(t, map[string]string{"/robots.txt": "User-agent: *\nCrawl-delay: 60", "/a": "x", "/b": "x"})
	c := local(t)
	if _, _, err := fetch(t, c, PageRequest{URL: s.URL + "/a"}); err != nil {
		t.Fatal(err)
	}
	_, _, err := fetch(t, c, PageRequest{URL: s.URL + "/b"})
	if e := wantError(t, err); !e.Deferred || e.RetryAfter < 15*time.Second || e.RetryAfter > time.Minute {
		t.Errorf("got %+v", e)
	}
}

func TestParseRetryAfter_reads_both_forms(t *testing.T) {
	t.Parallel()
	now := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	for v, want := range map[string]time.Duration{
		"0": 0, "120": 2 * time.Minute, " 7 ": 7 * time.Second, "99999999999999999999999": maxRetryAfter, "100000": maxRetryAfter,
		"Wed, 01 Jan 2025 00:10:00 GMT": 10 * time.Minute, "Wed, 01 Jan 2020 00:10:00 GMT": 0,
		"Wednesday, 01-Jan-25 00:00:05 GMT": 5 * time.Second, "Thu, 01 Jan 2099 00:10:00 GMT": maxRetryAfter,
	} {
		if got, ok := parseRetryAfter(v, now); !ok || got != want {
			t.Errorf("%q is %s, %t; want %s", v, got, ok, want)
		}
	}
	for _, v := range []string{"", "soon", "-1", "1.5", "12s", "٣"} {
		if got, ok := parseRetryAfter(v, now); ok {
			t.Errorf("%q is %s", v, got)
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"0", "120", "Wed, 01 Jan 2025 00:10:00 GMT", "-1", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, v string) {
		if d, _ := parseRetryAfter(v, time.Unix(0, 0)); d < 0 || d > maxRetryAfter {
			t.Errorf("%q is %s", v, d)
		}
	})
}
