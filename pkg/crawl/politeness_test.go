package crawl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// polite returns the politeness of a crawler with these bounds, on a clock of the bubble's.
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

func TestPoliteness_hands_back_what_would_wait_too_long(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := polite(1, -1, 10*time.Second)
		p.comeBack(t.Context(), "paused", "paused answers 429", time.Minute)
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
		for _, held := range []bool{true, false} { // waiting for the slot, waiting for the time
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
			turns := p.turns.(*LocalTurns)
			if len(p.gates.hosts) != 0 || len(turns.hosts["a"].leases) != 0 {
				t.Errorf("left behind: %d gates, %d turns", len(p.gates.hosts), len(turns.hosts["a"].leases))
			}
		}
	})
}

func TestPoliteness_of_two_crawlers_that_share_turns_is_that_of_one(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := Options{Turns: NewLocalTurns(time.Now), PerHostConcurrency: 1, PerHostDelay: time.Second, MaxWait: time.Minute}.withDefaults()
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
			t.Fatalf("the turn came after %s, %v", got, err)
		}
		release()
		one.comeBack(t.Context(), "a", "a answers 503", 2*time.Minute)
		_, err = other.acquire(t.Context(), "a", "http://a/", 0)
		if e := wantError(t, err); !e.Deferred || e.RetryAfter != 2*time.Minute {
			t.Errorf("got %+v", e)
		}
	})
}

func TestPoliteness_says_that_turns_cannot_be_had(t *testing.T) {
	t.Parallel()
	o := Options{Turns: brokenTurns{}}.withDefaults()
	_, err := newPoliteness(o).acquire(t.Context(), "a.example", "http://a.example/", 0)
	if e := wantError(t, err); e.Permanent || e.Deferred || !errors.Is(e, errBrokenTurns) {
		t.Errorf("got %+v", e)
	}
}

type brokenTurns struct{}

var errBrokenTurns = errors.New("no connection")

func (brokenTurns) Reserve(context.Context, string, domain.Pace, time.Duration) (domain.Turn, error) {
	return domain.Turn{}, errBrokenTurns
}
func (brokenTurns) Hold(context.Context, string, time.Time) error { return errBrokenTurns }

func TestLocalTurns_forget_hosts(t *testing.T) {
	t.Parallel()
	l := NewLocalTurns(time.Now)
	for i := range 3 * maxHosts {
		turn, err := l.Reserve(t.Context(), fmt.Sprint(i), domain.Pace{Concurrency: 1, Lease: time.Hour}, 0)
		if err != nil || !turn.Granted {
			t.Fatal(turn, err)
		}
		turn.Release()
	}
	if len(l.hosts) > maxHosts {
		t.Errorf("%d hosts are kept", len(l.hosts))
	}
}

func TestBreaker_leaves_a_host_alone_that_fails_again_and_again(t *testing.T) {
	t.Parallel()
	var b breaker
	now := time.Unix(0, 0)
	fail := func() time.Duration {
		held, suspect := b.fail("a", now)
		if suspect {
			if _, again := b.fail("a", now); again {
				t.Error("two are to find out at once")
			}
			return b.trip("a", "a does not answer", now)
		}
		return held
	}
	twice := func() {
		t.Helper()
		for range breakerFailures - 1 {
			if d := fail(); d != 0 || b.held("a", now) != 0 {
				t.Errorf("too few failures count as the host's: it is held for %s", d)
			}
		}
	}
	twice()
	for i, want := range []time.Duration{5, 10, 20, 40, 80, 160, 320, 600, 600} {
		if got := fail(); got != want*time.Second {
			t.Errorf("pause %d is %s, want %s", i, got, want*time.Second)
		}
		now = now.Add(time.Second)
		if d := fail(); d != want*time.Second-time.Second {
			t.Errorf("a failure during pause %d makes it %s", i, d)
		}
		if why, fails := b.cause("a", now); why != "a does not answer" || !fails {
			t.Errorf("the cause is %q, failure: %v", why, fails)
		}
		if why, _ := b.cause("b", now); why != "" {
			t.Errorf("the cause of nothing is %q", why)
		}
		now = now.Add(want * time.Second)
	}
	b.answered("a", "http://a/", now)
	twice()
	if d := fail(); d != breakerFirst {
		t.Errorf("an answer did not put the host right: it is held for %s", d)
	}
	if b.answered("a", "", now); b.held("a", now) != breakerFirst || b.good("a") != "http://a/" {
		t.Error("an answer to an earlier request ended the pause")
	}
	for i := range maxHosts + 10 {
		b.fail(fmt.Sprint(i), now)
	}
	if len(b.hosts) > maxHosts {
		t.Errorf("%d hosts are kept", len(b.hosts))
	}
}

