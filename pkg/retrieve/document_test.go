package retrieve

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/index"
)

// numberOf returns a number that identifies a datasource.
func numberOf(datasource string) (n int) {
	for _, b := range []byte(datasource) {
		n = n<<8 | int(b)
	}
	return n
}

// counted returns a candidate with `length` words. `words` says how often some words occur, e.g. "gate:3 weir:1".
func counted(datasource string, ordinal, length int, lexical float64, words string) candidate {
	c := candidate{lexical: lexical, number: numberOf(datasource), hit: &index.Hit{
		Row: index.Row{Key: fmt.Sprint(datasource, ":1:", ordinal), DatasourceID: datasource, Ordinal: ordinal}, Length: length,
	}}
	for word := range strings.FieldsSeq(words) {
		var n int
		name, count, _ := strings.Cut(word, ":")
		_, _ = fmt.Sscan(count, &n)
		c.hit.Terms, c.hit.Counts = append(c.hit.Terms, name), append(c.hit.Counts, n)
	}
	return c
}

func TestOnlyNeighboursCountForAChunk(t *testing.T) {
	t.Parallel()
	found := []candidate{
		counted("book", 200, 80, 0.4, "weir:1"), counted("book", 10, 80, 0.4, "gate:1"), counted("book", 100, 80, 0.4, "gate:1"),
		counted("book", 100+windowReach, 80, 0.4, "weir:1"), counted("book", 300, 80, 0.4, "gate:1"), counted("book", 301+windowReach, 80, 0.4, "weir:1"),
		counted("leaflet", 0, 80, 0.4, "gate:1 weir:1"),
	}
	weighDocuments(byDocument(found), map[string]float64{"gate": 3, "weir": 3})
	both, one := found[2].document, found[1].document
	for i, want := range []float64{one, one, both, both, one, one} {
		if math.Abs(found[i].document-want) > 1e-9 {
			t.Errorf("chunk %d scores %v as a part of its document, want %v", found[i].hit.Ordinal, found[i].document, want)
		}
	}
	if both <= one {
		t.Errorf("chunks with both words around them score %v, with one %v", both, one)
	}
	if leaflet := found[6].document; leaflet <= both {
		t.Errorf("a document that has both words in one chunk scores %v, one that has them in two %v", leaflet, both)
	}
}

func TestWeighDocuments(t *testing.T) {
	t.Parallel()
	even := map[string]float64{"gate": 3, "weir": 3}
	for name, test := range map[string]struct {
		weights map[string]float64
		found   []candidate
		want    []string // best first
	}{
		"a document that has both words in different chunks is above one that has one of them twice": {
			even,
			[]candidate{counted("one", 0, 80, 0.4, "gate:1"), counted("one", 1, 80, 0.4, "gate:1"), counted("both", 0, 80, 0.4, "gate:1"), counted("both", 1, 80, 0.4, "weir:1")},
			[]string{"both", "one"},
		},
		"of documents with the same words the shorter is above": {
			even,
			[]candidate{counted("long", 0, 300, 0.4, "gate:2"), counted("short", 0, 30, 0.4, "gate:2")},
			[]string{"short", "long"},
		},
		"many chunks with a word do not outweigh the rarer words": {
			map[string]float64{"gate": 1, "weir": 5},
			[]candidate{counted("much", 0, 80, 0.2, "gate:9"), counted("much", 1, 80, 0.2, "gate:9"), counted("much", 2, 80, 0.2, "gate:9"), counted("rare", 0, 80, 0.4, "weir:1")},
			[]string{"rare", "much"},
		},
		"a word that is all over one long document is rare all the same": {
			even,
			[]candidate{
				counted("weirs", 0, 80, 0.3, "weir:1"), counted("weirs", 1, 80, 0.3, "weir:1"), counted("weirs", 2, 80, 0.3, "weir:1"), counted("weirs", 3, 80, 0.3, "weir:1"),
				counted("a", 0, 320, 0.3, "gate:4"), counted("b", 0, 320, 0.3, "gate:4"), counted("c", 0, 320, 0.3, "gate:4"),
			},
			[]string{"weirs", "a", "b", "c"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			weighDocuments(byDocument(test.found), test.weights)
			scores := make(map[string]float64)
			for _, c := range test.found {
				if c.document <= 0 || c.document > 1 {
					t.Errorf("%s scores %v, not within 0 to 1", c.hit.Key, c.document)
				}
				if s, ok := scores[c.hit.DatasourceID]; ok && s != c.document {
					t.Errorf("chunks of %s score %v and %v as a document", c.hit.DatasourceID, s, c.document)
				}
				scores[c.hit.DatasourceID] = c.document
			}
			var got []string
			for id := range scores {
				got = append(got, id)
			}
			slices.SortFunc(got, func(a, b string) int {
				return cmp.Or(cmp.Compare(scores[b], scores[a]), strings.Compare(a, b))
			})
			if !slices.Equal(got, test.want) {
				t.Errorf("the order is %v, want %v: %v", got, test.want, scores)
			}
		})
	}
}

