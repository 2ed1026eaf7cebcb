package milvus

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/bm25"
	"github.com/sluice/sluice/pkg/index/embedded"
)

func TestFrequent_words_are_counted_among_a_share_of_the_rows(t *testing.T) {
	t.Parallel()
	onEveryServer(t, func(t *testing.T, addr string) {
		x, s := openForTest(t, addr, testPrefix(t, addr)), space()
		s.DatastoreID = "always-the-same" // fixed, so that a row is always in the same share
		server, err := x.Server(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		n := 2 * readTexts
		if server.LexicalSearch {
			n = maxCountedHits + 2000
		}
		rows := someRows("ds", 1, n)
		for i := range rows {
			words := []string{"everywhere"}
			if i%2 == 0 {
				words = append(words, "half")
			}
			if i%100 == 0 {
				words = append(words, "seldom")
			}
			if i == 17 {
				words = append(words, "zanzibar")
			}
			rows[i].Text = strings.Join(words, " ")
		}
		alone := 1 // a row outside the language sample
		for float64(bucket(rowID(s.DatastoreID, "ds", 1, alone))) < buckets*sampledRows/float64(n) && n > sampledRows {
			alone += 2
		}
		rows[alone].Text = "Questa è la casa della nonna, dove abitano ancora tutti i bambini della famiglia."
		if err := x.Write(t.Context(), s, rows); err != nil {
			t.Fatal(err)
		}
		r, err := x.Search(t.Context(), s, index.Query{Text: "bambino", Vector: []float32{1, 0, 0, 0}, Limit: n})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range r.Hits {
			if found := len(h.Terms) > 0; found != (h.Ordinal == alone) {
				t.Errorf("row %d has the terms %v", h.Ordinal, h.Terms)
			}
		}
		r, err = x.Search(t.Context(), s, index.Query{Text: "everywhere half seldom zanzibar never", Vector: []float32{1, 0, 0, 0}, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		idf := func(having int) float64 { return bm25.Weight(float64(n), float64(having)) }
		for _, c := range []struct {
			word     string
			having   int
			sampled  float64 // tolerance for words counted in a sample
			searched float64 // tolerance for words counted by searching
		}{{"everywher", n, 0.1, 0.1}, {"half", n / 2, 0.2, 0}, {"seldom", (n + 99) / 100, 0.4, 0}, {"never", 0, 0, 0}, {"zanzibar", 1, math.Inf(1), 0}} {
			tolerance := c.sampled
			if server.LexicalSearch {
				tolerance = c.searched
			}
			if got, want := r.TermWeights[c.word], idf(c.having); math.Abs(got-want) > tolerance+1e-9 {
				t.Errorf("%q weighs %v, want %v within %v; all: %v", c.word, got, want, tolerance, r.TermWeights)
			}
		}
	})
}

// TestScores_rank_as_the_embedded_engine checks that both engines rank the same rows in the same order.
func TestScores_rank_as_the_embedded_engine(t *testing.T) {
	t.Parallel()
	onEveryServer(t, func(t *testing.T, addr string) {
		x, s := openForTest(t, addr, testPrefix(t, addr)), space()
		e, err := embedded.Open(t.TempDir(), embedded.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}()
		rows := someRows("ds", 1, 60)
		subjects := strings.Fields("river mountain harbour bridge valley forest island desert glacier canyon")
		for i := range rows {
			rows[i].Context = "Travel guide > " + subjects[i%10]
			rows[i].Text = strings.Repeat("The traveller walks along the road and sees what lies beside it. ", 5) +
				fmt.Sprintf("Beyond the %s begins the %s of the %s.", subjects[i%10], subjects[i*7%10], subjects[i*3%7])
		}
		for name, write := range map[string]index.Index{"milvus": x, "embedded": e} {
			if err := write.Write(t.Context(), s, rows); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		q := index.Query{Text: "What lies beyond the glacier and the harbour?", Vector: []float32{1, 0, 0, 0}, Limit: 100}
		got, err := x.Search(t.Context(), s, q)
		if err != nil {
			t.Fatal(err)
		}
		want, err := e.Search(t.Context(), s, q)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(got.MaxLexical-want.MaxLexical) > 1e-6 || len(got.TermWeights) != len(want.TermWeights) {
			t.Errorf("highest score %v and weights %v, want %v and %v", got.MaxLexical, got.TermWeights, want.MaxLexical, want.TermWeights)
		}
		if len(got.Hits) != len(rows) || len(want.Hits) != len(rows) {
			t.Fatalf("%d and %d hits, want %d", len(got.Hits), len(want.Hits), len(rows))
		}
		scores := make(map[string]index.Hit)
		for _, h := range want.Hits {
			scores[h.Key] = h
		}
		for _, h := range got.Hits {
			w := scores[h.Key]
			if math.Abs(h.Lexical-w.Lexical) > 1e-6 || math.Abs(h.Dense-w.Dense) > 1e-6 {
				t.Errorf("row %s scores %v and %v, want %v and %v", h.Key, h.Lexical, h.Dense, w.Lexical, w.Dense)
			}
			if !slices.Equal(slices.Sorted(slices.Values(h.Terms)), slices.Sorted(slices.Values(w.Terms))) {
				t.Errorf("row %s has the terms %v, want %v", h.Key, h.Terms, w.Terms)
			}
		}
	})
}

func TestLargest_rows_are_taken_and_come_back(t *testing.T) {
	t.Parallel()
	onEveryServer(t, func(t *testing.T, addr string) {
		x, s := openForTest(t, addr, testPrefix(t, addr)), space()
		rows := someRows("ds", 1, 12)
		for i := range rows {
			rows[i].Text = strings.Repeat("я", domain.MaxChunkBytes/2)
			rows[i].Context, rows[i].Heading = strings.Repeat("c", domain.MaxChunkBytes), strings.Repeat("h", domain.MaxChunkBytes)
			rows[i].CustomID = strings.Repeat("i", index.MaxNameBytes)
			rows[i].Metadata = map[string]any{"m": strings.Repeat("m", index.MaxMetadataBytes-len(`{"m":""}`))}
		}
		if err := x.Write(t.Context(), s, rows); err != nil {
			t.Fatal(err)
		}
		got, err := x.Rows(t.Context(), s, "ds", 1, 0, 100)
		if err != nil || len(got) != len(rows) {
			t.Fatalf("%d rows, %v", len(got), err)
		}
		for i, r := range got {
			if r.Text != rows[i].Text || r.Context != rows[i].Context || r.Heading != rows[i].Heading || r.CustomID != rows[i].CustomID || r.Metadata["m"] != rows[i].Metadata["m"] {
				t.Errorf("row %d has changed", i)
			}
		}
		q := index.Query{Vector: []float32{1, 0, 0, 0}, Limit: 100, Filter: index.Filter{CustomIDs: []string{rows[0].CustomID}, Metadata: rows[0].Metadata}}
		if r, err := x.Search(t.Context(), s, q); err != nil || len(r.Hits) != len(rows) {
			t.Errorf("%d hits, %v", len(r.Hits), err)
		}
	})
}

func TestFilter_of_ten_thousand_datasources(t *testing.T) {
	t.Parallel()
	onEveryServer(t, func(t *testing.T, addr string) {
		x, s := openForTest(t, addr, testPrefix(t, addr)), space()
		ids := make([]string, 10_000) // as many datasources as a large site has pages
		for i := range ids {
			ids[i] = domain.NewID()
		}
		for _, id := range []string{ids[17], ids[9999], domain.NewID()} {
			if err := x.Write(t.Context(), s, someRows(id, 1, 2)); err != nil {
				t.Fatal(err)
			}
		}
		r, err := x.Search(t.Context(), s, index.Query{Text: "chunk", Vector: []float32{1, 0, 0, 0}, Limit: 100, Filter: index.Filter{DatasourceIDs: ids}})
		if err != nil || len(r.Hits) != 4 {
			t.Errorf("%d hits, want 4: %v", len(r.Hits), err)
		}
	})
}

func TestRows_of_one_and_of_two_dimensions(t *testing.T) {
	t.Parallel()
	onEveryServer(t, func(t *testing.T, addr string) {
		x := openForTest(t, addr, testPrefix(t, addr))
		for _, v := range [][]float32{{1}, {0.6, 0.8}} {
			s := space()
			s.Dimensions = len(v)
			r := someRows("ds", 1, 1)[0]
			r.Vector = v
			if err := x.Write(t.Context(), s, []index.Row{r}); err != nil {
				t.Fatal(err)
			}
			found, err := x.Search(t.Context(), s, index.Query{Vector: v, Limit: 1})
			if err != nil || len(found.Hits) != 1 || math.Abs(found.Hits[0].Dense-1) > 1e-6 {
				t.Errorf("%v finds %+v, %v", v, found.Hits, err)
			}
		}
	})
}

func TestBatches_are_bounded_in_rows_and_bytes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ rows, bytes, want int }{
		"none": {0, 10, 0}, "one": {1, 10, 1}, "as many as fit": {batchRows, 10, 1}, "one more": {batchRows + 1, 10, 2},
		"large ones": {10, batchBytes / 3, 5}, "each as large as a batch": {3, batchBytes, 3},
	} {
		var rows []*prepared
		for range c.rows {
			rows = append(rows, &prepared{row: &index.Row{Text: strings.Repeat("x", c.bytes)}})
		}
		n, total := 0, 0
		for part := range batches(rows) {
			n++
			total += len(part)
			if len(part) > batchRows {
				t.Errorf("%s: a batch of %d rows", name, len(part))
			}
		}
		if n != c.want || total != c.rows {
			t.Errorf("%s: %d rows in %d batches, want %d in %d", name, total, n, c.rows, c.want)
		}
	}
}
