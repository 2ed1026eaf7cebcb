package ingest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
)

// words makes each word of the text a chunk. A chunk's vector is the length of its word.
func words(p *ingestorFixture, text string) {
	p.chunks = func(*domain.Document) ([]domain.Chunk, error) {
		var out []domain.Chunk
		for n, word := range strings.Fields(text) {
			out = append(out, domain.Chunk{Ordinal: n, Text: word})
		}
		return out, nil
	}
	p.embed = func(texts []string) ([][]float32, error) {
		out := make([][]float32, len(texts))
		for n, t := range texts {
			out[n] = []float32{float32(len(t)), 0}
		}
		return out, nil
	}
}

func TestTextThatDocumentsOfADatastoreShareIsEmbeddedOnce(t *testing.T) {
	t.Parallel()
	p := newPipeline(0)
	i := p.ingestor()
	i.Vectors = NewVectorCache(1 << 20)
	ingest := func(text, datastore, model string) []float32 {
		t.Helper()
		words(p, text)
		job := ingestJob()
		job.DatastoreID, job.Places = datastore, []domain.Place{{Engine: domain.EngineEmbedded, Model: model}}
		p.rows = nil
		if err := i.Handle(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		var lengths []float32
		for _, r := range p.rows {
			lengths = append(lengths, r.Vector[0])
		}
		return lengths
	}
	for _, step := range []struct {
		text, datastore, model string
		embedded               []string
	}{
		{"a foot bb foot", "store", "model-1", []string{"a", "foot", "bb"}},
		{"ccc foot a ccc", "store", "model-1", []string{"ccc"}},
		{"foot a", "store", "model-1", nil},
		{"foot a", "another store", "model-1", []string{"foot", "a"}},
		{"foot a", "store", "model-2", []string{"foot", "a"}},
	} {
		p.batches = nil
		got := ingest(step.text, step.datastore, step.model)
		var want []float32
		for _, word := range strings.Fields(step.text) {
			want = append(want, float32(len(word)))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v: vectors %v, want %v", step, got, want)
		}
		if diff := cmp.Diff(step.embedded, slices.Concat(p.batches...)); diff != "" {
			t.Errorf("%+v: embedded (-want +got):\n%s", step, diff)
		}
	}
}

func TestFailedVectorsAreNotCached(t *testing.T) {
	t.Parallel()
	p := newPipeline(0)
	words(p, "a bb")
	i := p.ingestor()
	i.Vectors = NewVectorCache(1 << 20)
	p.embed = func([]string) ([][]float32, error) { return nil, errors.New("down") }
	if err := i.Handle(t.Context(), ingestJob()); err == nil {
		t.Fatal("the job succeeded")
	}
	words(p, "a bb")
	p.batches = nil
	if err := i.Handle(t.Context(), ingestJob()); err != nil || len(slices.Concat(p.batches...)) != 2 {
		t.Errorf("embedded %v, error %v", p.batches, err)
	}
}

func TestTheLeastRecentlyUsedVectorIsForgotten(t *testing.T) {
	t.Parallel()
	vector := make([]float32, 100)
	r := NewVectorCache(2 * (&cachedVector{vector: vector}).size())
	key := func(text string) vectorKey { return vectorKey{"store", "model", hashOf(text)} }
	r.put(key("a"), vector)
	r.put(key("b"), vector)
	r.get(key("a"))
	r.put(key("c"), vector)
	r.put(key("c"), vector)
	for text, want := range map[string]bool{"a": true, "b": false, "c": true} {
		if got := r.get(key(text)) != nil; got != want {
			t.Errorf("%s is there: %v", text, got)
		}
	}
	if r.bytes > r.limit || r.order.Len() != len(r.vectors) {
		t.Errorf("%d bytes, %d entries, %d keys", r.bytes, r.order.Len(), len(r.vectors))
	}
}

func TestJobsShareTheVectorCache(t *testing.T) {
	t.Parallel()
	r := NewVectorCache(10_000)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for n := range 500 {
				key := vectorKey{"store", "model", hashOf(fmt.Sprint(n % 50))}
				if v := r.get(key); v != nil && v[0] != float32(n%50) {
					t.Errorf("the vector of %d is %v", n%50, v)
				}
				r.put(key, []float32{float32(n % 50)})
			}
		})
	}
	group.Wait()
}