func TestBreaker_takes_a_host_that_only_ever_asks_to_come_back_for_one_that_fails(t *testing.T) {
	t.Parallel()
	var b breaker
	now := time.Unix(0, 0)
	told := func(after time.Duration) bool {
		b.told("a", "a is busy", now.Add(after), now)
		_, fails := b.cause("a", now)
		now = now.Add(after)
		return fails
	}
	for n := range refusalsInRow {
		if told(10 * time.Minute) {
			t.Errorf("refusal %d within an hour counts as a failure", n+1)
		}
	}
	if !told(time.Hour) && !told(time.Minute) {
		t.Error("refusals for more than an hour do not")
	}
	b.served("a")
	for n := range refusalsInRow - 1 {
		if told(24 * time.Hour) {
			t.Errorf("refusal %d after an answer does, as it asks for a day", n+1)
		}
	}
	if !told(time.Minute) {
		t.Error("the third, after days, does not")
	}
}

func TestFetch_of_a_host_that_refuses_for_ever_says_that_the_host_fails(t *testing.T) {
	t.Parallel()
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == robotsPath {
			return // is served to everybody, and shows nothing
		}
		w.Header().Set("Retry-After", "1800")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	var ahead atomic.Int64 // of the time, in nanoseconds
	clock := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	c := local(t, func(o *Options) { o.MaxWait, o.Now, o.Turns = time.Millisecond, clock, NewLocalTurns(clock) })
	var was []bool // whether the host counted as failing, for those that waited
	for range 5 {
		var e *Error
		if _, _, err := fetch(t, c, PageRequest{URL: s.URL + "/a"}); !errors.As(err, &e) || e.Deferred || e.RetryAfter != 30*time.Minute {
			t.Fatalf("the host was not asked: %v", err)
		}
		if _, _, err := fetch(t, c, PageRequest{URL: s.URL + "/b"}); !errors.As(err, &e) || !e.Deferred {
			t.Fatalf("the host was asked although it is held: %v", err)
		}
		was = append(was, e.Err != nil)
		ahead.Add(int64(31 * time.Minute))
	}
	if want := []bool{false, false, true, true, true}; !slices.Equal(was, want) {
		t.Errorf("it fails: %v, want %v", was, want)
	}
}

func TestFetch_leaves_a_host_alone_that_does_not_answer(t *testing.T) {
	t.Parallel()
	fine := routes(t, map[string]string{"/": "x"})
	dead := httptest.NewServer(http.NotFoundHandler())
	dead.Close()
	c := local(t, func(o *Options) { o.MaxWait = time.Millisecond })
	c.robots.hosts[dead.URL] = &robotsEntry{ready: closed(), expires: time.Now().Add(time.Hour)}
	for i := range 3 {
		_, _, err := fetch(t, c, PageRequest{URL: dead.URL + "/a"})
		if e := wantError(t, err); e.Deferred || e.Permanent || (e.RetryAfter > 0) != (i == 2) {
			t.Errorf("fetch %d: %+v", i, e)
		}
	}
	_, _, err := fetch(t, c, PageRequest{URL: dead.URL + "/b"})
	e := wantError(t, err)
	if !e.Deferred || e.Permanent || e.Err == nil || e.RetryAfter < 4*time.Second || e.RetryAfter > 5*time.Second {
		t.Errorf("got %+v", e)
	}
	host := strings.TrimPrefix(dead.URL, "http://")
	if want := host + " does not answer (connection refused); " + host + " is asked again in 5s"; e.Message != want {
		t.Errorf("the message is %q, want %q", e.Message, want)
	}
	if _, _, err := fetch(t, c, PageRequest{URL: fine.URL}); err != nil {
		t.Errorf("another host: %v", err)
	}
}

