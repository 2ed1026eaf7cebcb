package indextest

import (
	"slices"
	"testing"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/index"
)

// vehicles returns the rows for the synonym tests. Their keys are "ds:1:" plus the index.
func vehicles() []index.Row {
	texts := []string{
		"the car stands outside", "the automobile stands outside", "a motor vehicle stands outside", "a motor runs in the garage",
		"the vehicle without any engine", "a boat stands outside", "new york has hotels", "ny has hotels", "the old york has hotels",
	}
	rows := make([]index.Row, len(texts))
	for i, text := range texts {
		rows[i] = row("ds", 1, i, text)
	}
	return rows
}

// synonyms returns the tests for queries with rules.
func (s *suite) synonyms() map[string]func(*testing.T) {
	rules := analysis.NewRules([]analysis.Synonym{
		{From: "car", To: []string{"automobile", "motor vehicle"}},
		{From: "new york", To: []string{"ny"}}, {From: "ny", To: []string{"new york"}},
		{From: "it", To: []string{"boat"}},
	}, []string{"hotels"}, []string{"without"})
	return map[string]func(*testing.T){
		"synonyms are found, below the word of the query": func(t *testing.T) {
			s.requireLexical(t)
			x, sp := s.open(t), space()
			mustWrite(t, x, sp, vehicles()...)
			for name, c := range map[string]struct {
				text string
				rows []string // best first; ties by key
			}{
				"a word, and a phrase with all its words": {"cars", []string{"ds:1:0", "ds:1:1", "ds:1:2"}},
				"a phrase":              {"New York", []string{"ds:1:6", "ds:1:7", "ds:1:8"}},
				"a word for a phrase":   {"ny", []string{"ds:1:7", "ds:1:6"}},
				"one way":               {"automobile", []string{"ds:1:1"}},
				"a word of the phrase":  {"motor", []string{"ds:1:2", "ds:1:3"}},
				"a function word":       {"it floats", []string{"ds:1:5"}},
				"a stop word":           {"boat hotels", []string{"ds:1:5"}},
				"a function word, kept": {"engine without", []string{"ds:1:4"}},
			} {
				r := mustSearch(t, x, sp, index.Query{Text: c.text, Rules: rules})
				hits := slices.Clone(r.Hits)
				slices.SortStableFunc(hits, func(a, b index.Hit) int {
					switch {
					case s.isClose(a.Lexical, b.Lexical):
						return slices.Compare([]string{a.Key}, []string{b.Key})
					case a.Lexical > b.Lexical:
						return -1
					}
					return 1
				})
				var got []string
				for _, h := range hits {
					got = append(got, h.Key)
					if h.Lexical > r.MaxLexical || len(h.Terms) != len(h.Counts) || slices.Contains(h.Counts, 0) {
						t.Errorf("%s: the hit %s has the score %v of %v, terms %v and counts %v", name, h.Key, h.Lexical, r.MaxLexical, h.Terms, h.Counts)
					}
				}
				if !slices.Equal(got, c.rows) {
					t.Errorf("%s: %q finds %v, want %v", name, c.text, got, c.rows)
				}
			}
		},
		"without rules, or after they changed, queries are as before": func(t *testing.T) {
			s.requireLexical(t)
			x, sp := s.open(t), space()
			mustWrite(t, x, sp, vehicles()...)
			for range 2 {
				if got := keys(mustSearch(t, x, sp, index.Query{Text: "car"}).Hits); !slices.Equal(got, []string{"ds:1:0"}) {
					t.Errorf("without rules: %v", got)
				}
				if got := keys(mustSearch(t, x, sp, index.Query{Text: "car", Rules: rules}).Hits); len(got) != 3 {
					t.Errorf("with rules: %v", got)
				}
				other := analysis.NewRules([]analysis.Synonym{{From: "car", To: []string{"boat"}}}, nil, nil)
				if got := keys(mustSearch(t, x, sp, index.Query{Text: "car", Rules: other}).Hits); !slices.Equal(got, []string{"ds:1:0", "ds:1:5"}) {
					t.Errorf("with other rules: %v", got)
				}
			}
			mustDelete(t, x, sp, index.Generations{DatasourceID: "ds", Below: 2})
			mustWrite(t, x, sp, row("ds", 3, 0, "an automobile"))
			if got := keys(mustSearch(t, x, sp, index.Query{Text: "car", Rules: rules}).Hits); !slices.Equal(got, []string{"ds:3:0"}) {
				t.Errorf("after a change of the rows: %v", got)
			}
			if r := mustSearch(t, x, space(), index.Query{Text: "car", Rules: rules}); len(r.Hits) != 0 {
				t.Errorf("an empty space has %v", r.Hits)
			}
		},
	}
}
