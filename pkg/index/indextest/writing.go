package indextest

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

// oddTexts returns strings that must be stored byte for byte.
func oddTexts() map[string]string {
	return map[string]string{
		"emoji":        "👩‍👩‍👧‍👦 family 🏳️‍🌈 🙂",
		"rtl":          "שלום עולם، مرحبا بالعالم \u202e abc",
		"largest":      strings.Repeat("слово ", domain.MaxChunkBytes/11-1),
		"quotes":       `it's "quoted" \ back\\slash '; DROP TABLE rows; -- {}`,
		"control":      "tab\tline\nreturn\r bell\a",
		"empty":        "",
		"combining":    "a" + strings.Repeat("\u0301", 300),
		"no words":     "—…!?",
		"cjk":          "東京都は日本の首都である。",
		"long word":    strings.Repeat("x", 30_000),
		"placeholders": "? $1 :a @b %s %d",
	}
}

func (s *suite) writeTests() map[string]func(*testing.T) {
	return map[string]func(*testing.T){
		"rows come back as they were written": func(t *testing.T) {
			x, sp := s.open(t), space()
			want := index.Row{
				Key: "ds-1:7:3", DatasourceID: "ds-1", Generation: 7, Ordinal: 3, CustomID: "cust'om \"1\"", Text: "The text.",
				Context: "A title > A heading", Heading: "A heading", Anchor: "größe-50%", Page: 4, Offset: 1234,
				Metadata: map[string]any{"author": "Ann", "year": 2024.0, "draft": false, "tags": []any{"a", "b"}, "none": nil},
				Vector:   vector(1),
			}
			mustWrite(t, x, sp, want)
			got := mustRows(t, x, sp, "ds-1", 7)
			if diff := cmp.Diff([]index.Row{want}, got); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
			hits := mustSearch(t, x, sp, index.Query{Vector: vector(1)}).Hits
			if len(hits) != 1 {
				t.Fatalf("%d hits, want 1", len(hits))
			}
			want.Vector, want.Metadata = nil, nil
			if diff := cmp.Diff(want, hits[0].Row); diff != "" {
				t.Errorf("hit (-want +got):\n%s", diff)
			}
		},
		"odd texts come back byte for byte": func(t *testing.T) {
			x, sp := s.open(t), space()
			want := make(map[string]string)
			i := 0
			for name, text := range oddTexts() {
				r := row("ds", 1, i, text)
				r.CustomID = name
				want[r.Key] = text
				i++
				mustWrite(t, x, sp, r)
			}
			got := make(map[string]string)
			for _, r := range mustRows(t, x, sp, "ds", 1) {
				got[r.Key] = r.Text
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("texts (-want +got):\n%s", diff)
			}
		},
		"a row whose key exists is replaced": func(t *testing.T) {
			x, sp := s.open(t), space()
			old, fresh := row("ds", 1, 0, "ancient wording"), row("ds", 1, 0, "modern phrase")
			fresh.Vector = vector(99)
			mustWrite(t, x, sp, old, row("ds", 1, 1, "neighbour"))
			mustWrite(t, x, sp, fresh)
			got := mustRows(t, x, sp, "ds", 1)
			if len(got) != 2 || got[0].Text != "modern phrase" || !cmp.Equal(got[0].Vector, fresh.Vector) {
				t.Errorf("rows after replacing: %+v", got)
			}
			if !s.opts.DenseOnly {
				if r := mustSearch(t, x, sp, index.Query{Text: "ancient"}); len(r.Hits) != 0 {
					t.Errorf("the replaced text is still found: %v", keys(r.Hits))
				}
				if r := mustSearch(t, x, sp, index.Query{Text: "modern"}); len(r.Hits) != 1 {
					t.Errorf("the new text is found %d times", len(r.Hits))
				}
			}
			r := mustSearch(t, x, sp, index.Query{Vector: vector(99), Limit: 1})
			if len(r.Hits) != 1 || r.Hits[0].Key != fresh.Key {
				t.Errorf("the new vector is not found")
			}
		},
		"of a key that comes twice in one call the last row stays": func(t *testing.T) {
			x, sp := s.open(t), space()
			if err := x.Write(t.Context(), sp, []index.Row{row("ds", 1, 0, "first"), row("ds", 1, 0, "second")}); err != nil {
				t.Fatal(err)
			}
			if got := mustRows(t, x, sp, "ds", 1); len(got) != 1 || got[0].Text != "second" {
				t.Errorf("rows: %+v", got)
			}
		},
		"an invalid row is refused, and none of its call is stored": func(t *testing.T) {
			x, sp := s.open(t), space()
			for name, spoil := range map[string]func(*index.Row){
				"a short vector":             func(r *index.Row) { r.Vector = r.Vector[:Dimensions-1] },
				"a long vector":              func(r *index.Row) { r.Vector = append(r.Vector, 0) },
				"no vector":                  func(r *index.Row) { r.Vector = nil },
				"a vector that is no number": func(r *index.Row) { r.Vector[0] = float32(math.NaN()) },
				"a text too large":           func(r *index.Row) { r.Text = strings.Repeat("x", domain.MaxChunkBytes+1) },
				"an empty key":               func(r *index.Row) { r.Key = "" },
				"a key with a blank":         func(r *index.Row) { r.Key = "a b" },
				"a key with a quote":         func(r *index.Row) { r.Key = `a"b` },
				"a key with a letter beyond": func(r *index.Row) { r.Key = "ключ" },
			} {
				bad := row("ds", 1, 1, "bad")
				spoil(&bad)
				err := x.Write(t.Context(), sp, []index.Row{row("ds", 1, 0, "good"), bad})
				if !errors.Is(err, index.ErrInvalid) {
					t.Errorf("%s: error %v, want ErrInvalid", name, err)
				}
			}
			if got := mustRows(t, x, sp, "ds", 1); len(got) != 0 {
				t.Errorf("%d rows are stored", len(got))
			}
		},
		"a query with a vector of another length is refused": func(t *testing.T) {
			x, sp := s.open(t), space()
			mustWrite(t, x, sp, row("ds", 1, 0, "text"))
			if _, err := x.Search(t.Context(), sp, index.Query{Vector: vector(1)[:5], Limit: 1}); !errors.Is(err, index.ErrInvalid) {
				t.Errorf("error %v, want ErrInvalid", err)
			}
		},
		"a limit outside 1 to 10,000 is refused": func(t *testing.T) {
			x, sp := s.open(t), space()
			for _, limit := range []int{-1, 0, 10_001} {
				if _, err := x.Search(t.Context(), sp, index.Query{Text: "x", Limit: limit}); !errors.Is(err, index.ErrInvalid) {
					t.Errorf("limit %d: error %v, want ErrInvalid", limit, err)
				}
			}
		},
		"a zero vector is taken, and is near to nothing": func(t *testing.T) {
			x, sp := s.open(t), space()
			r := row("ds", 1, 0, "text")
			r.Vector = make([]float32, Dimensions)
			mustWrite(t, x, sp, r)
			for _, h := range mustSearch(t, x, sp, index.Query{Vector: vector(1)}).Hits {
				if h.Dense != 0 {
					t.Errorf("a zero vector scores %v", h.Dense)
				}
			}
		},
		"a write of no rows does nothing": func(t *testing.T) {
			x, sp := s.open(t), space()
			if err := x.Write(t.Context(), sp, nil); err != nil {
				t.Error(err)
			}
			if got := mustStored(t, x, sp); len(got) != 0 {
				t.Errorf("stored: %v", got)
			}
		},
		"rows are read by generation from an ordinal on, in order, with vectors": func(t *testing.T) {
			x, sp := s.open(t), space()
			var rows []index.Row
			for i := 19; i >= 0; i-- {
				rows = append(rows, row("ds", 2, i, fmt.Sprint("chunk ", i)))
			}
			mustWrite(t, x, sp, rows...)
			mustWrite(t, x, sp, row("ds", 1, 5, "older"), row("other", 2, 5, "other"))
			got, err := x.Rows(t.Context(), sp, "ds", 2, 5, 7)
			if err != nil {
				t.Fatal(err)
			}
			var want []index.Row
			for i := 5; i < 12; i++ {
				want = append(want, row("ds", 2, i, fmt.Sprint("chunk ", i)))
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		},
		"spaces of one datastore do not mix": func(t *testing.T) {
			x, a := s.open(t), space()
			b := a
			b.Model = "test:model/2"
			mustWrite(t, x, a, row("ds", 1, 0, "alpha"))
			mustWrite(t, x, b, row("ds", 1, 1, "beta"))
			if got := mustRows(t, x, a, "ds", 1); len(got) != 1 || got[0].Text != "alpha" {
				t.Errorf("rows of the first model: %+v", got)
			}
			if r := mustSearch(t, x, b, index.Query{Vector: vector(3)}); len(r.Hits) != 1 || r.Hits[0].Text != "beta" {
				t.Errorf("hits of the second model: %v", keys(r.Hits))
			}
		},
	}
}
