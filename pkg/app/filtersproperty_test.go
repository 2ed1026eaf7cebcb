package app

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	local "github.com/sluice/sluice/tools/local/engines"
)

// filtering generates random documents and filters from a small set of names and values, so that many filters match.
type filtering struct{ *rand.Rand }

var (
	filterNames  = []string{"team", "year", "tags", "place", "place.floor", "a key", "ключ", `quoted"`, "per%cent"}
	filterValues = []any{
		"red", "Red", " red", `"; drop`, `back\slash`, "100%", "under_score", "2025", "true", "null", "é", "e\u0301", "日本",
		0, 1, 2025, 2025.5, -3, 1e21, true, false,
	}
)

func (g filtering) value() any { return filterValues[g.IntN(len(filterValues))] }

func (g filtering) values(minimum, limit int) []any {
	list := make([]any, minimum+g.IntN(limit-minimum+1))
	for i := range list {
		list[i] = g.value()
	}
	return list
}

// metadata returns random metadata for a document. Its fields are single values, lists of values, and objects that
// contain both.
func (g filtering) metadata(customID string) map[string]any {
	m := map[string]any{"custom_id": customID}
	field := func() any {
		switch g.IntN(4) {
		case 0:
			return g.values(0, 3)
		case 1:
			return nil
		default:
			return g.value()
		}
	}
	for range g.IntN(6) {
		name := filterNames[g.IntN(len(filterNames))]
		if g.IntN(4) == 0 {
			m[name] = map[string]any{"floor": field(), "wing": field(), "deep": map[string]any{"floor": g.value()}}
			continue
		}
		m[name] = field()
	}
	return m
}

// filters returns random valid filters. ids maps custom ids to document ids.
func (g filtering) filters(ids map[string]string) map[string]any {
	f := map[string]any{}
	some := func(all []string) []string {
		out := []string{"absent"}
		for range g.IntN(2 * len(all) / 3) {
			out = append(out, all[g.IntN(len(all))])
		}
		return out
	}
	if g.IntN(3) == 0 {
		f["custom_ids"] = some(slices.Sorted(maps.Keys(ids)))
	}
	if g.IntN(3) == 0 {
		f["datasource_ids"] = some(slices.Sorted(maps.Values(ids)))
	}
	metadata := map[string]any{}
	for range g.IntN(3) {
		name := filterNames[g.IntN(len(filterNames))]
		if g.IntN(5) == 0 {
			name += ".wing"
		}
		if g.IntN(2) == 0 {
			metadata[name] = g.value()
		} else {
			metadata[name] = g.values(1, 8)
		}
	}
	f["metadata"] = metadata
	return f
}

// spoiled returns random invalid filters.
func (g filtering) spoiled() any {
	name := filterNames[g.IntN(len(filterNames))]
	many := func(n int, item func(i int) any) []any {
		list := make([]any, n)
		for i := range list {
			list[i] = item(i)
		}
		return list
	}
	names := map[string]any{}
	for i := range 21 {
		names[fmt.Sprint("name", i)] = g.value()
	}
	metadata := func(v any) any { return map[string]any{"metadata": map[string]any{name: v}} }
	all := []any{
		"team", 5, true, []any{}, []any{map[string]any{}},
		map[string]any{"custom_ids": g.value()}, map[string]any{"custom_ids": []any{g.IntN(9)}}, map[string]any{"custom_ids": map[string]any{}},
		map[string]any{"custom_ids": []string{strings.Repeat("x", 201)}},
		map[string]any{"datasource_ids": many(1001, func(i int) any { return fmt.Sprint(i) })},
		map[string]any{"datasource_ids": []any{nil}}, map[string]any{"datasource_ids": []any{[]any{"x"}}},
		map[string]any{"metadata": g.value()}, map[string]any{"metadata": g.values(1, 3)}, map[string]any{"metadata": names},
		metadata(nil), metadata([]any{}), metadata(map[string]any{"$ne": g.value()}), metadata([]any{g.value(), nil}),
		metadata([]any{[]any{g.value()}}), metadata([]any{map[string]any{}}), metadata(many(1001, func(i int) any { return i })),
	}
	return all[g.IntN(len(all))]
}

