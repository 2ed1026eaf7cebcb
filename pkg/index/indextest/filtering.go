package indextest

import (
	"cmp"
	"errors"
	"slices"
	"testing"

	"github.com/sluice/sluice/pkg/index"
)

func (s *suite) filtering() map[string]func(*testing.T) {
	return map[string]func(*testing.T){
		"filters are exact at any selectivity": func(t *testing.T) {
			x, sp, rows := s.open(t), space(), corpus(s.opts.Rows)
			mustWrite(t, x, sp, rows...)
			for name, c := range map[string]struct {
				filter index.Filter
				want   func(index.Row) bool
			}{
				"one row":               {index.Filter{Metadata: map[string]any{"name": "n17"}}, func(r index.Row) bool { return r.Ordinal == 17 }},
				"no row":                {index.Filter{Metadata: map[string]any{"name": "absent"}}, func(index.Row) bool { return false }},
				"a key that no row has": {index.Filter{Metadata: map[string]any{"absent": "n17"}}, func(index.Row) bool { return false }},
				"all rows":              {index.Filter{CustomIDs: []string{"custom-0", "custom-1", "custom-2"}}, func(index.Row) bool { return true }},
				"no filter":             {index.Filter{}, func(index.Row) bool { return true }},
				"half by a boolean":     {index.Filter{Metadata: map[string]any{"parity": true}}, func(r index.Row) bool { return r.Ordinal%2 == 0 }},
				"a tenth by a number":   {index.Filter{Metadata: map[string]any{"bucket": 3}}, func(r index.Row) bool { return r.Ordinal%10 == 3 }},
				"one datasource":        {index.Filter{DatasourceIDs: []string{"ds-4"}}, func(r index.Row) bool { return r.Ordinal%7 == 4 }},
				"two datasources":       {index.Filter{DatasourceIDs: []string{"ds-4", "ds-5"}}, func(r index.Row) bool { return r.Ordinal%7 == 4 || r.Ordinal%7 == 5 }},
				"fields must all match": {index.Filter{DatasourceIDs: []string{"ds-1"}, CustomIDs: []string{"custom-2"}, Metadata: map[string]any{"parity": false, "bucket": 1.0}},
					func(r index.Row) bool { return r.Ordinal%7 == 1 && r.Ordinal%3 == 2 && r.Ordinal%10 == 1 }},
				"an empty list of datasources":     {index.Filter{DatasourceIDs: []string{}}, func(index.Row) bool { return false }},
				"an empty list of custom ids":      {index.Filter{CustomIDs: []string{}}, func(index.Row) bool { return false }},
				"a string is not a number":         {index.Filter{Metadata: map[string]any{"bucket": "3"}}, func(index.Row) bool { return false }},
				"a string is not a boolean":        {index.Filter{Metadata: map[string]any{"parity": "true"}}, func(index.Row) bool { return false }},
				"quotes are taken as they are":     {index.Filter{Metadata: map[string]any{"name": `n17" or "1"=="1`}}, func(index.Row) bool { return false }},
				"backslashes are taken as written": {index.Filter{CustomIDs: []string{`custom-0\`, `' or 1=1 --`}}, func(index.Row) bool { return false }},
			} {
				var want []string
				for _, r := range rows {
					if c.want(r) {
						want = append(want, r.Key)
					}
				}
				slices.Sort(want)
				q := index.Query{Vector: vector(5), Limit: 10_000, Filter: c.filter}
				if got := keys(mustSearch(t, x, sp, q).Hits); !slices.Equal(got, want) {
					t.Errorf("%s by vector: %d hits, want %d", name, len(got), len(want))
				}
				if s.opts.DenseOnly {
					continue
				}
				q = index.Query{Text: "river", Limit: 10_000, Filter: c.filter} // a word in every row
				if got := keys(mustSearch(t, x, sp, q).Hits); !slices.Equal(got, want) {
					t.Errorf("%s by words: %d hits, want %d", name, len(got), len(want))
				}
			}
		},
		"a filter changes no score": func(t *testing.T) {
			s.requireLexical(t)
			x, sp := s.open(t), space()
			mustWrite(t, x, sp, corpus(200)...)
			all := mustSearch(t, x, sp, index.Query{Text: "glacier river", Limit: 200})
			some := mustSearch(t, x, sp, index.Query{Text: "glacier river", Limit: 200, Filter: index.Filter{DatasourceIDs: []string{"ds-2"}}})
			if len(some.Hits) == 0 || some.MaxLexical != all.MaxLexical {
				t.Errorf("got %d hits with a maximum score of %v; the maximum without the filter is %v", len(some.Hits), some.MaxLexical, all.MaxLexical)
			}
			for _, h := range some.Hits {
				if want := find(t, all.Hits, h.Key); !s.isClose(h.Lexical, want.Lexical) {
					t.Errorf("row %s scores %v under the filter, %v without", h.Key, h.Lexical, want.Lexical)
				}
			}
		},
		"a filtered search returns the best of what matches, not matches among the best": func(t *testing.T) {
			x, sp, rows := s.open(t), space(), corpus(500)
			mustWrite(t, x, sp, rows...)
			q := vector(77)
			slices.SortFunc(rows, func(a, b index.Row) int { return cmp.Compare(cosine(q, b.Vector), cosine(q, a.Vector)) })
			worst := rows[len(rows)-1]
			r := mustSearch(t, x, sp, index.Query{Vector: q, Limit: 1, Filter: index.Filter{Metadata: map[string]any{"name": worst.Metadata["name"]}}})
			if len(r.Hits) != 1 || r.Hits[0].Key != worst.Key {
				t.Errorf("hits %v, want %s", keys(r.Hits), worst.Key)
			}
		},
		"replaced metadata is filtered by its new values only": func(t *testing.T) {
			x, sp := s.open(t), space()
			r := row("ds", 1, 0, "text")
			r.Metadata = map[string]any{"colour": "red"}
			mustWrite(t, x, sp, r)
			r.Metadata = map[string]any{"colour": "blue"}
			mustWrite(t, x, sp, r)
			for colour, want := range map[string]int{"red": 0, "blue": 1} {
				q := index.Query{Vector: vector(1), Limit: 5, Filter: index.Filter{Metadata: map[string]any{"colour": colour}}}
				if got := mustSearch(t, x, sp, q).Hits; len(got) != want {
					t.Errorf("%s: %d hits, want %d", colour, len(got), want)
				}
			}
		},
		"a filter value that is no string, number or boolean is refused": func(t *testing.T) {
			x, sp := s.open(t), space()
			_, err := x.Search(t.Context(), sp, index.Query{Text: "x", Limit: 1, Filter: index.Filter{Metadata: map[string]any{"a": map[string]any{}}}})
			if !errors.Is(err, index.ErrInvalid) {
				t.Errorf("error %v, want ErrInvalid", err)
			}
		},
	}
}
