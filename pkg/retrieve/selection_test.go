package retrieve

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

// chunk returns a hit with the given text and offset.
func chunk(datasource string, ordinal int, lexical float64, offset int, text string) index.Hit {
	h := hit(datasource, ordinal, lexical, 0)
	h.Text, h.Offset = text, offset
	return h
}

// under returns the hit, but with the given heading.
func under(heading string, h index.Hit) index.Hit {
	h.Heading = heading
	return h
}

func retrieved(t *testing.T, w *fixture, mod ...func(*Request)) Result {
	t.Helper()
	res, err := w.retriever(Options{}).Retrieve(t.Context(), ask(append([]func(*Request){explained}, mod...)...))
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func explained(r *Request) { r.Explain = true }

func texts(res Result) []string {
	var out []string
	for _, f := range res.Fragments {
		out = append(out, f.Text)
	}
	return out
}

func TestAdjacentTopChunksAreMerged(t *testing.T) {
	t.Parallel()
	long := strings.Join(words(7, 450), " ")
	longer := strings.Join(words(8, 450), " ")
	tests := map[string]struct {
		hits []index.Hit
		want []string
	}{
		"in reading order, though the second is better":            {[]index.Hit{chunk("a", 4, 5, 0, "One."), chunk("a", 5, 9, 5, "Two.")}, []string{"One. Two."}},
		"three of them, joined from the middle":                    {[]index.Hit{chunk("a", 0, 8, 0, "One."), chunk("a", 1, 9, 6, "Two."), chunk("a", 2, 7, 12, "Three.")}, []string{"One.\n\nTwo.\n\nThree."}},
		"a fourth stands for itself":                               {[]index.Hit{chunk("a", 0, 9, 0, "One."), chunk("a", 1, 8, 5, "Two."), chunk("a", 2, 7, 10, "Three."), chunk("a", 3, 6, 17, "Four.")}, []string{"One. Two. Three.", "Four."}},
		"what the second repeats of the first stands once":         {[]index.Hit{chunk("a", 0, 9, 0, "It is old. It opens at nine sharp."), chunk("a", 1, 8, 11, "It opens at nine sharp. It shuts at ten.")}, []string{"It is old. It opens at nine sharp. It shuts at ten."}},
		"a table's header stands once":                             {[]index.Hit{chunk("a", 0, 9, 0, "Name\tPrice\nGate\t5"), chunk("a", 1, 8, 19, "Name\tPrice\nDoor\t7")}, []string{"Name\tPrice\nGate\t5\nDoor\t7"}},
		"sentences without spaces are joined without":              {[]index.Hit{chunk("a", 0, 9, 0, "门在九点开。"), chunk("a", 1, 8, 18, "十点关。")}, []string{"门在九点开。十点关。"}},
		"lines of code stay lines":                                 {[]index.Hit{chunk("a", 0, 9, 0, "if open {\n\tenter()"), chunk("a", 1, 8, 19, "}\nleave()")}, []string{"if open {\n\tenter()\n}\nleave()"}},
		"chunks of different headings stay apart":                  {[]index.Hit{under("Gates", chunk("a", 0, 9, 0, "One.")), under("Doors", chunk("a", 1, 8, 5, "Two."))}, []string{"One.", "Two."}},
		"chunks of different datasources stay apart":               {[]index.Hit{chunk("a", 0, 9, 0, "One."), chunk("b", 1, 8, 5, "Two.")}, []string{"One.", "Two."}},
		"chunks that are large stay apart":                         {[]index.Hit{chunk("a", 0, 9, 0, long), chunk("a", 1, 8, len(long)+1, longer)}, []string{long, longer}},
		"a chunk between two that are not neighbours is not added": {[]index.Hit{chunk("a", 0, 9, 0, "One."), chunk("a", 2, 8, 10, "Three.")}, []string{"One.", "Three."}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := retrieved(t, newFixture(test.hits...))
			if diff := cmp.Diff(test.want, texts(res)); diff != "" {
				t.Fatal(diff)
			}
			merged := len(test.hits) - len(test.want)
			if res.Explanation.Dropped.Merged != merged || len(res.Explanation.Fragments[0].Merged) != merged {
				t.Errorf("the explanation tells of %+v", res.Explanation)
			}
		})
	}
}

func TestAMergedFragmentHasTheRankOfItsBestChunk(t *testing.T) {
	t.Parallel()
	first, best := chunk("a", 0, 5, 0, "One."), chunk("a", 1, 9, 5, "Two.")
	first.Page, best.Page = 1, 2
	res := retrieved(t, newFixture(first, best))
	f := res.Fragments[0]
	if f.ChunkID != "a:1:1" || f.Page != 2 || f.Offset != 5 || f.Score != displayScore(0.9+neighbourShare*0.5) && len(res.Fragments) != 1 {
		t.Errorf("%+v", f)
	}
}

