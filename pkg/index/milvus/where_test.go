package milvus

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/filter"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/tools/local/engines"
)

func TestSortableTextsSortLikeTheirValues(t *testing.T) {
	t.Parallel()
	for order, values := range map[string][]any{
		numberOrder: {-1e300, -2.5, -1, -5e-324, 0, 5e-324, 1, 2.5, 9007199254740991, 1e300},
		dateOrder:   {"0001-01-01", "1969-12-31T23:59:59.5Z", "1970-01-01", "2026-03-01T00:00:00+02:00", "2026-03-01", "2026-03-01T00:00:00.000000001Z", "9999-12-31"},
		textOrder:   {"", "\x00", "a", "a\x00", "aa", "b", "é", "日本", "日本" + strings.Repeat("x", 400)},
	} {
		var got []string
		for _, v := range values {
			value, _ := filter.ValueOf(v)
			got = append(got, sortable(order, value))
		}
		if !slices.IsSorted(got) || len(slices.Compact(got)) != len(values) {
			t.Errorf("order %s: %q", order, got)
		}
	}
}

func TestRowsWithoutOrder(t *testing.T) {
	t.Parallel()
	many := map[string]any{}
	for i := range 2500 {
		many[fmt.Sprint("key ", i)] = i
	}
	for name, c := range map[string]struct {
		metadata map[string]any
		ordered  bool
	}{
		"without metadata":     {nil, true},
		"with a value":         {map[string]any{"a": 1}, true},
		"with the key":         {map[string]any{orderKey: "x"}, false},
		"with too many values": {many, false},
	} {
		r := index.Row{Metadata: c.metadata}
		metadata, hashes, err := addOrder(&r, []byte("{}"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(hashes, orderedHash); got != c.ordered || len(hashes) > maxFacets || len(metadata) > index.MaxMetadataBytes {
			t.Errorf("%s: order is %v, %d hashes, %d bytes", name, got, len(hashes), len(metadata))
		}
	}
}

// TestRowsOfEarlierVersions checks filters on rows written by earlier versions, which lack ordering data.
func TestRowsOfEarlierVersions(t *testing.T) {
	t.Parallel()
	onEveryServer(t, func(t *testing.T, addr string) {
		x := openForTest(t, addr, testPrefix(t, addr))
		lite := engines.MilvusLiteForTest(t)
		s, old := space(), someRows("ds", 1, 1)
		old[0].Metadata = map[string]any{orderKey: "as if an earlier version had written it", "n": 1, "team": "docs"}
		if err := x.Write(t.Context(), s, old); err != nil {
			t.Fatal(err)
		}
		for text, stale := range map[string]bool{
			`{"type":"eq","key":"n","value":1}`:                 false,
			`{"type":"ne","key":"n","value":2}`:                 false,
			`{"type":"in","key":"team","value":["docs","ops"]}`: false,
			`{"type":"contains","key":"team","value":"docs"}`:   false,
			`{"type":"gt","key":"n","value":0}`:                 true,
			`{"type":"prefix","key":"team","value":"d"}`:        true,
			`{"type":"exists","key":"team"}`:                    true,
			`{"type":"eq","key":"team","value":"2026-03-01"}`:   true,
			`{"type":"eq","key":"datasource.id","value":"ds"}`:  true,
		} {
			f, faults := filter.ParseJSON([]byte(text), "filters")
			if len(faults) > 0 {
				t.Fatal(faults)
			}
			found, err := x.Search(t.Context(), s, index.Query{Vector: []float32{1, 0, 0, 0}, Limit: 5, Filter: index.Filter{Where: f}})
			matches := !stale
			if addr == lite && !strings.Contains(text, "datasource.id") { // Lite's filters are evaluated by the client
				stale = false
			}
			if fault := filter.AsError(err); stale != (fault != nil && fault.Stale) {
				t.Errorf("%s: error %v, want a stale one: %v", text, err, stale)
			}
			if matches && len(found.Hits) != 1 {
				t.Errorf("%s: %d hits", text, len(found.Hits))
			}
		}
	})
}

func TestPrefixesOfTooManyTextsAreRefused(t *testing.T) {
	t.Parallel()
	addr := engines.MilvusForTest(t)
	x := openForTest(t, addr, testPrefix(t, addr))
	s, rows := space(), someRows("ds", 1, 1)
	var tags []string
	for i := range 100 {
		tags = append(tags, fmt.Sprintf("%03d %s", i, strings.Repeat("x", 50)))
	}
	rows[0].Metadata = map[string]any{"tags": tags, "few": []string{"red", "green"}}
	if err := x.Write(t.Context(), s, rows); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]bool{"tags": true, "few": false} {
		f, _ := filter.ParseJSON([]byte(`{"type":"prefix","key":"`+key+`","value":"gr"}`), "filters")
		_, err := x.Search(t.Context(), s, index.Query{Vector: []float32{1, 0, 0, 0}, Limit: 5, Filter: index.Filter{Where: f}})
		if fault := filter.AsError(err); want != (fault != nil && fault.Key == key) {
			t.Errorf("%s: error %v", key, err)
		}
	}
}