// asJSON converts the value to JSON and back, after which all numbers have the same type, and so do all lists.
func asJSON(t *testing.T, v map[string]any) map[string]any {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func listed(v any) []any {
	if list, is := v.([]any); is {
		return list
	}
	return []any{v}
}

// passesFilters applies the filters exactly as documented.
func passesFilters(id, customID string, metadata, filters map[string]any) bool {
	for field, mine := range map[string]string{"datasource_ids": id, "custom_ids": customID} {
		if ids, _ := filters[field].([]any); len(ids) > 0 && !slices.Contains(ids, any(mine)) {
			return false
		}
	}
	wanted, _ := filters["metadata"].(map[string]any)
	for name, alternatives := range wanted {
		have := listed(metadata[name])
		for i, r := range name { // a dotted name may also refer to a nested object
			if object, is := metadata[name[:i]].(map[string]any); r == '.' && is {
				have = append(have, listed(object[name[i+1:]])...)
			}
		}
		meets := func(want any) bool {
			return slices.ContainsFunc(have, func(v any) bool {
				switch v.(type) {
				case string, float64, bool:
					return v == want
				default:
					return false
				}
			})
		}
		if !slices.ContainsFunc(listed(alternatives), meets) {
			return false
		}
	}
	return true
}

// TestFiltersAgreeWithAFullScan queries random documents with random filters. Invalid filters must be rejected.
func TestFiltersAgreeWithAFullScan(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		queries int
		environ func(*testing.T) []string
	}{
		"embedded": {150, func(*testing.T) []string { return nil }},
		"milvus":   {50, func(t *testing.T) []string { return []string{"MILVUS_ADDR=" + local.MilvusLiteForTest(t)} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const documents = 60
			g := filtering{rand.New(rand.NewPCG(10, 32))}
			p := newProgram(t, c.environ(t)...)
			p.start()
			var store struct{ ID string }
			p.must(p.post("/datastores", map[string]any{"name": "filters", "type": name}, &store))
			defer func() { p.must(p.delete("/datastores/" + store.ID)) }()
			metadata, upsert := map[string]map[string]any{}, []map[string]any{}
			for n := range documents {
				customID := fmt.Sprint("c-", n)
				m := g.metadata(customID)
				metadata[customID] = asJSON(t, m)
				upsert = append(upsert, map[string]any{"text": fmt.Sprintf("The pump of hall %d runs at night.", n), "metadata": m})
			}
			p.must(p.post("/datastores/upsert/"+store.ID, map[string]any{"documents": upsert}, nil))
			ids := map[string]string{}
			for _, s := range p.settled(store.ID, time.Minute) {
				ids[s.CustomID] = s.ID
			}
			passed := 0
			for range c.queries {
				filters := g.filters(ids)
				var want, got []string
				for customID, id := range ids {
					if passesFilters(id, customID, metadata[customID], asJSON(t, filters)) {
						want = append(want, id)
					}
				}
				var found []fragment
				p.must(p.post("/datastores/"+store.ID+"/query", map[string]any{"query": "pump", "topK": 100, "filters": filters}, &found))
				for _, f := range found {
					got = append(got, f.DatasourceID)
				}
				slices.Sort(want)
				slices.Sort(got)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("%v (-want +got):\n%s", filters, diff)
				}
				passed += len(want)
			}
			if passed < c.queries || passed > c.queries*documents*3/4 {
				t.Errorf("%d documents have passed %d filters: they tell nothing", passed, c.queries)
			}
			for range 60 {
				filters := g.spoiled()
				err := p.post("/datastores/"+store.ID+"/query", map[string]any{"query": "pump", "filters": filters}, nil)
				var refused errRefused
				var problem struct {
					Error  string
					Errors []struct{ Field, Message string }
				}
				if !asRefused(err, &refused) || refused.status != 400 || json.Unmarshal([]byte(refused.body), &problem) != nil ||
					problem.Error != "INVALID_REQUEST" || len(problem.Errors) == 0 || !strings.HasPrefix(problem.Errors[0].Field, "filters") {
					t.Errorf("%.200v: %v", filters, err)
				}
			}
		})
	}
}
