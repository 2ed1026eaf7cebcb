package embedded

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

const testDimensions = 16

var testID = index.Space{DatastoreID: "test", Model: "m", Dimensions: testDimensions}

// testSpace opens a fresh space that the test closes.
func testSpace(t *testing.T, z sizes) *space {
	t.Helper()
	s, err := openSpace(t.Context(), filepath.Join(t.TempDir(), "test", "space"), testID, 1, newCaches(1<<20, 1<<20), z, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// testRows are n rows of a generation, with the word "common" and one of their own.
func testRows(source string, generation uint64, n int) []index.Row {
	rows := make([]index.Row, n)
	for i := range rows {
		rng := rand.New(rand.NewPCG(generation, uint64(i)<<8|uint64(source[0])))
		v := make([]float32, testDimensions)
		for d := range v {
			v[d] = float32(rng.NormFloat64())
		}
		v, err := index.Unit(v, testDimensions)
		if err != nil {
			panic(err)
		}
		rows[i] = index.Row{
			Key: domain.ChunkKey(source, generation, i), DatasourceID: source, Generation: generation, Ordinal: i, Vector: v,
			Text: fmt.Sprintf("common w%sx%dx%d", source, generation, i),
		}
	}
	return rows
}

// testBatch analyses rows.
func testBatch(t *testing.T, rows []index.Row) *batch {
	t.Helper()
	p := newPreparer(testDimensions, new(analysis.Analyzer))
	var out []*prepared
	for i := range rows {
		row, err := p.prepare(&rows[i])
		if err != nil {
			t.Error(err)
			return nil
		}
		out = append(out, row)
	}
	return batchOfRows(p.words, out)
}

// put writes rows.
func put(ctx context.Context, t *testing.T, s *space, rows []index.Row) error {
	t.Helper()
	return s.write(ctx, testBatch(t, rows))
}

// mustPut writes rows, which must not fail.
func mustPut(t *testing.T, s *space, rows []index.Row) {
	t.Helper()
	if err := put(t.Context(), t, s, rows); err != nil {
		t.Error(err)
	}
}

// foundBy is how many rows have one of the words.
func foundBy(t *testing.T, s *space, words string) (n int) {
	t.Helper()
	err := s.read(t.Context(), func(v view) error {
		r := v.lexical()
		q, err := r.words(t.Context(), analysis.Query(words, v.languages()))
		n = len(r.topWords(q, nil, 1000))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