func TestWeighDocuments_takes_chunks_by_themselves_where_the_engine_counts_no_words(t *testing.T) {
	t.Parallel()
	found := []candidate{{lexical: 0.7, hit: &index.Hit{Terms: []string{"gate"}}}, {lexical: 0.2, hit: &index.Hit{}}}
	weighDocuments(byDocument(found), map[string]float64{"gate": 2})
	for _, c := range found {
		if c.document != c.lexical || c.words() != c.lexical {
			t.Errorf("a chunk of %v counts %v as a document and %v in all", c.lexical, c.document, c.words())
		}
	}
	weighDocuments(nil, nil)
}

func TestSmooth(t *testing.T) {
	t.Parallel()
	chunk := func(datasource string, ordinal int, score float64) *candidate {
		return &candidate{score: score, number: numberOf(datasource), hit: &index.Hit{Row: index.Row{DatasourceID: datasource, Ordinal: ordinal}}}
	}
	for name, test := range map[string]struct {
		all  []*candidate
		want []float64
	}{
		"a chunk beside a good one gains on one that stands alone": {
			[]*candidate{chunk("a", 0, 0.8), chunk("a", 1, 0.5), chunk("a", 7, 0.5)}, []float64{0.8, 0.515, 0.475},
		},
		"no document gains by having more chunks than another": {
			[]*candidate{chunk("a", 0, 0.8), chunk("a", 1, 0.8), chunk("a", 2, 0.8), chunk("b", 0, 0.8)}, []float64{0.76, 0.8, 0.76, 0.8},
		},
		"a neighbour that speaks against its query takes nothing": {
			[]*candidate{chunk("a", 0, 0.8), chunk("a", 1, -0.4)}, []float64{0.8, -0.36},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			smooth(test.all)
			for i, c := range test.all {
				if math.Abs(c.final-test.want[i]) > 1e-9 {
					t.Errorf("chunk %d of %s ends at %v, want %v", c.hit.Ordinal, c.hit.DatasourceID, c.final, test.want[i])
				}
			}
		})
	}
}

func TestDocumentsOfAQueryWithoutWordsHaveTheScoresOfTheirChunks(t *testing.T) {
	t.Parallel()
	found := []candidate{counted("a", 0, 80, 0, ""), counted("b", 0, 40, 0, "")}
	weighDocuments(byDocument(found), nil)
	for _, c := range found {
		if c.document != 0 {
			t.Errorf("document %s scores %v, want 0", c.hit.DatasourceID, c.document)
		}
	}
}

// BenchmarkWeighDocuments weighs as many candidates as a search can return, for eight words.
func BenchmarkWeighDocuments(b *testing.B) {
	weights := make(map[string]float64)
	var words []string
	for i := range 8 {
		w := fmt.Sprint("word", i)
		weights[w] = 2 + float64(i)
		words = append(words, w+":2")
	}
	var found []candidate
	for i := range 2 * minDepth {
		found = append(found, counted(fmt.Sprint("ds", i/3), i%3, 80, 0.4, strings.Join(words[i%4:i%4+5], " ")))
	}
	for b.Loop() {
		weighDocuments(byDocument(found), weights)
	}
}
