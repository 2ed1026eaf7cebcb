package manual

import (
	"cmp"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/bounded"
)

// Search is the search path: GET Search?q=words returns up to maxHits hits as JSON.
const Search = Root + "/search.json"

const (
	maxHits     = 12
	maxQuery    = 100 // maximum length of a query in bytes; the rest is ignored
	maxPrefixes = 100 // maximum number of completions tried for an unfinished last word
)

// BM25F parameters. A word in a heading counts as much as headingWeight words in the text below it.
const (
	k1            = 1.2
	b             = 0.75
	headingWeight = 4
	titleWeight   = 2
	// Factor for a passage that contains the whole query verbatim. It favours exact names, such as those of settings.
	verbatimFactor = 2
	// Factor for the beginning of a page if the query, for example "embed", is the last part of the page's address.
	addressFactor = 4
	// Factor for decision records and history. It is below 1 because most readers want to know how to use the program.
	decisionFactor = 0.6
)

// passageLength is the length in bytes beyond which a section's next block starts a new passage.
const passageLength = 800

// passage is a sequence of blocks in a page's section.
type passage struct {
	page    string // title of the page
	heading string // "": the beginning of the page
	at      string
	text    string
	factor  float64 // factor for the passage's scores
}

// Hit is a section or whole page that matches a query.
type Hit struct {
	Page string `json:"page"`
	Text string `json:"text,omitempty"` // heading; absent: the page itself
	At   string `json:"at"`
	// Excerpt is the part of the passage with the most query words. It is split before and after each of these words,
	// so that the words are the elements with odd indexes.
	Excerpt []string `json:"excerpt,omitempty"`
}

// searcher finds passages by their words, using the service's own text analysis. It is immutable.
type searcher struct {
	passages []passage
	lower    []string             // the passages' texts in lower case
	postings map[string][]posting // by term, in order of passages
	lengths  []float64            // weighted word count of each passage
	average  float64
	words    []string // all words in lower case, sorted; used to complete an unfinished word
}

type posting struct {
	passage int
	tf      float64
}

func newSearcher(passages []passage) *searcher {
	s := &searcher{passages: passages, postings: map[string][]posting{}, lengths: make([]float64, len(passages))}
	vocabulary := map[string]bool{}
	analyzer := analysis.Borrow()
	defer analyzer.Return()
	for i, p := range passages {
		s.lower = append(s.lower, strings.ToLower(p.text))
		tf := map[string]float64{}
		for _, field := range []struct {
			text   string
			weight float64
		}{{p.text, 1}, {cmp.Or(p.heading, p.page), headingWeight}, {p.page, titleWeight}} {
			for _, term := range analyzer.Terms(field.text, analysis.English) {
				tf[term] += field.weight
				s.lengths[i] += field.weight
			}
			eachWord(field.text, func(from, to int) bool {
				vocabulary[strings.ToLower(field.text[from:to])] = true
				return true
			})
		}
		for term, n := range tf {
			s.postings[term] = append(s.postings[term], posting{i, n})
		}
		s.average += s.lengths[i] / float64(len(passages))
	}
	s.words = slices.Sorted(maps.Keys(vocabulary))
	return s
}

// find returns the sections that match a query, best first. The last word may be incomplete unless a space follows it.
func (s *searcher) find(query string) []Hit {
	query = bounded.Prefix(query, maxQuery)
	words := s.wordsOf(query)
	if len(words) == 0 {
		return []Hit{}
	}
	analyzer := analysis.Borrow()
	defer analyzer.Return()
	scores := map[int]float64{}
	matched := map[int]int{}
	terms := map[string]bool{}
	for _, forms := range words {
		best := map[int]float64{} // best score per passage: if several forms of a word match, only the best one counts
		for _, form := range forms {
			terms[form] = true
			list := s.postings[form]
			idf := math.Log1p((float64(len(s.passages)-len(list)) + 0.5) / (float64(len(list)) + 0.5))
			for _, p := range list {
				norm := k1 * (1 - b + b*s.lengths[p.passage]/s.average)
				best[p.passage] = max(best[p.passage], idf*p.tf*(k1+1)/(p.tf+norm))
			}
		}
		for passage, score := range best {
			scores[passage] += score
			matched[passage]++
		}
	}
	found := make([]int, 0, len(scores))
	verbatim := strings.ToLower(strings.TrimSpace(query))
	for i := range scores {
		scores[i] *= s.passages[i].factor * float64(matched[i]) / float64(len(words))
		if len(words) > 1 && strings.Contains(s.lower[i], verbatim) {
			scores[i] *= verbatimFactor
		}
		if p := s.passages[i]; p.heading == "" && path.Base(p.at) == verbatim {
			scores[i] *= addressFactor
		}
		found = append(found, i)
	}
	slices.SortFunc(found, func(a, b int) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b)) })
	hits := make([]Hit, 0, maxHits)
	for _, i := range found {
		p := s.passages[i]
		if len(hits) == maxHits {
			break
		}
		if !slices.ContainsFunc(hits, func(h Hit) bool { return h.At == p.at }) {
			hits = append(hits, Hit{Page: p.page, Text: p.heading, At: p.at, Excerpt: excerpt(p.text, terms, analyzer)})
		}
	}
	return hits
}

