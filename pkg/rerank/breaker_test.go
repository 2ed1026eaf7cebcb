package rerank

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// failing is a client for a server that responds with the given status, or successfully if that is 0. The test advances
// its clock.
type failing struct {
	*Client
	t      *testing.T
	server *server
	status atomic.Int32
	header string
	now    time.Time
}

func newFailing(t *testing.T) *failing {
	t.Helper()
	f := &failing{t: t, server: newServer(t, "/rerank"), now: time.Unix(1, 0)}
	f.server.before = func(w http.ResponseWriter, _ *http.Request, _ int) bool {
		status := int(f.status.Load())
		if status != 0 {
			w.Header().Set("Retry-After", f.header)
			w.WriteHeader(status)
		}
		return status != 0
	}
	f.Client, _ = f.server.client(t, "", func(c *Config) { c.Now = func() time.Time { return f.now } })
	return f
}

// ask reports whether the server got a request and whether the call succeeded.
func (f *failing) ask() (asked, well bool) {
	f.t.Helper()
	before := len(f.server.requests)
	_, err := f.Rerank(f.t.Context(), "gate", []string{"0.1"}, time.Time{})
	asked = len(f.server.requests) > before
	if asked == errors.Is(err, ErrPaused) {
		f.t.Fatalf("asked: %v, error %v", asked, err)
	}
	return asked, err == nil
}

func (f *failing) want(what string, asked, well bool) {
	f.t.Helper()
	if a, w := f.ask(); a != asked || w != well {
		f.t.Errorf("%s: asked: %v, well: %v", what, a, w)
	}
}

func TestAFailingServerIsPaused(t *testing.T) {
	t.Parallel()
	f := newFailing(t)
	f.status.Store(500)
	f.want("the first failure", true, false)
	f.want("the second", true, false)
	for _, rest := range []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, time.Minute, time.Minute} {
		f.now = f.now.Add(rest - time.Millisecond)
		f.want("before a rest of "+rest.String()+" is over", false, false)
		f.now = f.now.Add(time.Millisecond)
		f.want("after a rest of "+rest.String(), true, false)
	}
	f.now = f.now.Add(time.Minute)
	f.status.Store(0)
	f.want("when it is back", true, true)
	f.status.Store(500)
	f.want("a failure after that", true, false)
	f.status.Store(0)
	f.want("one failure brings no rest", true, true)
}

func TestAPauseHasTheBoundedLengthOfRetryAfter(t *testing.T) {
	t.Parallel()
	for header, rest := range map[string]time.Duration{"30": 30 * time.Second, "1": 5 * time.Second, "3600": time.Minute} {
		f := newFailing(t)
		f.header = header
		f.status.Store(429)
		f.want("the first failure", true, false)
		f.want("the second", true, false)
		f.status.Store(0)
		f.now = f.now.Add(rest - time.Millisecond)
		f.want("before Retry-After "+header, false, false)
		f.now = f.now.Add(time.Millisecond)
		f.want("after Retry-After "+header, true, true)
	}
}

func TestARejectionCausesNoPause(t *testing.T) {
	t.Parallel()
	f := newFailing(t)
	f.status.Store(401)
	for range 5 {
		f.want("a wrong key", true, false)
	}
}

func TestOneQueryProbesAPausedServer(t *testing.T) {
	t.Parallel()
	s := newServer(t, "/rerank")
	entered, open := make(chan struct{}), make(chan struct{})
	s.before = func(_ http.ResponseWriter, r *http.Request, _ int) bool {
		select {
		case entered <- struct{}{}:
		case <-r.Context().Done():
			return true
		}
		select {
		case <-open:
			return false
		case <-r.Context().Done():
			return true
		}
	}
	now := time.Unix(1, 0)
	client, _ := s.client(t, "", func(c *Config) { c.Now = func() time.Time { return now } })
	for range maxFailures {
		v, err := client.breaker.admit()
		if err != nil {
			t.Fatal(err)
		}
		client.breaker.record(v, &Error{retryable: true}, false)
	}
	now = now.Add(minPause)
	ask := func(ctx context.Context) chan error {
		done := make(chan error, 1)
		go func() {
			_, err := client.Rerank(ctx, "gate", []string{"0.1"}, time.Time{})
			done <- err
		}()
		return done
	}
	// The first caller gives up, so the next one probes the server.
	ctx, leave := context.WithCancel(t.Context())
	first := ask(ctx)
	<-entered
	if err := <-ask(t.Context()); !errors.Is(err, ErrPaused) || !strings.Contains(err.Error(), "so it will not be used for 1s") {
		t.Errorf("while one tries, another gets %v", err)
	}
	leave()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	second := ask(t.Context())
	<-entered
	close(open)
	if err := <-second; err != nil {
		t.Error(err)
	}
	third := ask(t.Context())
	<-entered
	if err := <-third; err != nil {
		t.Errorf("after it is back: %v", err)
	}
}

func TestConcurrentFailuresCauseOnePause(t *testing.T) {
	t.Parallel()
	now := time.Unix(1, 0)
	b := breaker{now: func() time.Time { return now }}
	var visits []attempt
	for range 10 {
		v, err := b.admit()
		if err != nil {
			t.Fatal(err)
		}
		visits = append(visits, v)
	}
	for _, v := range visits {
		b.record(v, &Error{retryable: true}, false)
	}
	now = now.Add(minPause)
	if _, err := b.admit(); err != nil {
		t.Errorf("after one rest: %v", err)
	}
}
