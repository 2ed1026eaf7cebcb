package indextest

import (
	"fmt"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/index"
)

// found runs a search and returns the hits before Fill.
func found(t *testing.T, x index.Index, sp index.Space, q index.Query) []*index.Hit {
	t.Helper()
	r, err := x.Search(t.Context(), sp, q)
	if err != nil {
		t.Fatalf("searching: %v", err)
	}
	out := make([]*index.Hit, len(r.Hits))
	for i := range r.Hits {
		out[i] = &r.Hits[i]
	}
	return out
}

// filling returns the tests for Fill.
func (s *suite) filling() map[string]func(*testing.T) {
	return map[string]func(*testing.T){
		"hits say whose they are before their rows are read, and have all but the vector and metadata after it": func(t *testing.T) {
			x, sp, rows := s.open(t), space(), corpus(60)
			want := make(map[string]index.Row)
			for i := range rows {
				rows[i].Heading, rows[i].Context, rows[i].Page, rows[i].Offset = fmt.Sprint("heading ", i), fmt.Sprint("context ", i), i, 10*i
				want[rows[i].Key] = rows[i]
			}
			mustWrite(t, x, sp, rows...)
			hits := found(t, x, sp, index.Query{Vector: vector(6), Limit: 60})
			if len(hits) != len(rows) {
				t.Fatalf("%d hits, want %d", len(hits), len(rows))
			}
			for _, h := range hits {
				if r := want[h.Key]; h.DatasourceID != r.DatasourceID || h.Generation != r.Generation || h.Ordinal != r.Ordinal || h.Vector != nil {
					t.Errorf("hit %s is of chunk %d of generation %d of %s", h.Key, h.Ordinal, h.Generation, h.DatasourceID)
				}
			}
			scores := make(map[string]float64)
			for _, h := range hits {
				scores[h.Key] = h.Dense
			}
			if err := x.Fill(t.Context(), sp, hits); err != nil {
				t.Fatal(err)
			}
			for _, h := range hits {
				r := want[h.Key]
				r.Vector, r.Metadata = nil, nil
				if diff := gocmp.Diff(r, h.Row); diff != "" || !h.Complete || h.Dense != scores[h.Key] {
					t.Errorf("whole: %v, dense score %v, row (-want +got):\n%s", h.Complete, h.Dense, diff)
				}
			}
		},
		"datasources of any name are distinguished": func(t *testing.T) {
			x, sp := s.open(t), space()
			var rows []index.Row
			for n := 1; n <= 60; n++ { // ever longer ids
				rows = append(rows, row(fmt.Sprintf("%0*d", n, n), uint64(n)<<40, n<<20, fmt.Sprint("text ", n)))
			}
			mustWrite(t, x, sp, rows...)
			for _, h := range found(t, x, sp, index.Query{Vector: vector(6), Limit: 100}) {
				if n := len(h.DatasourceID); n < 1 || n > 60 || h.Key != rows[n-1].Key || h.DatasourceID != rows[n-1].DatasourceID || h.Generation != uint64(n)<<40 || h.Ordinal != n<<20 {
					t.Errorf("hit %s is of chunk %d of generation %d of %s", h.Key, h.Ordinal, h.Generation, h.DatasourceID)
				}
			}
		},
		"of rows that have gone since, or were replaced, no other's content is read": func(t *testing.T) {
			x, sp := s.open(t), space()
			for i := range 40 {
				mustWrite(t, x, sp, row(fmt.Sprint("ds-", i%4), 1, i, fmt.Sprint("first text ", i)))
			}
			hits := found(t, x, sp, index.Query{Vector: vector(6), Limit: 100})
			for _, gone := range []string{"ds-0", "ds-1"} {
				s.remove(t, x, sp, gone, 2)
			}
			for i := range 40 { // possibly in removed rows' slots
				mustWrite(t, x, sp, row(fmt.Sprint("ds-", i%4), 2, i, fmt.Sprint("second text ", i)))
			}
			if err := x.Fill(t.Context(), sp, hits); err != nil {
				t.Fatal(err)
			}
			for _, h := range hits {
				stays := h.DatasourceID == "ds-2" || h.DatasourceID == "ds-3"
				if stays && !h.Complete {
					t.Errorf("the row of hit %s was not filled", h.Key)
				}
				if want := fmt.Sprint("first text ", h.Ordinal); h.Complete && h.Text != want {
					t.Errorf("hit %s has the text %q, want %q", h.Key, h.Text, want)
				}
			}
		},
		"a space that does not exist has no rows of hits": func(t *testing.T) {
			x, sp := s.open(t), space()
			h := index.Hit{Row: row("ds", 1, 0, "")}
			if err := x.Fill(t.Context(), sp, []*index.Hit{&h}); err != nil || h.Complete {
				t.Errorf("whole: %v, error %v", h.Complete, err)
			}
		},
	}
}
