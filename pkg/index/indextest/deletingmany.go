package indextest

import (
	"fmt"
	"maps"
	"math"
	"testing"

	"github.com/sluice/sluice/pkg/index"
)

// bulkDeleteTests returns tests that remove several datasources' generations in one DeleteGenerations call.
func (s *suite) bulkDeleteTests() map[string]func(*testing.T) {
	type left = map[index.Stored]bool
	one := func(source string, generation uint64) index.Stored {
		return index.Stored{DatasourceID: source, Generation: generation, Rows: 1}
	}
	all := left{one("a", 1): true, one("a", 2): true, one("a", 3): true, one("b", 1): true, one("b", 5): true, one("c", 2): true, one("c", 3): true}
	out := map[string]func(*testing.T){
		"more generations than one message of an engine can name are removed by one call": func(t *testing.T) {
			x, sp := s.open(t), space()
			const sources = 150
			var rows []index.Row
			var which []index.Generations
			want := left{}
			for i := range sources {
				source, keep := fmt.Sprintf("ds-%03d", i), uint64(2+i%2)
				for g := range uint64(3) {
					rows = append(rows, row(source, 1+g, 0, "text"))
					if 1+g >= keep {
						want[one(source, 1+g)] = true
					}
				}
				which = append(which, index.Generations{DatasourceID: source, Below: keep})
			}
			mustWrite(t, x, sp, rows...)
			mustDelete(t, x, sp, which...)
			if got := mustStored(t, x, sp); !maps.Equal(got, want) {
				t.Errorf("stored %v, want %v", got, want)
			}
			if r := mustSearch(t, x, sp, index.Query{Vector: vector(1), Limit: 1000}); len(r.Hits) != len(want) {
				t.Errorf("%d hits of %d rows", len(r.Hits), len(want))
			}
		},
	}
	for name, test := range map[string]struct {
		which []index.Generations
		want  left
	}{
		"no generations remove nothing": {nil, all},
		"generations of several datasources are removed by one call, each within its bounds": {
			[]index.Generations{{DatasourceID: "a", Below: 3}, {DatasourceID: "b", From: 2, Below: math.MaxUint64}},
			left{one("a", 3): true, one("b", 1): true, one("c", 2): true, one("c", 3): true},
		},
		"datasources with the same bounds are removed by one call": {
			[]index.Generations{{DatasourceID: "a", Below: math.MaxUint64}, {DatasourceID: "c", Below: math.MaxUint64}},
			left{one("b", 1): true, one("b", 5): true},
		},
		"generations that overlap or come twice are removed as one would expect": {
			[]index.Generations{
				{DatasourceID: "a", Below: 2}, {DatasourceID: "a", From: 1, Below: 3}, {DatasourceID: "a", Below: 2}, {DatasourceID: "b", Below: 2},
			},
			left{one("a", 3): true, one("b", 5): true, one("c", 2): true, one("c", 3): true},
		},
		"absent datasources next to others change nothing": {
			[]index.Generations{{DatasourceID: "absent", Below: 9}, {DatasourceID: "c", Below: 3}, {DatasourceID: "gone", Below: math.MaxUint64}},
			left{one("a", 1): true, one("a", 2): true, one("a", 3): true, one("b", 1): true, one("b", 5): true, one("c", 3): true},
		},
		"no generations of one datasource and some of another remove only those": {
			[]index.Generations{{DatasourceID: "a", From: 3, Below: 3}, {DatasourceID: "b", From: 9, Below: 2}, {DatasourceID: "c", Below: 3}},
			left{one("a", 1): true, one("a", 2): true, one("a", 3): true, one("b", 1): true, one("b", 5): true, one("c", 3): true},
		},
		"absent datasources alone remove nothing": {
			[]index.Generations{{DatasourceID: "absent", Below: 9}, {DatasourceID: "gone", Below: math.MaxUint64}, {DatasourceID: "a", From: 4, Below: 9}}, all,
		},
		"generations of every datasource and of one": {
			[]index.Generations{{DatasourceID: "b", Below: math.MaxUint64}, {Below: 2}, {DatasourceID: "c", Below: 2}},
			left{one("a", 2): true, one("a", 3): true, one("c", 2): true, one("c", 3): true},
		},
		"all generations of every datasource and of one": {
			[]index.Generations{{DatasourceID: "b", Below: 2}, {Below: math.MaxUint64}}, left{},
		},
	} {
		out[name] = func(t *testing.T) {
			x, sp, other := s.open(t), space(), space()
			for stored := range all {
				mustWrite(t, x, sp, row(stored.DatasourceID, stored.Generation, 0, "text"))
			}
			mustWrite(t, x, other, row("a", 1, 0, "text"))
			mustDelete(t, x, sp, test.which...)
			if got := mustStored(t, x, sp); !maps.Equal(got, test.want) {
				t.Errorf("stored %v, want %v", got, test.want)
			}
			if got := mustStored(t, x, other); len(got) != 1 {
				t.Errorf("stored in another datastore: %v", got)
			}
		}
	}
	return out
}