func TestANeighbourThatRanksFarBehindIsNotMerged(t *testing.T) {
	t.Parallel()
	hits := []index.Hit{chunk("a", 0, 9, 0, "One."), chunk("a", 1, 0.1, 5, "Two.")}
	for i := range mergeWithin {
		hits = append(hits, chunk(fmt.Sprint("other", i), 0, 5, 0, fmt.Sprint("Another text, number ", i)))
	}
	res := retrieved(t, newFixture(hits...), func(r *Request) { r.TopK = 10 })
	if len(res.Fragments) != len(hits) || res.Explanation.Dropped.Merged != 0 {
		t.Errorf("%d fragments, %+v", len(res.Fragments), res.Explanation.Dropped)
	}
}

// words returns n words that depend on the seed.
func words(seed uint64, n int) []string {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%c%c%c%c", 'a'+r.IntN(26), 'a'+r.IntN(26), 'a'+r.IntN(26), 'a'+r.IntN(26))
	}
	return out
}

// characters returns 300 ideographs chosen by the seed, with `replaced` of them replaced by another ideograph.
func characters(seed uint64, replaced int) string {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]rune, 300)
	for i := range out {
		out[i] = rune(0x4E00 + r.IntN(2000))
	}
	for i := range replaced {
		out[i*10] = '门'
	}
	return string(out)
}

func TestNearDuplicatesAreFolded(t *testing.T) {
	t.Parallel()
	text := strings.Join(words(1, 120), " ")
	other := words(1, 120)
	other[60] = "otherwise"
	far := words(1, 120)
	for i := 0; i < len(far); i += 10 {
		far[i] = "otherwise"
	}
	tests := map[string]struct {
		a, b   string
		folded bool
	}{
		"equal texts": {"The gate opens.", "The gate opens.", true},
		"case, spaces and punctuation do not count": {"The gate opens -- slowly!", "the GATE\nopens,  slowly", true},
		"a word of many":                     {text, strings.Join(other, " "), true},
		"a word of ten":                      {text, strings.Join(far, " "), false},
		"a word of few":                      {"The gate opens.", "The door opens.", false},
		"a number":                           {text + " costs 10", text + " costs 12", false},
		"a point within a number":            {text + " costs 1.5", text + " costs 15", false},
		"texts without a letter":             {"-----", "*****", false},
		"texts without spaces":               {strings.Repeat("门在九点开。", 1), "门在九点开", true},
		"different texts without spaces":     {"门在九点开", "门在十点关", false},
		"a character of many without spaces": {characters(1, 0), characters(1, 1), true},
		"a character of ten without spaces":  {characters(1, 0), characters(1, 30), false},
		"texts of the same script":           {characters(1, 0), characters(2, 0), false},
		"the same words in another order":    {text, strings.Join(append(words(1, 120)[60:], words(1, 60)...), " "), true},
		"a text and its beginning":           {text, strings.Join(words(1, 80), " "), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := retrieved(t, newFixture(chunk("a", 0, 9, 0, test.a), chunk("b", 7, 8, 0, test.b)))
			if folded := len(res.Fragments) == 1; folded != test.folded {
				t.Fatalf("folded: %v", folded)
			}
			d := res.Explanation.Dropped
			if test.folded && (d.Duplicates != 1 || d.Chunks[0].For != "a:1:0" || d.Chunks[0].ChunkID != "b:1:7" || cmp.Diff([]string{"b:1:7"}, res.Explanation.Fragments[0].Duplicates) != "") {
				t.Errorf("the explanation tells of %+v", d)
			}
		})
	}
}

func TestATextWithAnotherQueryTermIsNotFolded(t *testing.T) {
	t.Parallel()
	base := words(1, 120)
	a, b := chunk("a", 0, 9, 0, strings.Join(base, " ")), chunk("b", 0, 8, 0, strings.Join(append(base[:119:119], "gate"), " "))
	a.Terms, b.Terms = []string{"open"}, []string{"gate", "open"}
	if res := retrieved(t, newFixture(a, b)); len(res.Fragments) != 2 {
		t.Errorf("%d fragments", len(res.Fragments))
	}
	a.Terms = []string{"gate", "open"}
	if res := retrieved(t, newFixture(a, b)); len(res.Fragments) != 1 {
		t.Errorf("%d fragments", len(res.Fragments))
	}
}

func TestFragmentsOfOneDatasourceAreBounded(t *testing.T) {
	t.Parallel()
	hits := []index.Hit{
		hit("a", 0, 9, 0), hit("a", 2, 8.9, 0), hit("a", 4, 8.8, 0), hit("b", 0, 5, 0), hit("b", 2, 4.9, 0), hit("c", 0, 1, 0),
	}
	for limit, want := range map[int][]string{
		0: {"a", "a", "a", "b", "b"},
		1: {"a", "b", "c"},
		2: {"a", "a", "b", "b", "c"},
	} {
		res := retrieved(t, newFixture(hits...), func(r *Request) { r.MaxPerDatasource = limit })
		if diff := cmp.Diff(want, ids(res.Fragments)); diff != "" {
			t.Errorf("%d: %s", limit, diff)
		}
		d := res.Explanation.Dropped
		if d.OverMax+d.Below != len(hits)-len(want) || len(d.Chunks) != d.OverMax+d.Below {
			t.Errorf("%d: the explanation tells of %+v", limit, d)
		}
	}
	_, err := newFixture().retriever(Options{}).Retrieve(t.Context(), ask(func(r *Request) { r.MaxPerDatasource = 101 }))
	if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), "maxPerDatasource: is 101; it must be between 1 and 100") {
		t.Error(err)
	}
}

