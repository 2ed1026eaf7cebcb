package embedded

import (
	"fmt"
	"math"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

// smallRows is the boundary, so the test uses one space of that size and one with one more row.
func TestTheVectorLegMayHaveALimitOfItsOwn(t *testing.T) {
	t.Parallel()
	space := index.Space{DatastoreID: "store", Model: "model", Dimensions: 2}
	for _, rows := range []int{smallRows, smallRows + 1} {
		x := mustOpen(t, t.TempDir(), Options{})
		var batch []index.Row
		for i := range rows {
			angle := float64(i) / float64(rows)
			text := "lights"
			if i%100 == 99 {
				text = "harbour"
			}
			batch = append(batch, index.Row{
				Key: domain.ChunkKey("d", 1, i), DatasourceID: "d", Generation: 1, Ordinal: i, Text: text, CustomID: fmt.Sprint(i % 2),
				Vector: []float32{float32(math.Cos(angle)), float32(math.Sin(angle))},
			})
		}
		if err := x.Write(t.Context(), space, batch); err != nil {
			t.Fatal(err)
		}
		whole, near := index.Query{Vector: []float32{1, 0}, Limit: 50}, index.Query{Vector: []float32{1, 0}, Limit: 50, VectorLimit: 5}
		words := near
		words.Text = "harbour"
		half := near
		half.Filter.CustomIDs = []string{"0"}
		limited := map[bool]int{false: 50, true: 5}[rows > smallRows]
		for name, c := range map[string]struct {
			query       index.Query
			limit, hits int
		}{
			"without a limit of its own": {whole, 50, 50},
			"with one":                   {near, limited, limited},
			"both legs":                  {words, limited, limited + 10},
			"few rows pass the filter":   {half, 50, 50},
		} {
			found, err := x.Search(t.Context(), space, c.query)
			if err != nil {
				t.Fatal(err)
			}
			if found.VectorLimit != c.limit || len(found.Hits) != c.hits {
				t.Errorf("%d rows, %s: %d hits with the limit %d, want %d with %d", rows, name, len(found.Hits), found.VectorLimit, c.hits, c.limit)
			}
		}
		if found, err := x.Search(t.Context(), space, index.Query{Text: "harbour", Limit: 50, VectorLimit: 5}); err != nil || found.VectorLimit != 0 || len(found.Hits) != 10 {
			t.Errorf("%d rows, without a vector: %d hits, limit %d, %v", rows, len(found.Hits), found.VectorLimit, err)
		}
		for _, limit := range []int{-1, 51} {
			if _, err := x.Search(t.Context(), space, index.Query{Text: "harbour", Limit: 50, VectorLimit: limit}); err == nil {
				t.Errorf("a search with the limits 50 and %d succeeded", limit)
			}
		}
	}
}
