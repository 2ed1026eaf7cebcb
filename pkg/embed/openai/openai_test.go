package openai

import (
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/embed"
)

// sameDirection requires that the vector has unit length and the same direction as the server's vector for the text.
func sameDirection(t *testing.T, vector []float32, text string) {
	t.Helper()
	want := vectorOf(text)
	var product float64
	for i := range want {
		product += float64(vector[i]) * float64(want[i]) / 3
	}
	if math.Abs(product-1) > 1e-5 {
		t.Errorf("%v is not the unit vector of %q", vector, text)
	}
}

func TestVectorsComeInOrderAtUnitLengthInBothEncodings(t *testing.T) {
	t.Parallel()
	for name, base64 := range map[string]bool{"numbers": false, "base64": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, nil)
			e, _ := newEmbedder(t, s, func(c *Config) { c.Base64, c.MaxBatch = base64, 2 })
			texts := []string{"one", "three", "", "four words in all", "<|endoftext|>", " \n"}
			vectors, err := e.Embed(t.Context(), texts, embed.Passage)
			if err != nil {
				t.Fatal(err)
			}
			for i, text := range texts {
				if strings.TrimSpace(text) != "" {
					sameDirection(t, vectors[i], text)
				} else if diff := cmp.Diff([]float32{0, 0, 0}, vectors[i]); diff != "" {
					t.Errorf("vector of the blank text %d (-want +got):\n%s", i, diff)
				}
			}
			if s.calls() != 2 {
				t.Errorf("%d requests, want 2 of two texts each", s.calls())
			}
			if got := (embed.Model{ID: "openai:test-model", Dimensions: 3}); e.Model() != got {
				t.Errorf("model %v, want %v", e.Model(), got)
			}
		})
	}
}

func TestRequestsCarryTheKeyAndTheModel(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	e, _ := newEmbedder(t, s, nil)
	if _, err := e.Embed(t.Context(), []string{"text"}, embed.Query); err != nil {
		t.Fatal(err)
	}
	if got := s.headers[0].Get("Authorization"); got != "Bearer sk-very-secret" {
		t.Errorf("authorization %q", got)
	}
	want := wireRequest{Model: "test-model", Input: []string{"text"}, EncodingFormat: "float"}
	if diff := cmp.Diff(want, s.requests[0]); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestNoKeyIsNoHeader(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	e, _ := newEmbedder(t, s, func(c *Config) { c.APIKey = "" })
	if err := e.Discover(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, ok := s.headers[0]["Authorization"]; ok {
		t.Errorf("authorization %q, want none", got)
	}
}

func TestDimensionsAreDiscoveredOnce(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	e, _ := newEmbedder(t, s, nil)
	if got := e.Model().Dimensions; got != 0 {
		t.Errorf("%d dimensions before the first answer, want 0", got)
	}
	for range 2 {
		if err := e.Discover(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := e.Model().Dimensions; got != 3 || s.calls() != 1 {
		t.Errorf("%d dimensions after %d requests, want 3 after 1", got, s.calls())
	}
}

func TestBlankTextsAloneNeedOnlyTheDimensions(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	e, _ := newEmbedder(t, s, func(c *Config) { c.Dimensions = 3 })
	vectors, err := e.Embed(t.Context(), []string{"", "\t"}, embed.Passage)
	if diff := cmp.Diff([][]float32{{0, 0, 0}, {0, 0, 0}}, vectors); err != nil || diff != "" {
		t.Errorf("error %v, vectors (-want +got):\n%s", err, diff)
	}
	if s.calls() != 0 {
		t.Errorf("%d requests, want none", s.calls())
	}
}

func TestTextsArePrefixedByPurpose(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	e, _ := newEmbedder(t, s, func(c *Config) { c.QueryPrefix, c.PassagePrefix = "query: ", "passage: " })
	for _, purpose := range []embed.Purpose{embed.Query, embed.Passage} {
		if _, err := e.Embed(t.Context(), []string{"cats"}, purpose); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"query: cats", "passage: cats"}, s.texts()); diff != "" {
		t.Errorf("texts sent (-want +got):\n%s", diff)
	}
}

func TestBatchesKeepToCountAndTokens(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		texts     []string
		maxBatch  int
		maxTokens int
		want      int // expected number of requests
	}{
		"ten texts by four":           {repeat("word", 10), 4, 1000, 3},
		"ten tokens a text by thirty": {repeat(strings.Repeat("abc", 10), 9), 100, 30, 3},
		"a text above the limit":      {[]string{strings.Repeat("abc", 50), "x"}, 100, 30, 2},
		"Chinese counts by character": {repeat("中文中文中", 4), 100, 10, 2},
		"nothing at all":              {nil, 4, 10, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, nil)
			e, _ := newEmbedder(t, s, func(config *Config) { config.MaxBatch, config.MaxBatchTokens = c.maxBatch, c.maxTokens })
			if _, err := e.Embed(t.Context(), c.texts, embed.Passage); err != nil {
				t.Fatal(err)
			}
			if s.calls() != c.want || len(s.texts()) != len(c.texts) {
				t.Errorf("%d texts in %d requests, want %d in %d", len(s.texts()), s.calls(), len(c.texts), c.want)
			}
		})
	}
}

func TestLongTextsAreCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	e, _ := newEmbedder(t, s, func(c *Config) { c.MaxInputTokens = 4 })
	if _, err := e.Embed(t.Context(), []string{strings.Repeat("a", 100), strings.Repeat("é", 100), "a\xffb"}, embed.Passage); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"aaaaaaaaaaaa", "éééé", "a\uFFFDb"}, s.texts()); diff != "" {
		t.Errorf("texts sent (-want +got):\n%s", diff)
	}
}

func TestRequestsAtOnceAreBoundedAcrossCalls(t *testing.T) {
	t.Parallel()
	var now, limit atomic.Int64
	s := newServer(t, func(_ int, _ http.ResponseWriter, _ *http.Request, _ wireRequest) bool {
		limit.Store(max(limit.Load(), now.Add(1)))
		defer now.Add(-1)
		return false
	})
	e, _ := newEmbedder(t, s, func(c *Config) { c.MaxBatch, c.Concurrency = 1, 2 })
	done := make(chan error)
	for range 3 {
		go func() {
			_, err := e.Embed(t.Context(), repeat("text", 20), embed.Passage)
			done <- err
		}()
	}
	for range 3 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if limit.Load() > 2 {
		t.Errorf("%d requests at once, want 2 at most", limit.Load())
	}
}

func TestInvalidConfigurationsAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config Config
		want   string
	}{
		"no model":            {Config{}, "model"},
		"no scheme":           {Config{Model: "m", BaseURL: "localhost:11434"}, "localhost:11434"},
		"not http":            {Config{Model: "m", BaseURL: "ftp://host/v1"}, "ftp://host/v1"},
		"password in address": {Config{Model: "m", BaseURL: "https://user:hunter2@host/v1"}, "API key"},
		"absurd dimensions":   {Config{Model: "m", Dimensions: 1 << 20}, "1048576"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := New(c.config)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error %v, want one about %q without secrets", err, c.want)
			}
		})
	}
}
