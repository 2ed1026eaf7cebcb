package index

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReusedHitsAreEmpty(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 400, minHitCapacity, minHitCapacity + 1, maxPooledHits, maxPooledHits + 1, 3} {
		for range 3 {
			var r Result
			r.Allocate(n)
			if len(r.Hits) != n {
				t.Fatalf("%d hits, want %d", len(r.Hits), n)
			}
			for i := range r.Hits {
				if diff := cmp.Diff(Hit{}, r.Hits[i]); diff != "" {
					t.Fatalf("hit %d of %d is not empty (-want +got):\n%s", i, n, diff)
				}
				r.Hits[i] = Hit{Row: Row{Key: "a", Text: "text"}, Complete: true, Lexical: 1, Terms: []string{"a"}, Counts: []int{1}}
			}
			r.Release()
			if r.Hits != nil {
				t.Fatal("the result has hits after Release")
			}
			r.Release() // the second call must do nothing
		}
	}
}

func TestUnpooledHitsAreNotReleased(t *testing.T) {
	t.Parallel()
	own := []Hit{{Row: Row{Key: "a"}}, {Row: Row{Key: "b"}}}
	r := Result{Hits: own}
	r.Release()
	if len(r.Hits) != 2 || own[0].Key != "a" || own[1].Key != "b" {
		t.Errorf("hits %v, and %v of the result", own, r.Hits)
	}
}
