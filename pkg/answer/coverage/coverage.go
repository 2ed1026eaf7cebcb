// Package coverage measures what fraction of a query's content words fragments contain. The followup and answer
// packages use it to compare search results and to detect searches that found too little.
package coverage

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/answer/language"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/retrieve"
)

const (
	maxFragments = 10 // maximum number of fragments analysed

	// Minimum length in characters of the shorter of two related stems. Stems are related if one begins with the other,
	// as "weight" begins with "weigh".
	minCommonStem = 5
	stemShare     = 0.8 // share of a word's weight that counts if only a related stem is found
)

// Page holds the best fragments in a search result. It analyses a fragment only when needed, because a user is waiting
// and the first fragment usually covers the query. It is not safe for concurrent use.
type Page struct {
	fragments []domain.Fragment
	detected  []analysis.Language // language of each fragment
	languages []analysis.Language // distinct fragment languages
	terms     []map[string]bool   // terms in each fragment analysed so far
	weights   map[string]float64  // inverse document frequencies
	rarest    float64
	rules     *analysis.Rules // synonyms and stop words of the datastores
}

// Read reads the best fragments in a search result, with their headings and document names.
func Read(found retrieve.Result) *Page {
	p := &Page{weights: found.TermWeights, rarest: 1, rules: found.Rules, fragments: found.Fragments[:min(len(found.Fragments), maxFragments)]}
	for _, w := range found.TermWeights {
		p.rarest = max(p.rarest, w)
	}
	for _, f := range p.fragments {
		lang := analysis.Detect(f.Text)
		p.detected = append(p.detected, lang)
		if lang != analysis.Unknown && !slices.Contains(p.languages, lang) {
			p.languages = append(p.languages, lang)
		}
	}
	return p
}

// termsOf returns a fragment's terms, analysing it and all earlier ones first if necessary.
func (p *Page) termsOf(fragment int) map[string]bool {
	if fragment < len(p.terms) {
		return p.terms[fragment]
	}
	a := analysis.Borrow()
	defer a.Return()
	for i := len(p.terms); i <= fragment; i++ {
		f, terms := p.fragments[i], make(map[string]bool)
		for _, text := range []string{f.Text, f.Heading, documentName(f)} {
			for _, t := range a.Terms(text, p.detected[i]) {
				terms[t] = true
			}
		}
		p.terms = append(p.terms, terms)
	}
	return p.terms[fragment]
}

// documentName returns the words in a document's name, separated by spaces.
func documentName(f domain.Fragment) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return ' '
	}, f.DatasourceName)
}

// Empty reports whether the page has no fragments.
func (p *Page) Empty() bool { return len(p.fragments) == 0 }

// Languages returns the fragments' languages.
func (p *Page) Languages() []analysis.Language { return p.languages }

// Words are a query's content words, with weights.
type Words struct {
	terms   []analysis.QueryTerm
	weights []float64
	total   float64
}

// Words returns a text's content words: all except function words, question words, framing words, and words for which
// ignore returns true. The rarest words have the greatest weight. If a fragment contains only a word's synonym, the
// fraction analysis.SynonymWeight of the word's weight counts.
func (p *Page) Words(text string, ignore func(word string) bool) Words {
	kept := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`?!.,;:"()«»“”„`, r) })
	lang := language.Detect(text)
	n := 0
	for _, w := range kept {
		lower := strings.ToLower(w)
		if language.FramingWords[lower] || language.QuestionWords[lower] != nil || analysis.IsFunctionWord(lower, lang) || ignore != nil && ignore(lower) {
			continue
		}
		kept[n] = w
		n++
	}
	var out Words
	if n == 0 {
		return out
	}
	for _, t := range analysis.QueryWith(strings.Join(kept[:n], " "), p.languages, p.rules) {
		w := p.weight(t)
		out.terms, out.weights, out.total = append(out.terms, t), append(out.weights, w), out.total+w
	}
	return out
}

// weight returns a term's weight. A term of unknown weight gets the rarest term's weight.
func (p *Page) weight(t analysis.QueryTerm) float64 {
	for _, f := range append([]string{t.Name}, t.Forms...) {
		if w, ok := p.weights[f]; ok {
			return math.Max(w, 0.1)
		}
	}
	return p.rarest
}

// Len returns the number of words.
func (w Words) Len() int { return len(w.terms) }

// Without returns the words that are not in `others`.
func (w Words) Without(others Words) Words {
	var out Words
	has := make(map[string]bool)
	for _, t := range others.terms {
		for _, f := range append([]string{t.Name}, t.Forms...) {
			has[f] = true
		}
	}
	for i, t := range w.terms {
		if !has[t.Name] {
			out.terms, out.weights, out.total = append(out.terms, t), append(out.weights, w.weights[i]), out.total+w.weights[i]
		}
	}
	return out
}

// Best returns the largest fraction of the words, by weight, that any single fragment contains. If context is not
// empty, a fragment counts only if it contains at least the fraction `share` of context. Best returns 0 if no fragment
// counts or words is empty.
func (p *Page) Best(words, context Words, share float64) float64 {
	best := 0.0
	for i := range p.fragments {
		f := p.termsOf(i)
		if context.total == 0 || context.shareIn(f) >= share {
			best = max(best, words.shareIn(f))
		}
	}
	return best
}

// Covers reports whether any single fragment on the page contains at least the given fraction of the words, by weight.
func (p *Page) Covers(words Words, share float64) bool {
	for i := range p.fragments {
		if words.shareIn(p.termsOf(i)) >= share {
			return true
		}
	}
	return false
}

// shareIn returns the fraction of the words, by weight, that are among a fragment's terms.
func (w Words) shareIn(terms map[string]bool) float64 {
	if w.total == 0 {
		return 0
	}
	held := 0.0
	for i, t := range w.terms {
		held += w.weights[i] * matchDegree(terms, t)
	}
	return held / w.total
}

// matchDegree returns 1 if terms contains a form of the word, analysis.SynonymWeight for just a synonym, stemShare for
// just a related stem, and 0 otherwise.
func matchDegree(terms map[string]bool, t analysis.QueryTerm) float64 {
	for _, f := range t.Forms {
		if terms[f] {
			return 1
		}
	}
	if t.HasAlternative(func(term string) bool { return terms[term] }) {
		return analysis.SynonymWeight
	}
	for _, f := range t.Forms {
		if utf8.RuneCountInString(f) < minCommonStem || strings.ContainsFunc(f, unicode.IsDigit) {
			continue
		}
		for term := range terms {
			if isRelated(f, term) {
				return stemShare
			}
		}
	}
	return 0
}

// isRelated reports whether one stem begins with the other, which must have at least minCommonStem characters.
func isRelated(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return strings.HasPrefix(b, a) && utf8.RuneCountInString(a) >= minCommonStem
}