func closed() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func TestFetch_holds_a_host_by_what_it_answers(t *testing.T) {
	t.Parallel()
	const cut = 0
	for name, tc := range map[string]struct {
		good    bool  // a page was to be had before, and still is
		answers []int // for the pages; cut closes the connection
		robots  int   // status of robots.txt meanwhile
		after   string
		held    bool
	}{
		"three faults in a row, and robots.txt fails too":       {answers: []int{500, 502, 504}, robots: 500, held: true},
		"three faults in a row, and robots.txt breaks off too":  {answers: []int{500, 500, 500}, robots: cut, held: true},
		"three answers that break off, and robots.txt fails":    {answers: []int{cut, cut, cut}, robots: 503, held: true},
		"pages that break off":                                  {answers: []int{cut, cut, cut, cut, cut, cut, cut}, robots: 200},
		"faults of pages":                                       {answers: []int{500, 500, 500, 500, 500, 500, 500}, robots: 404},
		"faults behind a gateway that answers otherwise":        {answers: []int{500, 502, 504}, robots: 200, good: true},
		"a host that has enough of us meanwhile":                {answers: []int{502, 502, 502, 502}, robots: 429, held: true},
		"two faults":                                            {answers: []int{500, 500}, robots: 500},
		"faults between answers":                                {answers: []int{500, 500, 200, 500, 500}, robots: 500},
		"a page that is gone is an answer":                      {answers: []int{500, 500, 404, 500, 500}, robots: 500},
		"a 501 is about the page":                               {answers: []int{501, 501, 501, 501}, robots: 500},
		"one 429 without a time":                                {answers: []int{429}, robots: 200, held: true},
		"one 503 with a time":                                   {answers: []int{503}, robots: 200, after: "30", held: true},
		"one 503 with the time zero":                            {answers: []int{503}, robots: 500, after: "0"},
		"three 503 without a time, and robots.txt fails too":    {answers: []int{503, 503, 503}, robots: 503, held: true},
		"requests that the server gave up are not the server's": {answers: []int{408, 408, 408, 408}, robots: 500},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var n atomic.Int32
			s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				code := 200
				switch r.URL.Path {
				case "/robots.txt":
					if code = tc.robots; n.Load() == 0 {
						code = 200
					}
				case "/a":
					// A connection that ends without an answer is tried once more by net/http itself.
					code = tc.answers[min(int(n.Add(1)), len(tc.answers))-1]
					if tc.after != "" {
						w.Header().Set("Retry-After", tc.after)
					}
				}
				if code == cut {
					panic(http.ErrAbortHandler)
				}
				w.WriteHeader(code)
				if r.URL.Path != "/robots.txt" {
					_, _ = io.WriteString(w, "x")
				}
			}))
			c := local(t, func(o *Options) { o.MaxWait = time.Millisecond })
			if tc.good {
				if _, _, err := fetch(t, c, PageRequest{URL: s.URL + "/good"}); err != nil {
					t.Fatal(err)
				}
			}
			for range tc.answers {
				err := fetchInTurn(t, c, s.URL+"/a")
				var e *Error
				if errors.As(err, &e) && e.Deferred {
					if tc.held && int(n.Load()) >= min(breakerFailures, len(tc.answers)) {
						break
					}
					t.Fatalf("held too early: %v", err)
				}
			}
			if got := c.polite.breaker.held(strings.TrimPrefix(s.URL, "http://"), time.Now()) > 0; got != tc.held {
				t.Errorf("held: %t, want %t", got, tc.held)
			}
		})
	}
}

// fetchInTurn fetches a page, again as long as another request has the host's turn: the one before it may not have given it
// up, or the breaker looks whether the host is well.
func fetchInTurn(t *testing.T, c *Crawler, page string) error {
	t.Helper()
	for {
		_, _, err := fetch(t, c, PageRequest{URL: page})
		var e *Error
		if !errors.As(err, &e) || !e.Deferred || !strings.Contains(e.Message, "waits for its turn") {
			return err
		}
	}
}

func TestFetch_of_a_host_whose_gateway_alone_is_well_is_put_off(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	heads := make(chan string, 10)
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			heads <- r.URL.Path
		}
		if down.Load() && r.URL.Path != "/robots.txt" {
			w.WriteHeader(http.StatusBadGateway)
		}
	}))
	c := local(t, func(o *Options) { o.MaxWait = time.Millisecond })
	if _, _, err := fetch(t, c, PageRequest{URL: s.URL + "/good"}); err != nil {
		t.Fatal(err)
	}
	down.Store(true)
	for range breakerFailures {
		wantError(t, fetchInTurn(t, c, s.URL+"/a"))
	}
	if at := <-heads; at != "/good" {
		t.Errorf("it was found out by %s", at)
	}
	err := fetchInTurn(t, c, s.URL+"/b")
	if e := wantError(t, err); !e.Deferred || !strings.Contains(e.Message, "answers 502 Bad Gateway") {
		t.Errorf("got %+v", e)
	}
}

func TestFetch_of_other_pages_waits_while_robots_cannot_be_had(t *testing.T) {
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
		if r.URL.Path == robotsPath {
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
			p, err := c.Fetch(withBegun(context.Background()), PageRequest{URL: fmt.Sprintf("%s/%d", s.URL, i)}) // waits its turn, however slow
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
	for asked, says := range map[string]string{
		"60": "(robots.txt asks for 1m0s between two requests)", "600": "(robots.txt asks for 10m0s between two requests, 1m0s is kept)",
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

func TestPoliteness_lets_a_fetch_that_has_begun_come_to_its_end(t *testing.T) {
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
		if release, err = p.acquire(withBegun(t.Context()), "slow", "", 0); err != nil {
			t.Fatalf("where a redirect leads: %v", err)
		}
		release()
		if waited := time.Since(start); waited != 20*time.Second {
			t.Errorf("its turn came after %s", waited)
		}
	})
}
