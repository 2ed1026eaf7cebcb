package openai

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluice/sluice/pkg/embed"
)

func TestConcurrentRequestsAreBounded(t *testing.T) {
	t.Parallel()
	const documents = 8 // one request each, so only the settings limit how many run at the same time
	var waiting sync.WaitGroup
	waiting.Add(documents)
	s := newServer(t, func(_ int, _ http.ResponseWriter, r *http.Request, _ wireRequest) bool {
		waiting.Done()
		all := make(chan struct{})
		go func() { waiting.Wait(); close(all) }()
		select { // answer only after all requests have arrived
		case <-all:
		case <-r.Context().Done():
		}
		return false
	})
	e, _ := newEmbedder(t, s, nil)
	var done sync.WaitGroup
	for range documents {
		done.Go(func() {
			if _, err := e.Embed(t.Context(), []string{"text"}, embed.Passage); err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
}

func TestAQueryDoesNotWaitForPassages(t *testing.T) {
	t.Parallel()
	release, full := make(chan struct{}), make(chan struct{}, 100)
	s := newServer(t, func(_ int, _ http.ResponseWriter, _ *http.Request, body wireRequest) bool {
		if body.Input[0] == "passage" {
			full <- struct{}{}
			<-release
		}
		return false
	})
	e, _ := newEmbedder(t, s, func(c *Config) { c.MaxBatch, c.Concurrency = 1, 2 })
	var imports sync.WaitGroup
	for range 3 {
		imports.Go(func() {
			if _, err := e.Embed(t.Context(), repeat("passage", 5), embed.Passage); err != nil {
				t.Error(err)
			}
		})
	}
	<-full
	<-full // the maximum number of passage requests is running, with many more waiting
	if _, err := e.Embed(t.Context(), []string{"query"}, embed.Query); err != nil {
		t.Error(err)
	}
	close(release)
	imports.Wait()
}

func TestConnectionsAreKept(t *testing.T) {
	t.Parallel()
	s := &server{}
	var opened atomic.Int64
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	s.Start()
	defer s.Close()
	e, err := New(Config{BaseURL: s.URL + "/v1", Model: "test-model", MaxBatch: 1, Concurrency: 6})
	if err != nil {
		t.Fatal(err)
	}
	defer e.config.HTTPClient.CloseIdleConnections()
	for range 20 {
		if _, err := e.Embed(t.Context(), repeat("text", 30), embed.Passage); err != nil {
			t.Fatal(err)
		}
	}
	if n := opened.Load(); n > 12 {
		t.Errorf("%d connections were opened for %d requests, 6 at once", n, s.calls())
	}
}
