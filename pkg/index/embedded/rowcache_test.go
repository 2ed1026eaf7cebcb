package embedded

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/store"
)

// TestCachedRowsBelongToTheirSlots keeps reusing slots and checks that searches return the rows last written.
func TestCachedRowsBelongToTheirSlots(t *testing.T) {
	t.Parallel()
	x := mustOpen(t, t.TempDir(), Options{})
	rng := rand.New(rand.NewPCG(7, 8))
	want := make(map[string]string)
	for step := range uint64(60) {
		var rows []index.Row
		for i := range 40 {
			r := crashRow("a", step%3, i)
			r.Text += fmt.Sprint(" version ", step)
			r.Heading = fmt.Sprint("version ", step)
			rows = append(rows, r)
			want[r.Key] = r.Text
		}
		if err := x.Write(t.Context(), crashSpace, rows); err != nil {
			t.Fatal(err)
		}
		if err := x.mergeAll(t.Context(), crashSpace); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			r, err := x.Search(t.Context(), crashSpace, index.Query{Text: "common", Vector: crashRow("a", 0, rng.IntN(40)).Vector, Limit: 1000})
			if err != nil {
				t.Fatal(err)
			}
			hits := make([]*index.Hit, len(r.Hits))
			for i := range r.Hits {
				hits[i] = &r.Hits[i]
			}
			if err := x.Fill(t.Context(), crashSpace, hits); err != nil {
				t.Fatal(err)
			}
			got := make(map[string]string)
			for _, h := range hits {
				got[h.Key] = h.Text
				if !strings.HasSuffix(h.Text, " "+h.Heading) {
					t.Fatalf("the row %q has the heading %q", h.Text, h.Heading)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("after %d writes (-want +got):\n%s", step+1, diff)
			}
		}
	}
	err := x.use(t.Context(), crashSpace, false, func(s *store.Space) error {
		if s.Snapshot().Slots > 12*120 {
			t.Errorf("120 rows use %d slots: none was used again", s.Snapshot().Slots)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
