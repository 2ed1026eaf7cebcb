package openai

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/embed"
)

func TestTheRetryDelayIsReadFromAllHeaders(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, test := range map[string]struct {
		status int
		header map[string]string
		want   time.Duration
	}{
		"nothing":               {429, nil, 0},
		"seconds":               {503, map[string]string{"Retry-After": "2"}, 2 * time.Second},
		"milliseconds":          {429, map[string]string{"Retry-After": "1", "Retry-After-Ms": "250"}, 250 * time.Millisecond},
		"no milliseconds":       {429, map[string]string{"Retry-After": "1", "Retry-After-Ms": "soon"}, time.Second},
		"a limit of tokens":     {429, map[string]string{"X-Ratelimit-Remaining-Tokens": "0", "X-Ratelimit-Reset-Tokens": "1m30s", "X-Ratelimit-Remaining-Requests": "5", "X-Ratelimit-Reset-Requests": "9m"}, 90 * time.Second},
		"both limits":           {429, map[string]string{"X-Ratelimit-Remaining-Tokens": "0", "X-Ratelimit-Reset-Tokens": "20ms", "X-Ratelimit-Remaining-Requests": "0", "X-Ratelimit-Reset-Requests": "8.64s"}, 8640 * time.Millisecond},
		"limits of a good time": {500, map[string]string{"X-Ratelimit-Remaining-Tokens": "0", "X-Ratelimit-Reset-Tokens": "6m0s"}, 0},
		"a hostile limit":       {429, map[string]string{"X-Ratelimit-Remaining-Tokens": "0", "X-Ratelimit-Reset-Tokens": "-5h"}, 0},
	} {
		header := http.Header{}
		for k, v := range test.header {
			header.Set(k, v)
		}
		if got := retryDelay(test.status, header, now); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestQueuedPassagesAreDelayedToo(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(n int, w http.ResponseWriter, _ *http.Request, _ wireRequest) bool {
		if n == 1 {
			w.Header().Set("Retry-After", "40")
			return refuse(w, http.StatusTooManyRequests, "slow down")
		}
		return false
	})
	e, _ := newEmbedder(t, s, nil)
	reported, release := make(chan struct{}), make(chan struct{})
	var mu sync.Mutex
	var waits []time.Duration
	e.pause = func(context.Context, time.Duration) error { close(reported); <-release; return nil }
	var first sync.WaitGroup
	first.Go(func() {
		if _, err := e.Embed(t.Context(), []string{"first"}, embed.Passage); err != nil {
			t.Error(err)
		}
	})
	<-reported
	e.pause = func(_ context.Context, d time.Duration) error {
		mu.Lock()
		defer mu.Unlock()
		waits = append(waits, d.Round(10*time.Second))
		return nil
	}
	for _, purpose := range []embed.Purpose{embed.Query, embed.Passage} {
		if _, err := e.Embed(t.Context(), []string{"second"}, purpose); err != nil {
			t.Error(err)
		}
	}
	close(release)
	first.Wait()
	if want := []time.Duration{40 * time.Second}; !slices.Equal(waits, want) {
		t.Errorf("waits %v, want %v of the passage alone", waits, want)
	}
}

func TestAPrefixOfPassagesMakesAnotherModel(t *testing.T) {
	t.Parallel()
	id := func(c Config) string {
		t.Helper()
		c.Model = "m"
		e, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		return e.Model().ID
	}
	with, other := id(Config{PassagePrefix: "passage: "}), id(Config{PassagePrefix: "doc: ", Dimensions: 8})
	if with == "openai:m" || with == other || with != id(Config{PassagePrefix: "passage: ", QueryPrefix: "query: "}) {
		t.Errorf("%q, %q", with, other)
	}
	if got := id(Config{QueryPrefix: "query: "}); got != "openai:m" {
		t.Errorf("a prefix of queries makes %q", got)
	}
}
