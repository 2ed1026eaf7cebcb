package embed_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/embed"
)

// counting is an embedder that records the texts it receives. A text's vector is its length.
type counting struct {
	mu    sync.Mutex
	asked []string
	err   error
}

func (c *counting) Model() embed.Model { return embed.Model{ID: "counting", Dimensions: 1} }

func (c *counting) Embed(_ context.Context, texts []string, _ embed.Purpose) ([][]float32, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, texts...)
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = []float32{float32(len(text))}
	}
	return vectors, c.err
}

func mustEmbed(t *testing.T, e embed.Embedder, purpose embed.Purpose, texts ...string) [][]float32 {
	t.Helper()
	vectors, err := e.Embed(t.Context(), texts, purpose)
	if err != nil {
		t.Fatal(err)
	}
	return vectors
}

func TestRepeatedQueriesAreEmbeddedOnce(t *testing.T) {
	t.Parallel()
	next := &counting{}
	c := embed.Cached(next, 10)
	mustEmbed(t, c, embed.Query, "a")
	got := mustEmbed(t, c, embed.Query, "ccc", "a", "ccc", "bb")
	if diff := cmp.Diff([][]float32{{3}, {1}, {3}, {2}}, got); diff != "" {
		t.Errorf("vectors (-want +got):\n%s", diff)
	}
	if want := []string{"a", "ccc", "bb"}; !slices.Equal(next.asked, want) {
		t.Errorf("asked for %q, want %q", next.asked, want)
	}
}

func TestPassagesPassThrough(t *testing.T) {
	t.Parallel()
	next := &counting{}
	c := embed.Cached(next, 10)
	mustEmbed(t, c, embed.Query, "a")
	mustEmbed(t, c, embed.Passage, "a")
	mustEmbed(t, c, embed.Passage, "a")
	if len(next.asked) != 3 {
		t.Errorf("asked for %q, want the passage both times", next.asked)
	}
}

func TestTheLeastRecentlyUsedQueryIsEvicted(t *testing.T) {
	t.Parallel()
	next := &counting{}
	c := embed.Cached(next, 2)
	for _, text := range []string{"a", "b", "a", "c", "a", "b"} {
		mustEmbed(t, c, embed.Query, text)
	}
	if want := []string{"a", "b", "c", "b"}; !slices.Equal(next.asked, want) {
		t.Errorf("asked for %q, want %q", next.asked, want)
	}
}

func TestCallersMayChangeTheirVectors(t *testing.T) {
	t.Parallel()
	c := embed.Cached(&counting{}, 2)
	mustEmbed(t, c, embed.Query, "abc")[0][0] = 99
	mustEmbed(t, c, embed.Query, "abc")[0][0] = 99
	if got := mustEmbed(t, c, embed.Query, "abc")[0][0]; got != 3 {
		t.Errorf("vector changed to %v", got)
	}
}

func TestFailuresAreNotCached(t *testing.T) {
	t.Parallel()
	next := &counting{err: errors.New("down")}
	c := embed.Cached(next, 2)
	if _, err := c.Embed(t.Context(), []string{"a"}, embed.Query); !errors.Is(err, next.err) {
		t.Fatalf("error %v, want %v", err, next.err)
	}
	next.err = nil
	if got := mustEmbed(t, c, embed.Query, "a")[0][0]; got != 1 {
		t.Errorf("vector %v, want 1", got)
	}
}

func TestConcurrentQueriesShareTheCache(t *testing.T) {
	t.Parallel()
	c := embed.Cached(&counting{}, 3)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i := range 200 {
				text := "abcdefgh"[:1+i%7]
				vectors, err := c.Embed(context.Background(), []string{text}, embed.Query)
				if err != nil || vectors[0][0] != float32(len(text)) {
					t.Errorf("vector %v, error %v for %q", vectors, err, text)
				}
			}
		})
	}
	group.Wait()
}

// wrapper is an embedder that wraps another one.
type wrapper struct{ embed.Embedder }

func (b wrapper) Unwrap() embed.Embedder { return b.Embedder }

// halfCovered is an embedder that knows half the words in every text.
type halfCovered struct{ *counting }

func (halfCovered) Coverage(string) float64 { return 0.5 }

func TestWrappersPassOnOptionalMethods(t *testing.T) {
	t.Parallel()
	cache := embed.Cached(halfCovered{&counting{}}, 2)
	through := wrapper{wrapper{cache}}
	if got := embed.Coverage(through, "a"); got != 0.5 {
		t.Errorf("the coverage is %v, want 0.5", got)
	}
	if got := embed.Coverage(wrapper{&counting{}}, "a"); got != 1 {
		t.Errorf("the coverage of an embedder without Coverage is %v, want 1", got)
	}
	if embed.IsCached(through, "a") || embed.IsCached(&counting{}, "a") {
		t.Error("a vector is at hand that was never made")
	}
	if _, err := through.Embed(t.Context(), []string{"a"}, embed.Query); err != nil {
		t.Fatal(err)
	}
	if !embed.IsCached(through, "a") || embed.IsCached(through, "b") {
		t.Errorf("a is at hand: %v, want true; b is: %v, want false", embed.IsCached(through, "a"), embed.IsCached(through, "b"))
	}
}
