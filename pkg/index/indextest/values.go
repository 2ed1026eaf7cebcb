package indextest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/index"
)

// oddValues returns metadata values that engines might confuse or reject, one per row.
func oddValues() []any {
	long := strings.Repeat("long ", 6000)
	return []any{
		"", " ", "plain", "Plain", "plain ", "1", "1.0", "true", "null", "01", `"quoted"`, `back\slash`, `it's`, "%", "_", "a\nb", "a\x00b", "\x01m", `{"a":1}`,
		"Grüße", "Gru\u0308ße", "日本語", "🙂", "\u200f\u05d0", "%s' OR '1'='1", `" or "1"=="1`, "array_contains(x, 1)", long, long + "!",
		0, 1, -1, 2.5, 1e300, 5e-324, 9007199254740991, true, false,
	}
}

// values returns the tests for equality of metadata values in filters.
func (s *suite) values() map[string]func(*testing.T) {
	return map[string]func(*testing.T){
		"each value matches itself and no other, whatever it holds": func(t *testing.T) {
			x, sp := s.open(t), space()
			var rows []index.Row
			for i, v := range oddValues() {
				r := row("ds", 1, i, "text")
				r.Metadata = map[string]any{"value": v, "other": "plain"}
				rows = append(rows, r)
			}
			mustWrite(t, x, sp, rows...)
			for i, v := range oddValues() {
				s.checkFilter(t, x, sp, fmt.Sprintf("%.40q", fmt.Sprint(v)), index.Filter{Metadata: map[string]any{"value": v}}, rows[i].Key)
			}
			s.checkFilter(t, x, sp, "all of them as alternatives", index.Filter{Metadata: map[string]any{"value": oddValues()}}, keysOf(rows)...)
		},
		"a number is the same whatever type holds it": func(t *testing.T) {
			x, sp := s.open(t), space()
			whole, part := row("ds", 1, 0, "text"), row("ds", 1, 1, "text")
			whole.Metadata, part.Metadata = map[string]any{"n": 3}, map[string]any{"n": 0.5}
			mustWrite(t, x, sp, whole, part)
			for _, v := range []any{3, int64(3), uint8(3), 3.0, float32(3), json.Number("3"), json.Number("3.0"), json.Number("3e0")} {
				s.checkFilter(t, x, sp, fmt.Sprintf("%T", v), index.Filter{Metadata: map[string]any{"n": v}}, whole.Key)
			}
			s.checkFilter(t, x, sp, "float32", index.Filter{Metadata: map[string]any{"n": float32(0.5)}}, part.Key)
		},
		"values of a filter are alternatives, and so are those of a row": func(t *testing.T) {
			x, sp := s.open(t), space()
			var rows []index.Row
			for i, tags := range []any{[]any{"red", "green"}, []string{"green", "blue"}, "green", []any{1, true, nil}, []any{}, nil} {
				r := row("ds", 1, i, "text")
				r.Metadata = map[string]any{"tags": tags, "ordinal": i}
				rows = append(rows, r)
			}
			mustWrite(t, x, sp, rows...)
			for name, c := range map[string]struct {
				tags any
				want []string
			}{
				"a value that lists and a scalar have": {"green", []string{"ds:1:0", "ds:1:1", "ds:1:2"}},
				"a value that one list has":            {"red", []string{"ds:1:0"}},
				"any of several":                       {[]any{"red", "blue"}, []string{"ds:1:0", "ds:1:1"}},
				"any of several strings":               {[]string{"red", "blue"}, []string{"ds:1:0", "ds:1:1"}},
				"of several types":                     {[]any{"red", 1.0}, []string{"ds:1:0", "ds:1:3"}},
				"the same several times":               {[]any{"red", "red"}, []string{"ds:1:0"}},
				"true":                                 {true, []string{"ds:1:3"}},
				"none":                                 {[]any{}, nil},
			} {
				s.checkFilter(t, x, sp, name, index.Filter{Metadata: map[string]any{"tags": c.tags}}, c.want...)
			}
			s.checkFilter(t, x, sp, "two fields", index.Filter{Metadata: map[string]any{"tags": "green", "ordinal": []any{1, 2, 3}}}, "ds:1:1", "ds:1:2")
		},
		"what an object of the metadata holds is found under both keys": func(t *testing.T) {
			x, sp := s.open(t), space()
			a, b := row("ds", 1, 0, "text"), row("ds", 1, 1, "text")
			a.Metadata = map[string]any{"language": "en", "document": map[string]any{"language": "de", "author": []any{"Ada", "Alan"}}}
			b.Metadata = map[string]any{"document": map[string]any{"language": "en"}}
			mustWrite(t, x, sp, a, b)
			for key, c := range map[string]struct {
				value any
				want  []string
			}{"document.language": {"en", []string{b.Key}}, "language": {"en", []string{a.Key}}, "document.author": {"Alan", []string{a.Key}}, "document": {"de", nil}} {
				s.checkFilter(t, x, sp, key, index.Filter{Metadata: map[string]any{key: c.value}}, c.want...)
			}
		},
		"thousands of alternatives are taken": func(t *testing.T) {
			x, sp := s.open(t), space()
			var rows []index.Row
			for i := range 60 {
				r := row(fmt.Sprintf("ds-%d", i), 1, i, "text")
				r.CustomID, r.Metadata = fmt.Sprintf("custom %d", i), map[string]any{"n": i}
				rows = append(rows, r)
			}
			mustWrite(t, x, sp, rows...)
			const many = 12_000
			var sources, customs []string
			var numbers []any
			for i := range many {
				sources, customs, numbers = append(sources, fmt.Sprintf("ds-%d", i+10)), append(customs, fmt.Sprintf("custom %d", i+20)), append(numbers, i+30)
			}
			s.checkFilter(t, x, sp, "datasources", index.Filter{DatasourceIDs: sources}, keysOf(rows[10:])...)
			s.checkFilter(t, x, sp, "custom ids", index.Filter{CustomIDs: customs}, keysOf(rows[20:])...)
			s.checkFilter(t, x, sp, "metadata", index.Filter{Metadata: map[string]any{"n": numbers}}, keysOf(rows[30:])...)
			s.checkFilter(t, x, sp, "all of it", index.Filter{DatasourceIDs: sources, CustomIDs: customs, Metadata: map[string]any{"n": numbers}}, keysOf(rows[30:])...)
		},
	}
}

// checkFilter checks which rows pass a filter.
func (s *suite) checkFilter(t *testing.T, x index.Index, sp index.Space, name string, f index.Filter, want ...string) {
	t.Helper()
	slices.Sort(want)
	if got := keys(mustSearch(t, x, sp, index.Query{Vector: vector(3), Limit: 1000, Filter: f}).Hits); !slices.Equal(got, want) {
		t.Errorf("%s: rows %v pass, want %v", name, got, want)
	}
}

func keysOf(rows []index.Row) []string {
	var out []string
	for _, r := range rows {
		out = append(out, r.Key)
	}
	return out
}
