package crawl

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/crawl/robots"
)

func TestBreaker_pauses_a_host_that_fails_repeatedly(t *testing.T) {
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
			if d := fail(); d != 0 || b.pauseLeft("a", now) != 0 {
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
		if why, fails := b.pauseReason("a", now); why != "a does not answer" || !fails {
			t.Errorf("the cause is %q, failure: %v", why, fails)
		}
		if why, _ := b.pauseReason("b", now); why != "" {
			t.Errorf("the cause of nothing is %q", why)
		}
		now = now.Add(want * time.Second)
	}
	b.succeeded("a", "http://a/", now)
	twice()
	if d := fail(); d != minPause {
		t.Errorf("an answer did not put the host right: it is held for %s", d)
	}
	if b.succeeded("a", "", now); b.pauseLeft("a", now) != minPause || b.lastServed("a") != "http://a/" {
		t.Error("an answer to an earlier request ended the pause")
	}
	for i := range maxHosts + 10 {
		b.fail(fmt.Sprint(i), now)
	}
	if len(b.hosts) > maxHosts {
		t.Errorf("%d hosts are kept", len(b.hosts))
	}
}

func TestBreaker_treats_endless_retry_later_as_failure(t *testing.T) {
	t.Parallel()
	var b breaker
	now := time.Unix(0, 0)
	reported := func(after time.Duration) bool {
		b.pauseUntil("a", "a is busy", now.Add(after), now)
		_, fails := b.pauseReason("a", now)
		now = now.Add(after)
		return fails
	}
	for n := range maxRefusals {
		if reported(10 * time.Minute) {
			t.Errorf("refusal %d within an hour counts as a failure", n+1)
		}
	}
	if !reported(time.Hour) && !reported(time.Minute) {
		t.Error("refusals for more than an hour do not")
	}
	b.served("a")
	for n := range maxRefusals - 1 {
		if reported(24 * time.Hour) {
			t.Errorf("refusal %d after an answer does, as it asks for a day", n+1)
		}
	}
	if !reported(time.Minute) {
		t.Error("the third, after days, does not")
	}
}

func TestFetch_reports_a_host_that_always_refuses(t *testing.T) {
	t.Parallel()
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == robots.Path {
			return // hosts serve it even while refusing pages
		}
		w.Header().Set("Retry-After", "1800")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	var ahead atomic.Int64 // how far the clock is ahead, in nanoseconds
	clock := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	c := local(t, func(o *Options) { o.MaxWait, o.Now, o.Slots = time.Millisecond, clock, NewLocalSlots(clock) })
	var was []bool // whether the host counted as failing, for each fetch that had to wait
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
		t.Errorf("the host is failing: %v, want %v", was, want)
	}
}

func TestFetch_pauses_a_host_that_does_not_respond(t *testing.T) {
	t.Parallel()
	fine := routes(t, map[string]string{"/": "x"})
	c := local(t, func(o *Options) { o.MaxWait = time.Millisecond })
	c.robots.hosts[absentServer] = &robotsEntry{ready: closed(), expires: time.Now().Add(time.Hour)}
	for i := range 3 {
		_, _, err := fetch(t, c, PageRequest{URL: absentServer + "/a"})
		if e := wantError(t, err); e.Deferred || e.Permanent || (e.RetryAfter > 0) != (i == 2) {
			t.Errorf("fetch %d: %+v", i, e)
		}
	}
	_, _, err := fetch(t, c, PageRequest{URL: absentServer + "/b"})
	e := wantError(t, err)
	if !e.Deferred || e.Permanent || e.Err == nil || e.RetryAfter < 4*time.Second || e.RetryAfter > 5*time.Second {
		t.Errorf("got %+v", e)
	}
	host := strings.TrimPrefix(absentServer, "http://")
	if want := host + " did not answer (connection refused); the next request to " + host + " is in 5s"; e.Message != want {
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

func TestFetch_pauses_a_host_depending_on_its_responses(t *testing.T) {
	t.Parallel()
	const cut = 0
	for name, tc := range map[string]struct {
		good    bool  // another page was and is served
		answers []int // statuses of the failing page; cut closes the connection
		robots  int   // status of robots.txt during the failures
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
					// If a connection ends without a response, net/http itself retries once.
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
				err := fetchEach(t, c, s.URL+"/a")
				var e *Error
				if errors.As(err, &e) && e.Deferred {
					if tc.held && int(n.Load()) >= min(breakerFailures, len(tc.answers)) {
						break
					}
					t.Fatalf("held too early: %v", err)
				}
			}
			if got := c.polite.breaker.pauseLeft(strings.TrimPrefix(s.URL, "http://"), time.Now()) > 0; got != tc.held {
				t.Errorf("held: %t, want %t", got, tc.held)
			}
		})
	}
}

// fetchEach fetches a page. It retries while the host's slot is still occupied by the previous request or by one of the
// breaker's probes.
func fetchEach(t *testing.T, c *Crawler, page string) error {
	t.Helper()
	for {
		_, _, err := fetch(t, c, PageRequest{URL: page})
		var e *Error
		if !errors.As(err, &e) || !e.Deferred || !strings.Contains(e.Message, "is waiting") {
			return err
		}
	}
}

func TestFetch_is_rescheduled_if_only_the_gateway_responds(t *testing.T) {
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
		wantError(t, fetchEach(t, c, s.URL+"/a"))
	}
	if at := <-heads; at != "/good" {
		t.Errorf("the breaker probed with %s", at)
	}
	err := fetchEach(t, c, s.URL+"/b")
	if e := wantError(t, err); !e.Deferred || !strings.Contains(e.Message, "answered 502 Bad Gateway") {
		t.Errorf("got %+v", e)
	}
}
