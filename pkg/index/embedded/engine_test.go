package embedded

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/store"
)

func TestMoreDatastoresThanTheOpenLimitAreServed(t *testing.T) {
	t.Parallel()
	x := mustOpen(t, t.TempDir(), Options{MaxOpenSpaces: 2})
	var all sync.WaitGroup
	for i := range 9 {
		all.Go(func() {
			sp := index.Space{DatastoreID: fmt.Sprintf("store-%d", i), Model: "m", Dimensions: crashDimensions}
			for g := range uint64(4) {
				if err := x.Write(t.Context(), sp, []index.Row{crashRow("a", g, i)}); err != nil {
					t.Errorf("writing: %v", err)
				}
				r, err := x.Search(t.Context(), sp, index.Query{Text: "common", Limit: 100})
				if err != nil || len(r.Hits) != int(g)+1 {
					t.Errorf("%d hits, want %d: %v", len(r.Hits), g+1, err)
				}
				x.mu.Lock()
				if n := len(x.spaces); n > 2 {
					t.Errorf("%d spaces are open", n)
				}
				x.mu.Unlock()
			}
		})
	}
	all.Wait()
}

func TestUpdatesDoNotGrowADatastore(t *testing.T) {
	t.Parallel()
	x := mustOpen(t, t.TempDir(), Options{})
	const live = 150
	size := func() int64 {
		var sum int64
		if err := x.Close(); err != nil { // so that SQLite empties its log
			t.Fatal(err)
		}
		defer func() { x = mustOpen(t, x.dir, Options{}) }()
		files, err := filepath.Glob(filepath.Join(x.dir, "crash", "*", "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if info, err := os.Stat(f); err == nil && !strings.HasSuffix(f, "-wal") && !strings.HasSuffix(f, "-shm") {
				sum += info.Size()
			}
		}
		return sum
	}
	var early int64
	for g := range uint64(24) {
		var rows []index.Row
		for i := range live {
			rows = append(rows, crashRow("a", g, i))
		}
		if err := x.Write(t.Context(), crashSpace, rows); err != nil {
			t.Fatal(err)
		}
		if err := x.DeleteGenerations(t.Context(), crashSpace, index.Generations{DatasourceID: "a", Below: g}); err != nil {
			t.Fatal(err)
		}
		if err := x.mergeAll(t.Context(), crashSpace); err != nil {
			t.Fatal(err)
		}
		if g == 10 {
			early = size()
		}
	}
	if late := size(); late > early*5/4 {
		t.Errorf("after 10 updates %d bytes, after 24 %d", early, late)
	}
	if err := x.use(t.Context(), crashSpace, false, func(s *store.Space) error {
		if s.Snapshot().Slots > 12*live {
			t.Errorf("%d rows use %d slots", live, s.Snapshot().Slots)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func TestScoresAreThoseOfBM25AlsoAfterMerges(t *testing.T) {
	t.Parallel()
	x := mustOpen(t, t.TempDir(), Options{})
	sp := index.Space{DatastoreID: "bm25", Model: "m"}
	rng := rand.New(rand.NewPCG(5, 6))
	names := []string{"alpha", "bravo", "charli", "delta", "echo", "foxtrot"} // unaffected by stemming
	texts := make(map[string][]string)
	var total float64
	for i := range 200 {
		var words []string
		for range 1 + rng.IntN(20) {
			words = append(words, names[min(rng.IntN(len(names)), rng.IntN(len(names)))])
		}
		r := index.Row{Key: fmt.Sprint("k", i), DatasourceID: "d", Ordinal: i, Text: strings.Join(words, " ")}
		texts[r.Key] = words
		total += float64(len(words))
		if err := x.Write(t.Context(), sp, []index.Row{r}); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.mergeAll(t.Context(), sp); err != nil {
		t.Fatal(err)
	}
	count := func(words []string, w string) (n float64) {
		for _, have := range words {
			if have == w {
				n++
			}
		}
		return n
	}
	query := []string{"alpha", "echo", "foxtrot"}
	want := make(map[string]float64)
	for _, w := range query {
		var df float64
		for _, words := range texts {
			df += min(count(words, w), 1)
		}
		idf := math.Log(1 + (200-df+0.5)/(df+0.5))
		for key, words := range texts {
			if tf := count(words, w); tf > 0 {
				want[key] += idf * tf * 2.2 / (tf + 1.2*(0.25+0.75*float64(len(words))/(total/200)))
			}
		}
	}
	r, err := x.Search(t.Context(), sp, index.Query{Text: strings.Join(query, " "), Limit: 1000})
	if err != nil || len(r.Hits) != len(want) {
		t.Fatalf("%d hits, want %d: %v", len(r.Hits), len(want), err)
	}
	for _, h := range r.Hits {
		if math.Abs(h.Lexical-want[h.Key]) > 1e-9 {
			t.Errorf("row %s scores %v, want %v", h.Key, h.Lexical, want[h.Key])
		}
	}
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestARowReplacedInTheSameCallIsNotFound(t *testing.T) {
	t.Parallel()
	x := mustOpen(t, t.TempDir(), Options{})
	first, last := crashRow("a", 1, 0), crashRow("a", 1, 0)
	first.Text, last.Text = "common before", "common after"
	mustWrite(t, x, crashSpace, []index.Row{first, crashRow("a", 1, 1), last})
	for text, want := range map[string]int{"before": 0, "after": 1, "common": 2} {
		if r, err := x.Search(t.Context(), crashSpace, index.Query{Text: text, Limit: 10}); err != nil || len(r.Hits) != want {
			t.Errorf("%q finds %d rows, want %d: %v", text, len(r.Hits), want, err)
		}
	}
}

// found searches for a word that is in every row and returns the number of distinct hits as a string.
func found(t *testing.T, x *Index) string {
	t.Helper()
	r, err := x.Search(t.Context(), crashSpace, index.Query{Text: "common", Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	keys := make(map[string]bool)
	for _, h := range r.Hits {
		keys[h.Key] = true
	}
	return fmt.Sprint(len(keys), " rows")
}
