package indextest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/filter"
	"github.com/sluice/sluice/pkg/index"
)

// EnvFilters is the environment variable that sets how many random filters the suite evaluates.
const EnvFilters = "TEST_FILTERS"

func filterCount(t *testing.T, otherwise int) int {
	t.Helper()
	text := os.Getenv(EnvFilters)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q: must be a positive number", EnvFilters, text)
	}
	return n
}

// random generates metadata and filters from few keys and values, so that many filters match.
type random struct{ *rand.Rand }

// pools lists each metadata key's possible values. Most keys have values of only one type.
var pools = map[string][]any{
	"team":                          {"docs", "Docs", "ops", "do", "", "ops team", "日本", "é", "e\u0301"},
	"year":                          {2024, 2025, 2026, 2025.5, -1, 0, 1e21, 9007199254740991},
	"open":                          {true, false},
	"tags":                          {"red", "green", "rose", `r"ed`, `back\slash`, "per%cent", "un_der"},
	"day":                           {"2026-03-01", "2026-03-01T01:30:00+02:00", "2026-02-28T23:30:00Z", "2025-12-31T23:59:59.5Z", "2026-03-01T00:00:00", "0001-01-01", "9999-12-31"},
	"place.floor":                   {1, 2, 3},
	`quoted"] key'`:                 {"a", "b"},
	"mixed":                         {1, "1", true},
	"words":                         {"2026-03-01", "spring", "2026"},
	"url":                           {"https://example.com/" + strings.Repeat("a/", 80), "https://example.com/" + strings.Repeat("a/", 79) + "b/", "https://example.com/", "https://example.com/" + strings.Repeat("x", 600)},
	strings.Repeat("long key ", 20): {1, 2, "x", "2026-03-01"},
	"absent":                        {"x", 1},
}

var (
	poolKeys = slices.Sorted(func(yield func(string) bool) {
		for key := range pools {
			if !yield(key) {
				return
			}
		}
	})
	listKeys = []string{"tags", "year", "day", "url", "words"}
)

func (g random) from(list []any) any { return list[g.IntN(len(list))] }

func (g random) metadata() map[string]any {
	out := map[string]any{}
	for _, key := range poolKeys {
		switch {
		case key == "absent" || g.IntN(3) == 0:
		case key == "place.floor":
			out["place"] = map[string]any{"floor": g.from(pools[key])}
		case slices.Contains(listKeys, key) && g.IntN(2) == 0:
			list := make([]any, g.IntN(4))
			for i := range list {
				list[i] = g.from(pools[key])
			}
			out[key] = list
		default:
			out[key] = g.from(pools[key])
		}
	}
	return out
}

// filter returns a random filter as decoded JSON. The filter may be invalid.
func (g random) filter(depth int) map[string]any {
	if depth > 0 && g.IntN(3) > 0 {
		op := []filter.Op{filter.And, filter.Or, filter.Not}[g.IntN(3)]
		if op == filter.Not {
			return map[string]any{"type": "not", "filter": g.filter(depth - 1)}
		}
		list := make([]any, 1+g.IntN(3))
		for i := range list {
			list[i] = g.filter(depth - 1)
		}
		return map[string]any{"type": string(op), "filters": list}
	}
	key := poolKeys[g.IntN(len(poolKeys))]
	if g.IntN(2) == 0 { // because keys with mixed types cause errors
		key = []string{"team", "year", "open", "tags", "day", "url", "place.floor"}[g.IntN(7)]
	}
	values := pools[key]
	if g.IntN(40) == 0 {
		values = pools[poolKeys[g.IntN(len(poolKeys))]]
	}
	op := filter.Ops[g.IntN(11)] // only conditions
	out := map[string]any{"type": string(op), "key": key}
	switch {
	case op == filter.Exists:
		out["value"] = g.IntN(2) == 0
	case op == filter.In || op == filter.Nin || op == filter.Contains && g.IntN(2) == 0:
		list := make([]any, 1+g.IntN(3))
		for i := range list {
			list[i] = g.from(values)
		}
		out["value"] = list
	case op == filter.Prefix:
		text := fmt.Sprint(g.from(values))
		runes := []rune(text)
		out["value"] = string(runes[:min(len(runes), 1+g.IntN(len(runes)+1))])
	default:
		out["value"] = g.from(values)
	}
	return out
}

// parsed returns a random valid filter.
func (g random) parsed() *filter.Filter {
	for {
		data, err := json.Marshal(g.filter(g.IntN(4)))
		if err != nil {
			panic(err) // unreachable: every value is encodable
		}
		if f, faults := filter.ParseJSON(data, "filters"); len(faults) == 0 {
			return f
		}
	}
}

