package openai

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/embed"
)

func TestRequestedDimensionsAreSentAndPartOfTheModelID(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	e, _ := newEmbedder(t, s, func(c *Config) { c.Dimensions = 3 })
	if got := (embed.Model{ID: "openai:test-model@3", Dimensions: 3}); e.Model() != got {
		t.Errorf("before the first answer the model is %v, want %v", e.Model(), got)
	}
	if _, err := e.Embed(t.Context(), []string{"text"}, embed.Passage); err != nil {
		t.Fatal(err)
	}
	if got := s.requests[0].Dimensions; got != 3 {
		t.Errorf("%d dimensions were asked for", got)
	}
}

func TestKnownDimensionsAreNotSent(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	e, _ := newEmbedder(t, s, func(c *Config) { c.Known = 3 })
	if got := (embed.Model{ID: "openai:test-model", Dimensions: 3}); e.Model() != got {
		t.Errorf("before the first answer the model is %v, want %v", e.Model(), got)
	}
	if err := e.Discover(t.Context()); err != nil || s.calls() != 0 {
		t.Errorf("%d requests for what is known, err %v", s.calls(), err)
	}
	if _, err := e.Embed(t.Context(), []string{"text"}, embed.Passage); err != nil {
		t.Fatal(err)
	}
	if got := s.requests[0].Dimensions; got != 0 {
		t.Errorf("%d dimensions were asked for", got)
	}
}

func TestServersWithoutDimensionsAreRetriedWithout(t *testing.T) {
	t.Parallel()
	for name, message := range map[string]string{
		"OpenAI, of an older model": "This model does not support specifying dimensions.",
		"vLLM":                      `Model "m" does not support matryoshka representation, changing output dimensions will lead to poor results.`,
		"a server strict on fields": "Unrecognized request argument supplied: dimensions; at most these are allowed: input, model",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, func(_ int, w http.ResponseWriter, _ *http.Request, body wireRequest) bool {
				return body.Dimensions > 0 && refuse(w, http.StatusBadRequest, message)
			})
			e, _ := newEmbedder(t, s, func(c *Config) { c.Dimensions = 3 })
			for range 2 {
				vectors, err := e.Embed(t.Context(), []string{"text"}, embed.Passage)
				if err != nil {
					t.Fatal(err)
				}
				sameDirection(t, vectors[0], "text")
			}
			var sent []int
			for _, r := range s.requests {
				sent = append(sent, r.Dimensions)
			}
			if diff := cmp.Diff([]int{3, 0, 0}, sent); diff != "" {
				t.Errorf("dimensions sent (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConcurrentRejectedRequestsAreRetriedWithoutDimensions(t *testing.T) {
	t.Parallel()
	const together = 4
	var refused sync.WaitGroup
	refused.Add(together)
	s := newServer(t, func(_ int, w http.ResponseWriter, _ *http.Request, body wireRequest) bool {
		if body.Dimensions == 0 {
			return false
		}
		refused.Done()
		refused.Wait()
		return refuse(w, http.StatusBadRequest, "This model does not support specifying dimensions.")
	})
	e, _ := newEmbedder(t, s, func(c *Config) { c.Dimensions, c.MaxBatch, c.Concurrency = 3, 1, together })
	if _, err := e.Embed(t.Context(), repeat("text", together), embed.Passage); err != nil {
		t.Error(err)
	}
}

func TestAModelWithFixedDimensionsIsRefused(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil) // the test server always returns three dimensions
	e, _ := newEmbedder(t, s, func(c *Config) { c.Dimensions = 2 })
	_, err := e.Embed(t.Context(), []string{"text"}, embed.Passage)
	if !isPermanent(err) || !strings.Contains(err.Error(), "returned 3 dimensions instead of the configured 2") {
		t.Errorf("err = %v", err)
	}
}