func TestAnExplanationIsBounded(t *testing.T) {
	t.Parallel()
	var hits []index.Hit
	for i := range 95 {
		hits = append(hits, chunk("a", 2*i, 9, 0, "the same"))
	}
	res := retrieved(t, newFixture(hits...))
	e := res.Explanation
	if e.Dropped.Duplicates != 94 || len(e.Dropped.Chunks) != domain.MaxExplainedDrops || len(e.Fragments[0].Duplicates) != domain.MaxExplainedDrops {
		t.Errorf("%d duplicates, %d and %d named", e.Dropped.Duplicates, len(e.Dropped.Chunks), len(e.Fragments[0].Duplicates))
	}
	if name := e.Dropped.Chunks[0].DatasourceName; name == "" || name != res.Fragments[0].DatasourceName {
		t.Errorf("a dropped chunk is said to be of %q", name)
	}
}

func TestAnExplanationHasTheRanksOfAllStages(t *testing.T) {
	t.Parallel()
	best, other := hit("a", 0, 5, 0.6), hit("b", 0, 8, 0.1)
	best.Terms = []string{"gate"}
	res := retrieved(t, newFixture(best, other, hit("c", 0, 0, 0.3)))
	e := res.Explanation
	f := e.Fragments[0]
	if f.ChunkID != "a:1:0" || f.LexicalRank != 2 || f.DenseRank != 1 || f.FusedRank != 1 || f.Rank != 1 || f.RerankedRank != 0 || f.Lexical != 5 || f.Dense != 0.6 || cmp.Diff([]string{"gate"}, f.Terms) != "" {
		t.Errorf("%+v", f)
	}
	if last := e.Fragments[2]; last.LexicalRank != 0 || last.DenseRank != 2 {
		t.Errorf("%+v", last)
	}
	d := e.Datastores[0]
	if d.ID != "ds" || d.Model != "openai:x" || d.DenseWeight != DefaultDenseWeight || !d.Lexical || !d.Dense || d.Candidates != 3 || d.Depth != minDepth {
		t.Errorf("%+v", d)
	}
	if e.Candidates != 3 || e.Mode != domain.SearchHybrid || e.TopK != DefaultTopK || e.Terms["gate"] != 2 || cmp.Diff(map[string][]string{"gate": {"gate"}}, e.Words) != "" || e.Filters.Datasources != nil {
		t.Errorf("%+v", e)
	}
}

func TestAnExplanationOfFiltersThatSelectNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(hit("a", 0, 5, 0.5))
	w.resolve = func(domain.Filters) ([]string, error) { return []string{}, nil }
	res := retrieved(t, w, func(r *Request) { r.Filters.CustomIDs = []string{"none"} })
	if e := res.Explanation; e == nil || e.Filters.Datasources == nil || *e.Filters.Datasources != 0 || len(res.Fragments) != 0 {
		t.Errorf("%+v", e)
	}
}

func BenchmarkChoose(b *testing.B) {
	var found []datastoreResult
	space := datastoreResult{words: true}
	for i := range 400 {
		h := chunk(fmt.Sprint("d", i%40), i, float64(400-i)/40, 0, strings.Join(words(uint64(i), 130), " "))
		h.Complete = true
		space.candidates = append(space.candidates, candidate{hit: &h, number: i % 40, lexical: h.Lexical / 10})
	}
	found = append(found, space)
	for _, top := range []int{5, 100} {
		b.Run(fmt.Sprint("top", top), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for i := range space.candidates {
					space.candidates[i].compared, space.candidates[i].duplicateOf = false, nil
				}
				s := newSelection(Request{TopK: top})
				if err := s.choose(b.Context(), fused(b.Context(), found)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestAFragmentOfSeveralChunksHasTheAnchorOfItsFirstHeading(t *testing.T) {
	t.Parallel()
	first, second := chunk("a", 4, 5, 0, "One."), chunk("a", 5, 9, 5, "Two.")
	first.Anchor, second.Anchor = "one", "two"
	w := newFixture(first, second)
	page := w.active["a"]
	page.Type, page.SourceURL = domain.TypeWebPage, "https://docs.example/page"
	w.active["a"] = page
	res := retrieved(t, w)
	if len(res.Fragments) != 1 || res.Fragments[0].Source != "https://docs.example/page#one" {
		t.Errorf("the fragments are %+v", res.Fragments)
	}
}
