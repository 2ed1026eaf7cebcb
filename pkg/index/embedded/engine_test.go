package embedded

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sluice/sluice/pkg/index"
)

func TestMoreDatastoresThanMayBeOpenAreServed(t *testing.T) {
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

func TestADatastoreThatIsUpdatedForEverDoesNotGrow(t *testing.T) {
	t.Parallel()
	x := mustOpen(t, t.TempDir(), Options{})
	const live = 150
	size := func() int64 {
		var sum int64
		if err := x.use(t.Context(), crashSpace, false, func(s *space) error {
			_, err := s.writes.ExecContext(t.Context(), `PRAGMA wal_checkpoint(TRUNCATE)`)
			return err
		}); err != nil {
			t.Fatal(err)
		}
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
	if err := x.use(t.Context(), crashSpace, false, func(s *space) error {
		if s.current.slots > 12*live {
			t.Errorf("%d rows use %d slots", live, s.current.slots)
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
	names := []string{"alpha", "bravo", "charli", "delta", "echo", "foxtrot"} // their own stems
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

func FuzzBlocksOfPostingsAreReadOrRefused(f *testing.F) {
	f.Add("")
	var b blockBuilder
	b.put = func(block []byte) error {
		f.Add(string(block))
		return nil
	}
	var many blockBuilder
	many.put = b.put
	for i := range 100 { // several marks apart, some terms in entries of several
		ps := make([]posting, 1+i%3*blockBytes/8)
		for j := range ps {
			ps[j] = posting{uint32(j), 1, 9}
		}
		if err := many.add(fmt.Sprintf("term%03d", i), ps); err != nil {
			f.Fatal(err)
		}
	}
	if err := errorsOf(many.close(), b.add("alpha", []posting{{1, 1, 5}, {9, 3, 200}}), b.add("beta", []posting{{4, 1, 1}}), b.close()); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, block string) {
		var ps []posting
		found := make(map[string][]entry)
		var terms []string
		err := entries(block, func(e entry) bool {
			var err error
			ps, err = decodePostings(ps[:0], e.data, e.count)
			if err == nil && len(ps) != e.count {
				t.Fatalf("%d postings of %d", len(ps), e.count)
			}
			found[e.term] = append(found[e.term], e)
			terms = append(terms, e.term)
			return true
		})
		m, markErr := mark(block)
		if (markErr == nil) != (err == nil) {
			t.Fatalf("marking it: %v, reading it: %v", markErr, err)
		}
		if err != nil || !slices.IsSorted(terms) {
			return
		}
		for _, term := range append(terms, "", "b", "\xff") {
			var got []entry
			if err := m.of(term, func(e entry) bool { got = append(got, e); return true }); err != nil || !slices.Equal(got, found[term]) {
				t.Fatalf("%d entries of %q are found, want %d: %v", len(got), term, len(found[term]), err)
			}
		}
	})
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
