package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/cache"
	"github.com/sluice/sluice/pkg/index/embedded/vector"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testDimensions = 16

var testID = index.Space{DatastoreID: "test", Model: "m", Dimensions: testDimensions}

// testSpace opens a new space and closes it when the test ends.
func testSpace(t *testing.T, z vector.Thresholds) *Space {
	t.Helper()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "test", "space"), testID, 1, cache.NewCaches(1<<20, 1<<20), z, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// testRows returns n rows of a generation. Each contains the word "common" and a unique word.
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

// testBatch prepares rows for writing.
func testBatch(t *testing.T, rows []index.Row) *Batch {
	t.Helper()
	p := NewPreparer(testDimensions, new(analysis.Analyzer))
	var out []*Prepared
	for i := range rows {
		row, err := p.Prepare(&rows[i])
		if err != nil {
			t.Error(err)
			return nil
		}
		out = append(out, row)
	}
	return NewBatch(p.Words, out)
}

// put prepares and writes rows.
func put(ctx context.Context, t *testing.T, s *Space, rows []index.Row) error {
	t.Helper()
	return s.Write(ctx, testBatch(t, rows))
}

// mustPut writes rows and fails the test on an error.
func mustPut(t *testing.T, s *Space, rows []index.Row) {
	t.Helper()
	if err := put(t.Context(), t, s, rows); err != nil {
		t.Error(err)
	}
}

// foundBy returns how many rows contain at least one of the words.
func foundBy(t *testing.T, s *Space, words string) (n int) {
	t.Helper()
	err := s.Read(t.Context(), func(v View) error {
		r := v.Lexical()
		q, err := r.Query(t.Context(), analysis.Query(words, v.Languages()))
		n = len(r.Top(q, nil, 1000))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