// oracle evaluates filters by scanning all rows.
type oracle struct {
	rows   []index.Row
	values []func(string) []filter.Value
}

func newOracle(rows []index.Row) oracle {
	o := oracle{rows: rows}
	for _, r := range rows {
		o.values = append(o.values, index.Values(r.Metadata))
	}
	return o
}

// matching returns the sorted keys of the rows that match the filter. If a condition can't be compared with some row's
// value, matching returns only the metadata keys of such conditions, in `conflicts`.
func (o oracle) matching(f *filter.Filter) (keys, conflicts []string) {
	for c := range f.Conditions() {
		var have filter.Kind
		for _, values := range o.values {
			for _, v := range values(c.Key) {
				have |= v.Kind()
			}
		}
		if c.Conflict(have) != nil {
			conflicts = append(conflicts, c.Key)
		}
	}
	if conflicts != nil {
		return nil, conflicts
	}
	for i, values := range o.values {
		if f.Matches(values) {
			keys = append(keys, o.rows[i].Key)
		}
	}
	slices.Sort(keys)
	return keys, nil
}

// check compares a search's hits with the oracle's. It returns how many rows match, or -1 if the search failed as
// expected.
func (o oracle) check(t *testing.T, x index.Index, sp index.Space, f *filter.Filter) int {
	t.Helper()
	n, err := o.compare(t.Context(), x, sp, f)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// compare is like check but returns differences as an error, so goroutines can call it.
func (o oracle) compare(ctx context.Context, x index.Index, sp index.Space, f *filter.Filter) (int, error) {
	want, conflicts := o.matching(f)
	r, err := x.Search(ctx, sp, index.Query{Vector: vector(3), Limit: len(o.rows), Filter: index.Filter{Where: f}})
	if fault := filter.AsError(err); err != nil && fault == nil || (fault != nil) != (conflicts != nil) || fault != nil && !slices.Contains(conflicts, fault.Key) {
		return 0, fmt.Errorf("%s: error %q, want one of the keys %q", f, fmt.Sprint(err), conflicts)
	}
	if err != nil {
		return -1, nil
	}
	got := keys(r.Hits)
	r.Release()
	if diff := cmp.Diff(want, got); diff != "" {
		return 0, fmt.Errorf("%s: rows (-want +got):\n%s", f, diff)
	}
	return len(want), nil
}

func (s *suite) where() map[string]func(*testing.T) {
	parse := func(t *testing.T, text string) *filter.Filter {
		t.Helper()
		f, faults := filter.ParseJSON([]byte(text), "filters")
		if len(faults) > 0 {
			t.Fatalf("%s: %v", text, faults)
		}
		return f
	}
	return map[string]func(*testing.T){
		"random filters agree with a scan of all rows": func(t *testing.T) {
			x, sp := s.open(t), space()
			g := random{rand.New(rand.NewPCG(33, 8))}
			var rows []index.Row
			for i := range 80 {
				r := row(fmt.Sprint("ds-", i%9), 1, i, "text")
				r.Metadata = g.metadata()
				rows = append(rows, r)
			}
			mustWrite(t, x, sp, rows...)
			o := newOracle(rows)
			n := filterCount(t, 300)
			filters := make(chan *filter.Filter)
			var many, refusals atomic.Int64
			var searching sync.WaitGroup
			for range 8 { // a search of a Milvus server mostly waits
				searching.Go(func() {
					for f := range filters {
						switch got, err := o.compare(t.Context(), x, sp, f); {
						case err != nil:
							t.Error(err)
						case got < 0:
							refusals.Add(1)
						case got > 0 && got < len(rows):
							many.Add(1)
						}
					}
				})
			}
			for i := 0; i < n && !t.Failed(); i++ {
				filters <- g.parsed()
			}
			close(filters)
			searching.Wait()
			matched, refused := int(many.Load()), int(refusals.Load())
			if matched < n/5 || refused < n/50 {
				t.Errorf("of %d filters, %d match some rows and %d are refused: they tell little", n, matched, refused)
			}
			t.Logf("of %d filters, %d match some rows and %d are refused", n, matched, refused)
		},
		"only existing rows determine the types of a key": func(t *testing.T) {
			x, sp := s.open(t), space()
			old, current := row("ds", 1, 0, "text"), row("ds", 2, 0, "text")
			old.Metadata, current.Metadata = map[string]any{"year": "2025"}, map[string]any{"year": 2026}
			mustWrite(t, x, sp, old, current)
			f := parse(t, `{"type":"gte","key":"year","value":2026}`)
			newOracle([]index.Row{old, current}).check(t, x, sp, f)
			mustDelete(t, x, sp, index.Generations{DatasourceID: "ds", Below: 2})
			if n := newOracle([]index.Row{current}).check(t, x, sp, f); n != 1 {
				t.Errorf("%d rows match", n)
			}
		},
		"a filter applies in addition to the other fields": func(t *testing.T) {
			x, sp := s.open(t), space()
			var rows []index.Row
			for i := range 20 {
				r := row(fmt.Sprint("ds-", i%4), 1, i, "text")
				r.Metadata = map[string]any{"n": i, "parity": i % 2}
				rows = append(rows, r)
			}
			mustWrite(t, x, sp, rows...)
			s.checkFilter(t, x, sp, "all fields", index.Filter{
				DatasourceIDs: []string{"ds-1", "ds-2"}, Metadata: map[string]any{"parity": 1}, Where: parse(t, `{"type":"gt","key":"n","value":8}`),
			}, "ds-1:1:9", "ds-1:1:13", "ds-1:1:17")
		},
		"properties need rows that have them": func(t *testing.T) {
			x, sp := s.open(t), space()
			described, plain := row("ds", 1, 0, "text"), row("ds", 1, 1, "text")
			described.Metadata = map[string]any{filter.PropertyID: "ds", filter.PropertyType: "file"}
			mustWrite(t, x, sp, described)
			f := parse(t, `{"type":"eq","key":"datasource.type","value":"file"}`)
			s.checkFilter(t, x, sp, "a property", index.Filter{Where: f}, described.Key)
			mustWrite(t, x, sp, plain)
			_, err := x.Search(t.Context(), sp, index.Query{Vector: vector(1), Limit: 1, Filter: index.Filter{Where: f}})
			if fault := filter.AsError(err); fault == nil || !fault.Stale || fault.Key != filter.PropertyType || !strings.Contains(fault.Message, "sluice replay --datastore "+sp.DatastoreID) {
				t.Errorf("error %v, want one that says to replay", err)
			}
		},
		"a missing space matches nothing": func(t *testing.T) {
			r := mustSearch(t, s.open(t), space(), index.Query{Vector: vector(1), Filter: index.Filter{Where: parse(t, `{"type":"gt","key":"k","value":1}`)}})
			if len(r.Hits) > 0 {
				t.Errorf("%d hits", len(r.Hits))
			}
		},
		"values are counted by document": func(t *testing.T) {
			x, sp := s.open(t), space()
			g := random{rand.New(rand.NewPCG(33, 9))}
			var rows, first []index.Row
			for i := range 60 {
				metadata := g.metadata()
				for ordinal := range 1 + i%3 {
					r := row(fmt.Sprint("ds-", i), uint64(1+i%2), ordinal, "text")
					r.Metadata = metadata
					if rows = append(rows, r); ordinal == 0 {
						first = append(first, r)
					}
				}
			}
			mustWrite(t, x, sp, rows...)
			active := func(_ context.Context, documents []index.Document) ([]bool, error) {
				out := make([]bool, len(documents))
				for i, d := range documents {
					out[i] = d.Generation == 1
				}
				return out, nil
			}
			for _, text := range []string{`null`, `{"type":"eq","key":"open","value":true}`, `{"type":"gte","key":"year","value":2025}`, `{"type":"exists","key":"absent"}`} {
				f := parse(t, text)
				want := index.Counts{ByKey: map[string]map[filter.Value]int{}}
				for _, key := range poolKeys {
					want.ByKey[key] = map[filter.Value]int{}
				}
				for _, r := range first {
					values := index.Values(r.Metadata)
					if r.Generation != 1 || !f.Matches(values) {
						continue
					}
					want.Documents++
					for _, key := range poolKeys {
						seen := map[filter.Value]bool{}
						for _, v := range values(key) {
							if v = index.Counted(v); !seen[v] {
								want.ByKey[key][v]++
							}
							seen[v] = true
						}
					}
				}
				got, err := x.CountValues(t.Context(), sp, index.CountQuery{Filter: index.Filter{Where: f}, Keys: poolKeys, Active: active})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, got, cmp.AllowUnexported(filter.Value{})); diff != "" {
					t.Errorf("%s (-want +got):\n%s", text, diff)
				}
			}
			_, err := x.CountValues(t.Context(), sp, index.CountQuery{Filter: index.Filter{Where: parse(t, `{"type":"eq","key":"mixed","value":1}`)}, Active: active})
			if fault := filter.AsError(err); fault == nil || fault.Key != "mixed" {
				t.Errorf("error %v, want one that names the key", err)
			}
		},
	}
}
