package indextest

import (
	"maps"
	"math"
	"testing"

	"github.com/sluice/sluice/pkg/index"
)

func (s *suite) deleteTests() map[string]func(*testing.T) {
	return map[string]func(*testing.T){
		"generations below the bound are removed, others stay": func(t *testing.T) {
			x, sp := s.open(t), space()
			mustWrite(t, x, sp, row("ds", 1, 0, "first"), row("ds", 2, 0, "second"), row("ds", 3, 0, "third"), row("other", 1, 0, "other"))
			mustDelete(t, x, sp, index.Generations{DatasourceID: "ds", Below: 3})
			want := map[index.Stored]bool{{DatasourceID: "ds", Generation: 3, Rows: 1}: true, {DatasourceID: "other", Generation: 1, Rows: 1}: true}
			if got := mustStored(t, x, sp); !maps.Equal(got, want) {
				t.Errorf("stored %v, want %v", got, want)
			}
			if r := mustSearch(t, x, sp, index.Query{Vector: vector(1)}); len(r.Hits) != 2 {
				t.Errorf("hits %v, want two", keys(r.Hits))
			}
		},
		"the highest bound removes all generations": func(t *testing.T) {
			x, sp := s.open(t), space()
			mustWrite(t, x, sp, row("ds", 1, 0, "a"), row("ds", math.MaxInt64, 1, "b"), row("keep", 1, 0, "c"))
			mustDelete(t, x, sp, index.Generations{DatasourceID: "ds", Below: math.MaxUint64})
			if got := mustStored(t, x, sp); !maps.Equal(got, map[index.Stored]bool{{DatasourceID: "keep", Generation: 1, Rows: 1}: true}) {
				t.Errorf("stored %v", got)
			}
		},
		"generations between the bounds are removed, those around them stay": func(t *testing.T) {
			x, sp := s.open(t), space()
			mustWrite(t, x, sp, row("ds", 1, 0, "a"), row("ds", 2, 0, "b"), row("ds", 3, 0, "c"), row("ds", 4, 0, "d"))
			mustDelete(t, x, sp, index.Generations{DatasourceID: "ds", From: 2, Below: 4})
			want := map[index.Stored]bool{{DatasourceID: "ds", Generation: 1, Rows: 1}: true, {DatasourceID: "ds", Generation: 4, Rows: 1}: true}
			if got := mustStored(t, x, sp); !maps.Equal(got, want) {
				t.Errorf("stored %v, want %v", got, want)
			}
			mustDelete(t, x, sp, index.Generations{DatasourceID: "ds", From: 4, Below: 4})
			if got := mustStored(t, x, sp); !maps.Equal(got, want) {
				t.Errorf("no generation lies between equal bounds, and yet %v is stored", got)
			}
		},
		"without a datasource the rows of every datasource of the space are removed": func(t *testing.T) {
			x, sp := s.open(t), space()
			other := sp
			other.Model = "test:model/2"
			mustWrite(t, x, sp, row("a", 1, 0, "a"), row("b", 5, 0, "b"), row("b", 9, 0, "c"))
			mustWrite(t, x, other, row("a", 1, 0, "a"))
			mustDelete(t, x, sp, index.Generations{Below: 6})
			if got := mustStored(t, x, sp); !maps.Equal(got, map[index.Stored]bool{{DatasourceID: "b", Generation: 9, Rows: 1}: true}) {
				t.Errorf("stored %v", got)
			}
			if got := mustStored(t, x, other); len(got) != 1 {
				t.Errorf("stored in another space: %v", got)
			}
			mustDelete(t, x, sp, index.Generations{Below: math.MaxUint64})
			if got := mustStored(t, x, sp); len(got) != 0 {
				t.Errorf("stored %v", got)
			}
			mustWrite(t, x, sp, row("a", 2, 0, "again"))
			if r := mustSearch(t, x, sp, index.Query{Vector: vector(1)}); len(r.Hits) != 1 {
				t.Errorf("hits %v, want the rows written later", keys(r.Hits))
			}
		},
		"removing absent rows is no error": func(t *testing.T) {
			x, sp := s.open(t), space()
			if err := x.DeleteGenerations(t.Context(), sp, index.Generations{DatasourceID: "ds", Below: 5}); err != nil {
				t.Errorf("in a space that does not exist: %v", err)
			}
			mustWrite(t, x, sp, row("ds", 5, 0, "text"))
			mustDelete(t, x, sp, index.Generations{DatasourceID: "ds", Below: 5})
			mustDelete(t, x, sp, index.Generations{DatasourceID: "absent", Below: math.MaxUint64})
			if err := x.DropDatastore(t.Context(), space().DatastoreID); err != nil {
				t.Errorf("dropping a datastore that does not exist: %v", err)
			}
			if got := mustStored(t, x, sp); len(got) != 1 {
				t.Errorf("stored %v", got)
			}
		},
		"generations of any size are distinguished": func(t *testing.T) {
			x, sp := s.open(t), space()
			mustWrite(t, x, sp, row("ds", 0, 0, "a"), row("ds", 1<<40, 0, "b"))
			if got := mustRows(t, x, sp, "ds", 1<<40); len(got) != 1 || got[0].Generation != 1<<40 {
				t.Errorf("rows %+v", got)
			}
			mustDelete(t, x, sp, index.Generations{DatasourceID: "ds", Below: 1})
			if got := mustStored(t, x, sp); !maps.Equal(got, map[index.Stored]bool{{DatasourceID: "ds", Generation: 1 << 40, Rows: 1}: true}) {
				t.Errorf("stored %v", got)
			}
		},
		"a dropped datastore is gone in all its spaces, and can be written again": func(t *testing.T) {
			x, a := s.open(t), space()
			b, other := a, space()
			b.Model = "test:model/2"
			for _, sp := range []index.Space{a, b, other} {
				mustWrite(t, x, sp, row("ds", 1, 0, "text"))
			}
			mustDrop(t, x, a.DatastoreID)
			for _, sp := range []index.Space{a, b} {
				if got := mustStored(t, x, sp); len(got) != 0 {
					t.Errorf("stored in the dropped datastore: %v", got)
				}
			}
			if got := mustStored(t, x, other); len(got) != 1 {
				t.Errorf("stored in another datastore: %v", got)
			}
			mustWrite(t, x, a, row("ds", 2, 0, "again"))
			if r := mustSearch(t, x, a, index.Query{Vector: vector(1)}); len(r.Hits) != 1 || r.Hits[0].Text != "again" {
				t.Errorf("hits %+v", r.Hits)
			}
		},
		"a datastore that is updated over and over finds its last content only": func(t *testing.T) {
			x, sp := s.open(t), space()
			for g := uint64(1); g <= 30; g++ {
				var rows []index.Row
				for i := range 40 {
					rows = append(rows, row("ds", g, i, "recurring text"))
				}
				mustWrite(t, x, sp, rows...)
				mustDelete(t, x, sp, index.Generations{DatasourceID: "ds", Below: g})
			}
			r := mustSearch(t, x, sp, index.Query{Text: "recurring", Vector: vector(1), Limit: 1000})
			if len(r.Hits) != 40 {
				t.Errorf("%d hits, want 40", len(r.Hits))
			}
			for _, h := range r.Hits {
				if h.Generation != 30 || !s.isClose(h.Dense, cosine(vector(1), vector(seedOf("ds", 30, h.Ordinal)))) {
					t.Errorf("row %s has dense score %v", h.Key, h.Dense)
				}
			}
		},
	}
}
