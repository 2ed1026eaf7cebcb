package indextest

import (
	"fmt"
	"maps"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/index"
)

func (s *suite) repeating() map[string]func(*testing.T) {
	return map[string]func(*testing.T){
		"rows written again are there once, and are found all the while": func(t *testing.T) {
			x, sp, rows := s.open(t), space(), job(30)
			mustWrite(t, x, sp, rows...)
			done := make(chan struct{})
			var reading sync.WaitGroup
			reading.Go(func() {
				for {
					if r, err := x.Search(t.Context(), sp, index.Query{Vector: vector(1), Limit: 100}); err != nil || len(r.Hits) != len(rows) {
						t.Errorf("%d of %d rows are found while they are written again: %v", len(r.Hits), len(rows), err)
					}
					select {
					case <-done:
						return
					default:
					}
				}
			})
			for range 3 {
				mustWrite(t, x, sp, rows...)
			}
			close(done)
			reading.Wait()
			s.checkEachOnce(t, x, sp, rows)
		},
		"rows written several times at the same moment are there once": func(t *testing.T) {
			x, sp, rows := s.open(t), space(), job(30)
			var writing sync.WaitGroup
			for range 4 {
				writing.Go(func() {
					if err := x.Write(t.Context(), sp, rows); err != nil {
						t.Errorf("writing: %v", err)
					}
				})
			}
			writing.Wait()
			s.checkEachOnce(t, x, sp, rows)
			mustWrite(t, x, sp, rows...)
			s.checkEachOnce(t, x, sp, rows)
			mustDelete(t, x, sp, index.Generations{DatasourceID: "ds", Below: 2})
			s.checkEachOnce(t, x, sp, nil)
		},
		"what an interrupted job has written is completed": func(t *testing.T) {
			x, sp, rows := s.open(t), space(), job(30)
			mustWrite(t, x, sp, rows[:7]...)
			mustWrite(t, x, sp, rows[20:22]...)
			other := s.opts.reopened(t, x)
			for part := range 3 {
				mustWrite(t, other, sp, rows[10*part:10*part+10]...)
			}
			s.checkEachOnce(t, other, sp, rows)
		},
	}
}

// job returns n rows of one generation.
func job(n int) []index.Row {
	rows := make([]index.Row, n)
	for i := range rows {
		rows[i] = row("ds", 1, i, fmt.Sprintf("chunk number %d", i))
	}
	return rows
}

// reopened reopens the index if the engine supports it.
func (o Options) reopened(t *testing.T, x index.Index) index.Index {
	t.Helper()
	if o.Reopen == nil {
		return x
	}
	return o.Reopen(t, x)
}

// checkEachOnce checks that every method that reads rows returns each of the space's rows exactly once. They must all
// belong to generation 1 of datasource "ds".
func (s *suite) checkEachOnce(t *testing.T, x index.Index, sp index.Space, want []index.Row) {
	t.Helper()
	if diff := gocmp.Diff(want, mustRows(t, x, sp, "ds", 1)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if n := mustCount(t, x, sp, "ds", 1); n != int64(len(want)) {
		t.Errorf("%d rows are counted, want %d", n, len(want))
	}
	stored := make(map[index.Stored]bool)
	if len(want) > 0 {
		stored[index.Stored{DatasourceID: "ds", Generation: 1, Rows: int64(len(want))}] = true
	}
	if got := mustStored(t, x, sp); !maps.Equal(got, stored) {
		t.Errorf("stored %v, want %v", got, stored)
	}
	// An engine may keep hidden copies of rows until their generation is removed, and copies count towards the limit. So
	// the limit is above the number of rows.
	queries := []index.Query{{Vector: vector(1), Limit: 1000}}
	if !s.opts.DenseOnly {
		queries = append(queries, index.Query{Text: "chunk", Limit: 1000}, index.Query{Text: "chunk", Vector: vector(1), Limit: 1000})
	}
	for _, q := range queries {
		if r := mustSearch(t, x, sp, q); len(r.Hits) != len(want) {
			t.Errorf("%d rows are found, want %d", len(r.Hits), len(want))
		}
	}
}