// wordsOf returns one list of terms per query word. The word matches each of these terms.
func (s *searcher) wordsOf(query string) [][]string {
	var out [][]string
	for _, q := range analysis.Query(query, []analysis.Language{analysis.English}) {
		out = append(out, q.Forms)
	}
	last := ""
	eachWord(query, func(from, to int) bool {
		last = ""
		if to == len(query) {
			last = strings.ToLower(query[from:])
		}
		return true
	})
	if utf8.RuneCountInString(last) < 2 || len(out) == 0 {
		return out
	}
	forms := out[len(out)-1]
	if lastForms := analysis.Terms(last, analysis.English); len(lastForms) != 1 || !slices.Contains(forms, lastForms[0]) {
		return out // the last word is a function word, which the analysis drops
	}
	at, _ := slices.BinarySearch(s.words, last)
	for n := 0; n < maxPrefixes && at < len(s.words) && strings.HasPrefix(s.words[at], last); n, at = n+1, at+1 {
		for _, term := range analysis.Terms(s.words[at], analysis.English) {
			if !slices.Contains(forms, term) {
				forms = append(forms, term)
			}
		}
	}
	out[len(out)-1] = forms
	return out
}

// excerptLength is the approximate length of an excerpt in bytes.
const excerptLength = 160

// excerpt returns the part of a text that contains the most distinct terms. The part is split so that each matching
// word is a separate element.
func excerpt(text string, terms map[string]bool, analyzer *analysis.Analyzer) []string {
	type span struct {
		from, to int
		term     string
	}
	var spans []span
	eachWord(text, func(from, to int) bool {
		for _, term := range analyzer.Terms(text[from:to], analysis.English) {
			if terms[term] {
				spans = append(spans, span{from, to, term})
				break
			}
		}
		return true
	})
	first, limit := 0, 0
	for i := range spans {
		different := map[string]bool{}
		for _, other := range spans[i:] {
			if other.to > spans[i].from+excerptLength {
				break
			}
			different[other.term] = true
		}
		if len(different) > limit {
			first, limit = i, len(different)
		}
	}
	from := 0
	if len(spans) > 0 && spans[first].from > excerptLength/2 {
		from = spans[first].from - excerptLength/4
		if space := strings.IndexByte(text[from:spans[first].from], ' '); space >= 0 {
			from += space + 1
		} else {
			from = spans[first].from
		}
	}
	to := len(text)
	if to-from > excerptLength {
		to = from + len(bounded.Prefix(text[from:], excerptLength))
		if space := strings.LastIndexByte(text[from:to], ' '); space > 0 {
			to = from + space
		}
	}
	lead := ""
	if from > 0 {
		lead = "… "
	}
	out := []string{lead}
	at := from
	for _, s := range spans {
		if s.from >= from && s.to <= to {
			out[len(out)-1] += text[at:s.from]
			out = append(out, text[s.from:s.to], "")
			at = s.to
		}
	}
	out[len(out)-1] += text[at:to]
	if to < len(text) {
		out[len(out)-1] += " …"
	}
	return out
}

// eachWord calls `visit` with the bounds of each run of letters, marks, digits and underscores, until `visit` returns
// false.
func eachWord(text string, visit func(from, to int) bool) {
	from := -1
	for i, r := range text {
		inside := r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
		switch {
		case inside && from < 0:
			from = i
		case !inside && from >= 0:
			if !visit(from, i) {
				return
			}
			from = -1
		}
	}
	if from >= 0 {
		visit(from, len(text))
	}
}
