package indextest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/bm25"
)

// corpus returns n rows with words of different frequencies.
func corpus(n int) []index.Row {
	words := strings.Fields("river mountain harbour bridge valley forest island desert glacier canyon meadow lagoon")
	rows := make([]index.Row, n)
	for i := range rows {
		var text []string
		for j, w := range words {
			if i%(j+1) == 0 {
				text = append(text, w)
			}
		}
		rows[i] = row(fmt.Sprintf("ds-%d", i%7), 1, i, strings.Join(append(text, fmt.Sprintf("unique%d", i)), " "))
		rows[i].CustomID = fmt.Sprintf("custom-%d", i%3)
		rows[i].Metadata = map[string]any{"parity": i%2 == 0, "bucket": float64(i % 10), "name": fmt.Sprintf("n%d", i)}
	}
	return rows
}

func (s *suite) searching() map[string]func(*testing.T) {
	return map[string]func(*testing.T){
		"both scores are exact for every hit, whichever leg found it": func(t *testing.T) {
			s.requireLexical(t)
			x, sp, rows := s.open(t), space(), corpus(300)
			mustWrite(t, x, sp, rows...)
			q := vector(12345)
			words := make(map[string]float64)
			for _, h := range mustSearch(t, x, sp, index.Query{Text: "glacier harbour", Limit: 300}).Hits {
				words[h.Key] = h.Lexical
			}
			r := mustSearch(t, x, sp, index.Query{Text: "glacier harbour", Vector: q, Limit: 20})
			if len(r.Hits) < 21 {
				t.Fatalf("the union of both legs has %d hits", len(r.Hits))
			}
			for _, h := range r.Hits {
				if !s.isClose(h.Lexical, words[h.Key]) {
					t.Errorf("row %s has the lexical score %v here and %v in a search by words", h.Key, h.Lexical, words[h.Key])
				}
				if want := cosine(q, vector(seedOf(h.DatasourceID, h.Generation, h.Ordinal))); !s.isClose(h.Dense, want) {
					t.Errorf("row %s has the dense score %v, want %v", h.Key, h.Dense, want)
				}
			}
		},
		"the dense leg finds the nearest rows": func(t *testing.T) {
			x, sp, rows := s.open(t), space(), corpus(500)
			mustWrite(t, x, sp, rows...)
			for seed := range uint64(5) {
				q := vector(1000 + seed)
				slices.SortFunc(rows, func(a, b index.Row) int { return cmp.Compare(cosine(q, b.Vector), cosine(q, a.Vector)) })
				var want []string
				for _, r := range rows[:10] {
					want = append(want, r.Key)
				}
				slices.Sort(want)
				if got := keys(mustSearch(t, x, sp, index.Query{Vector: q, Limit: 10}).Hits); !slices.Equal(got, want) {
					t.Errorf("nearest rows %v, want %v", got, want)
				}
			}
		},
		"a query without vector has dense scores of zero": func(t *testing.T) {
			s.requireLexical(t)
			x, sp := s.open(t), space()
			mustWrite(t, x, sp, corpus(20)...)
			for _, h := range mustSearch(t, x, sp, index.Query{Text: "mountain"}).Hits {
				if h.Dense != 0 {
					t.Errorf("row %s has dense score %v", h.Key, h.Dense)
				}
			}
		},
		"a query without text has lexical scores of zero": func(t *testing.T) {
			x, sp := s.open(t), space()
			mustWrite(t, x, sp, corpus(20)...)
			r := mustSearch(t, x, sp, index.Query{Vector: vector(1)})
			if len(r.Hits) != 10 {
				t.Errorf("%d hits, want 10", len(r.Hits))
			}
			for _, h := range r.Hits {
				if h.Lexical != 0 || len(h.Terms) != 0 {
					t.Errorf("row %s has lexical score %v and terms %v", h.Key, h.Lexical, h.Terms)
				}
			}
		},
		"a query of several words finds rows with any of them, the rarer word weighing more": func(t *testing.T) {
			s.requireLexical(t)
			x, sp := s.open(t), space()
			mustWrite(t, x, sp, row("ds", 1, 0, "common rare"), row("ds", 1, 1, "common other"), row("ds", 1, 2, "common words"), row("ds", 1, 3, "rare thing"), row("ds", 1, 4, "nothing else"))
			r := mustSearch(t, x, sp, index.Query{Text: "common rare"})
			if len(r.Hits) != 4 {
				t.Fatalf("hits %v, want four", keys(r.Hits))
			}
			both, common, rare := find(t, r.Hits, "ds:1:0"), find(t, r.Hits, "ds:1:1"), find(t, r.Hits, "ds:1:3")
			if !(both.Lexical > rare.Lexical && rare.Lexical > common.Lexical && common.Lexical > 0) {
				t.Errorf("scores: both %v, rare %v, common %v", both.Lexical, rare.Lexical, common.Lexical)
			}
			if !slices.Equal(slices.Sorted(slices.Values(both.Terms)), []string{"common", "rare"}) || !slices.Equal(common.Terms, []string{"common"}) {
				t.Errorf("terms: %v and %v", both.Terms, common.Terms)
			}
		},
		"a query that names a page prefers the rows on that page": func(t *testing.T) {
			s.requireLexical(t)
			x, sp := s.open(t), space()
			rows := []index.Row{row("ds", 1, 0, "the harbour"), row("ds", 1, 1, "the harbour"), row("ds", 1, 2, "the harbour"), row("ds", 1, 3, "the mountain on page 12")}
			for i := range 3 {
				rows[i].Page = 11 + i
			}
			mustWrite(t, x, sp, rows...)
			r := mustSearch(t, x, sp, index.Query{Text: "harbour on page 12"})
			first, named, other, text := find(t, r.Hits, "ds:1:0"), find(t, r.Hits, "ds:1:1"), find(t, r.Hits, "ds:1:2"), find(t, r.Hits, "ds:1:3")
			if named.Lexical < 1.5*first.Lexical || first.Lexical != other.Lexical || named.Length != first.Length {
				t.Errorf("the row on the page has score %v and length %d, the others %v and %v, length %d", named.Lexical, named.Length, first.Lexical, other.Lexical, first.Length)
			}
			if r.TermWeights["page 12"] == 0 || slices.Contains(text.Terms, "page 12") || !slices.Contains(named.Terms, "page 12") {
				t.Errorf("terms %v and %v, weights %v", named.Terms, text.Terms, r.TermWeights)
			}
			unnamed := mustSearch(t, x, sp, index.Query{Text: "harbour"})
			if a, b := find(t, unnamed.Hits, "ds:1:0"), find(t, unnamed.Hits, "ds:1:1"); a.Lexical != b.Lexical {
				t.Errorf("without a page in the query the scores are %v and %v", a.Lexical, b.Lexical)
			}
		},
		"hits say how often they have each word, inflected or in their context too, and how long they are": func(t *testing.T) {
			s.requireLexical(t)
			x, sp := s.open(t), space()
			titled := row("ds", 1, 0, "the river and the valley of the river")
			titled.Context = "rivers"
			mustWrite(t, x, sp, titled, row("ds", 1, 1, "a mountain and its rivers"), row("ds", 1, 2, "nothing else"))
			r := mustSearch(t, x, sp, index.Query{Text: "river valley", Vector: vector(1)})
			type has struct {
				river, valley, length int
			}
			for key, want := range map[string]has{"ds:1:0": {4, 1, 10}, "ds:1:1": {1, 0, 5}, "ds:1:2": {0, 0, 2}} {
				h := find(t, r.Hits, key)
				if len(h.Counts) != len(h.Terms) {
					t.Fatalf("row %s has %d counts of %d terms", key, len(h.Counts), len(h.Terms))
				}
				got := has{length: h.Length}
				for i, term := range h.Terms {
					if term == "river" {
						got.river = h.Counts[i]
					} else {
						got.valley = h.Counts[i]
					}
				}
				if got != want {
					t.Errorf("row %s has %+v, want %+v", key, got, want)
				}
			}
		},
		"no score exceeds the highest possible one, and weights name every query term": func(t *testing.T) {
			s.requireLexical(t)
			x, sp := s.open(t), space()
			mustWrite(t, x, sp, corpus(100)...)
			r := mustSearch(t, x, sp, index.Query{Text: "river canyon unheardof", Limit: 100})
			for _, h := range r.Hits {
				if h.Lexical > r.MaxLexical {
					t.Errorf("row %s scores %v, more than %v", h.Key, h.Lexical, r.MaxLexical)
				}
				for _, term := range h.Terms {
					if _, ok := r.TermWeights[term]; !ok {
						t.Errorf("the term %q of a hit has no weight", term)
					}
				}
			}
			if len(r.TermWeights) != 3 {
				t.Fatalf("weights %v, want three", r.TermWeights)
			}
			highest := slices.MaxFunc(slices.Collect(maps.Keys(r.TermWeights)), func(a, b string) int { return cmp.Compare(r.TermWeights[a], r.TermWeights[b]) })
			if !strings.HasPrefix(highest, "unheard") {
				t.Errorf("%q has the highest weight: %v", highest, r.TermWeights)
			}
		},
		"a word that the query repeats weighs more": func(t *testing.T) {
			s.requireLexical(t)
			x, sp := s.open(t), space()
			mustWrite(t, x, sp, row("ds", 1, 0, "The river is wide."), row("ds", 1, 1, "The valley is wide."))
			once := mustSearch(t, x, sp, index.Query{Text: "river valley"})
			r := mustSearch(t, x, sp, index.Query{Text: "river valley and rivers"})
			river, valley := find(t, r.Hits, "ds:1:0").Lexical, find(t, r.Hits, "ds:1:1").Lexical
			if want := find(t, once.Hits, "ds:1:0").Lexical * bm25.Repeated(2); !s.isNear(river, want) || !s.isNear(valley, want/bm25.Repeated(2)) {
				t.Errorf("the scores are %v and %v, want %v and %v", river, valley, want, want/bm25.Repeated(2))
			}
			if highest := (r.TermWeights["river"] + r.TermWeights["valley"]) * bm25.Ceiling; !s.isNear(r.MaxLexical, highest) {
				t.Errorf("the highest possible score is %v, want %v", r.MaxLexical, highest)
			}
		},
		"the context is searched with the text and weighs in": func(t *testing.T) {
			s.requireLexical(t)
			x, sp := s.open(t), space()
			with := row("ds", 1, 0, "The procedure takes ten minutes.")
			with.Context = "Calibration manual"
			mustWrite(t, x, sp, with, row("ds", 1, 1, "The walk takes ten minutes."))
			r := mustSearch(t, x, sp, index.Query{Text: "calibration minutes"})
			if a, b := find(t, r.Hits, "ds:1:0"), find(t, r.Hits, "ds:1:1"); a.Lexical <= b.Lexical {
				t.Errorf("with the word in its context %v, without %v", a.Lexical, b.Lexical)
			}
		},
		"words are found across inflections and scripts": func(t *testing.T) {
			s.requireLexical(t)
			x, sp := s.open(t), space()
			mustWrite(t, x, sp,
				row("ds", 1, 0, "The houses were built by several generations of builders."),
				row("ds", 1, 1, "東京都は日本の首都である。"),
				row("ds", 1, 2, "Модель AX-200 весит три килограмма и стоит недорого."),
				row("ds", 1, 3, "El niño comió la manzana en la cocina de su abuela."),
			)
			for text, want := range map[string]string{"house": "ds:1:0", "首都": "ds:1:1", "AX200": "ds:1:2", "килограмм": "ds:1:2", "nino": "ds:1:3", "building houses": "ds:1:0"} {
				r := mustSearch(t, x, sp, index.Query{Text: text})
				if len(r.Hits) == 0 || slices.MaxFunc(r.Hits, func(a, b index.Hit) int { return cmp.Compare(a.Lexical, b.Lexical) }).Key != want {
					t.Errorf("query %q finds %v, want %s first", text, keys(r.Hits), want)
				}
			}
		},
		"odd queries find nothing wrong and do not fail": func(t *testing.T) {
			s.requireLexical(t)
			x, sp := s.open(t), space()
			mustWrite(t, x, sp, corpus(50)...)
			for name, text := range oddTexts() {
				if _, err := x.Search(t.Context(), sp, index.Query{Text: text, Limit: 5}); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		},
		"a space that does not exist holds and finds nothing": func(t *testing.T) {
			x, sp := s.open(t), space()
			if r := mustSearch(t, x, sp, index.Query{Text: "word", Vector: vector(1)}); len(r.Hits) != 0 {
				t.Errorf("hits %v", keys(r.Hits))
			}
			if rows := mustRows(t, x, sp, "ds", 1); len(rows) != 0 {
				t.Errorf("%d rows", len(rows))
			}
			if st := mustStored(t, x, sp); len(st) != 0 {
				t.Errorf("stored %v", st)
			}
		},
		"a space without vectors is searched by words": func(t *testing.T) {
			s.requireLexical(t)
			x, sp := s.open(t), space()
			sp.Dimensions = 0
			r := row("ds", 1, 0, "only words here")
			r.Vector = nil
			mustWrite(t, x, sp, r)
			if res := mustSearch(t, x, sp, index.Query{Text: "words"}); len(res.Hits) != 1 {
				t.Errorf("hits %+v", res.Hits)
			}
		},
		"scores do not depend on rows that were deleted or replaced": func(t *testing.T) {
			s.requireLexical(t)
			x, a, b := s.open(t), space(), space()
			rows := corpus(60)
			mustWrite(t, x, a, rows...)
			for i := range rows {
				old := rows[i]
				old.Text = "river river canyon"
				mustWrite(t, x, b, old)
			}
			mustWrite(t, x, b, row("gone", 1, 0, "river desert"))
			mustWrite(t, x, b, rows...)
			mustDelete(t, x, b, index.Generations{DatasourceID: "gone", Below: 2})
			want := mustSearch(t, x, a, index.Query{Text: "river canyon desert", Limit: 100})
			got := mustSearch(t, x, b, index.Query{Text: "river canyon desert", Limit: 100})
			if !slices.Equal(keys(got.Hits), keys(want.Hits)) || !s.isClose(got.MaxLexical, want.MaxLexical) {
				t.Fatalf("hits %v with maximum %v, want %v with %v", keys(got.Hits), got.MaxLexical, keys(want.Hits), want.MaxLexical)
			}
			for _, h := range want.Hits {
				if g := find(t, got.Hits, h.Key); !s.isClose(g.Lexical, h.Lexical) {
					t.Errorf("row %s scores %v, want %v", h.Key, g.Lexical, h.Lexical)
				}
			}
		},
	}
}
