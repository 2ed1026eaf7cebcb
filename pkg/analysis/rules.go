package analysis

import (
	"iter"
	"slices"
	"strings"
	"sync"

	"golang.org/x/text/unicode/norm"
)

// SynonymWeight is the weight of a synonym's occurrence in a row. The query's own words have weight 1.
const SynonymWeight = 0.8

// Limits for query expansion.
const (
	maxAlternatives      = 16  // per term
	maxQueryAlternatives = 128 // per query
	maxPhraseUnits       = 16  // in the longest phrase to look up synonyms for
)

// Alternative is a word or phrase to accept in place of a query's word. Words holds the matching forms of each of its
// words. The alternative counts as often as the rarest of its words occurs in the row.
type Alternative struct{ Words [][]string }

// Synonym is a rule: queries that contain the phrase From also find rows that contain any of the phrases To.
type Synonym struct {
	From string
	To   []string
}

// Rules change what queries search for: they add synonyms, and drop or keep certain words. They are safe for concurrent
// use. A nil Rules changes nothing.
type Rules struct {
	synonyms   []Synonym
	stop, keep map[string]bool
	joined     []*Rules // by JoinRules; then the other fields are empty

	mu      sync.Mutex
	phrases map[Language]*phrases
}

// NewRules returns rules with the given synonyms. Queries drop the words in `stop`, and keep the function words in
// `keep`.
func NewRules(synonyms []Synonym, stop, keep []string) *Rules {
	return &Rules{synonyms: synonyms, stop: wordsIn(stop), keep: wordsIn(keep), phrases: make(map[Language]*phrases)}
}

// JoinRules returns rules with all synonyms in the given rules. The joined rules drop a word from queries only if all of
// the given rules do. Nil elements are ignored.
func JoinRules(all ...*Rules) *Rules {
	all = slices.DeleteFunc(all, func(r *Rules) bool { return r == nil })
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return &Rules{joined: all}
}

// wordsIn returns the texts that are single words, in the form that Word returns.
func wordsIn(texts []string) map[string]bool {
	out := make(map[string]bool)
	for _, text := range texts {
		if word, ok := Word(text); ok {
			out[word] = true
		}
	}
	return out
}

// Word returns the text in lower case if it is a single word, or a single character in a script without spaces.
// Otherwise ok is false.
func Word(text string) (word string, ok bool) {
	text = strings.ToLower(removeInvisible(norm.NFKC.String(strings.TrimSpace(text))))
	tokens(text, func(t token) bool {
		word = t.text
		return false
	})
	return word, word != "" && word == text
}

// Words returns how many words a text has when matching synonyms. In scripts without spaces, each character is a word.
// It stops counting at limit + 1.
func Words(text string, limit int) (n int) {
	for range units(text) {
		if n++; n > limit {
			break
		}
	}
	return n
}

// Folded returns a text's words in lower case, without diacritics, separated by spaces. Queries with the same folded
// form count as equal.
func Folded(text string) string {
	var words []string
	for t := range units(text) {
		words = append(words, unify(fold(t.text), Unknown))
	}
	return strings.Join(words, " ")
}

// drops reports whether queries drop a word. `stop` holds the function words in the query's language.
func (r *Rules) drops(word string, stop map[string]bool) bool {
	switch {
	case r == nil:
		return stop[word]
	case r.joined != nil:
		return !slices.ContainsFunc(r.joined, func(r *Rules) bool { return !r.drops(word, stop) })
	}
	return r.stop[word] || stop[word] && !r.keep[word]
}

// isUnit reports whether a token counts as a word in a phrase. In scripts without spaces, there are tokens for
// characters and for pairs of adjacent ones. Only the characters count, because the pairs repeat them.
func isUnit(t token) bool {
	if t.kind != kindUnspaced {
		return true
	}
	for range clusters(t.text) { // yields nothing for a single character
		return false
	}
	return true
}

// units yields the tokens in a text that count as words in a phrase.
func units(text string) iter.Seq[token] {
	return func(yield func(token) bool) {
		tokens(text, func(t token) bool { return !isUnit(t) || yield(t) })
	}
}

// phrases indexes phrases with synonyms by their terms in one language.
type phrases struct {
	lang   Language
	to     map[string][]string // synonyms by phrase, i.e. its terms joined with zero bytes
	starts map[string]int      // by first term: words in the longest phrase
}

func (r *Rules) in(lang Language) *phrases {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.phrases[lang]; p != nil {
		return p
	}
	p := &phrases{lang: lang, to: make(map[string][]string), starts: make(map[string]int)}
	for _, s := range r.synonyms {
		var terms []string
		for t := range units(s.From) {
			terms = append(terms, termOf(t, lang))
		}
		if len(terms) == 0 || len(terms) > maxPhraseUnits {
			continue
		}
		key := strings.Join(terms, "\x00")
		for _, to := range s.To {
			if len(p.to[key]) < maxAlternatives && !slices.Contains(p.to[key], to) {
				p.to[key] = append(p.to[key], to)
			}
		}
		p.starts[terms[0]] = max(p.starts[terms[0]], len(terms))
	}
	r.phrases[lang] = p
	return p
}

// expansion collects a query's words and finds their synonyms. A nil expansion does nothing.
type expansion struct {
	phrases []*phrases
	langs   []Language // languages for the synonyms' forms
	terms   [][]string // per element of phrases: the query words' terms in that language
	names   []string   // of the query terms
}

// expansion returns an expansion for a query in `lang`, with synonyms' forms in each of `langs`. It is nil if there are
// no synonyms.
func (r *Rules) expansion(lang Language, langs []Language) *expansion {
	if r == nil {
		return nil
	}
	e, all := &expansion{langs: langs}, r.joined
	if all == nil {
		all = []*Rules{r}
	}
	for _, r := range all {
		if len(r.synonyms) == 0 {
			continue
		}
		for _, of := range slices.Compact([]Language{lang, Unknown}) {
			e.phrases = append(e.phrases, r.in(of))
		}
	}
	if len(e.phrases) == 0 {
		return nil
	}
	e.terms = make([][]string, len(e.phrases))
	return e
}

// add adds a token from the query. `name` is the name of the token's query term.
func (e *expansion) add(t token, name string) {
	if e == nil || !isUnit(t) {
		return
	}
	for i, p := range e.phrases {
		e.terms[i] = append(e.terms[i], termOf(t, p.lang))
	}
	e.names = append(e.names, name)
}

// apply adds synonyms to `kept`, the query terms left after dropping function words and stop words, and returns the
// result. A phrase takes precedence over shorter ones inside it. If all of a phrase's words were dropped, its synonyms
// become a query term of their own.
func (e *expansion) apply(kept []QueryTerm) []QueryTerm {
	if e == nil {
		return kept
	}
	left := maxQueryAlternatives
	for at := 0; at < len(e.names); {
		n, to := e.match(at)
		var alternatives []Alternative
		for _, text := range to {
			if words := e.words(text); len(words) > 0 && left > 0 {
				alternatives = append(alternatives, Alternative{words})
				left--
			}
		}
		if len(alternatives) > 0 {
			kept = attach(kept, e.names[at:at+n], alternatives)
		}
		at += max(n, 1)
	}
	return kept
}

// match finds the longest phrase with synonyms that starts at the query's word `at`. It returns the phrase's number of
// words and its synonyms, or 0 and nil.
func (e *expansion) match(at int) (n int, to []string) {
	for i, p := range e.phrases {
		terms := e.terms[i][at:]
		for of := min(p.starts[terms[0]], len(terms)); of >= max(n, 1); of-- {
			found := p.to[strings.Join(terms[:of], "\x00")]
			switch {
			case len(found) == 0:
				continue
			case of > n:
				n, to = of, found
			default:
				to = slices.Concat(to, slices.DeleteFunc(slices.Clone(found), func(text string) bool { return slices.Contains(to, text) }))
			}
			break
		}
	}
	return n, to
}

// words returns the forms of each word in a synonym.
func (e *expansion) words(text string) (words [][]string) {
	var singles [][]string // characters in scripts without spaces
	pairs := false
	tokens(text, func(t token) bool {
		forms := queryTerm(t, e.langs).Forms
		switch {
		case t.kind != kindUnspaced:
			words = append(words, forms)
		case isUnit(t):
			singles = append(singles, forms)
		default:
			pairs = true
			words = append(words, forms)
		}
		return len(words) < maxPhraseUnits
	})
	if !pairs {
		words = append(words, singles...)
	}
	return words
}

// attach adds the alternatives to each term in `kept` whose name is one of `names`. If there is no such term, attach
// adds a new one for the alternatives.
func attach(kept []QueryTerm, names []string, alternatives []Alternative) []QueryTerm {
	attached := false
	for i := range kept {
		if !slices.Contains(names, kept[i].Name) {
			continue
		}
		attached = true
		for _, a := range alternatives {
			if a = a.without(kept[i].Forms); len(kept[i].Alternatives) < maxAlternatives && a.Words != nil {
				kept[i].Alternatives = append(kept[i].Alternatives, a)
			}
		}
	}
	if !attached && len(kept) < MaxQueryTerms {
		kept = append(kept, QueryTerm{Name: names[0], Alternatives: alternatives[:min(len(alternatives), maxAlternatives)], Count: 1})
	}
	return kept
}

// without removes the given forms from a single-word alternative, so that no word in a row counts both as the query's
// word and as its synonym. If no form is left, Words is nil. Phrases don't change.
func (a Alternative) without(forms []string) Alternative {
	if len(a.Words) > 1 {
		return a
	}
	rest := slices.DeleteFunc(slices.Clone(a.Words[0]), func(f string) bool { return slices.Contains(forms, f) })
	if len(rest) == 0 {
		return Alternative{}
	}
	return Alternative{[][]string{rest}}
}

// HasAlternative reports whether a text contains one of the term's alternatives. `has` reports whether the text contains
// an index term.
func (q QueryTerm) HasAlternative(has func(term string) bool) bool {
	return slices.ContainsFunc(q.Alternatives, func(a Alternative) bool {
		return !slices.ContainsFunc(a.Words, func(forms []string) bool { return !slices.ContainsFunc(forms, has) })
	})
}

// Identity returns a string that two terms share only if their forms and alternatives are equal.
func (q QueryTerm) Identity() string {
	if len(q.Alternatives) == 0 {
		return strings.Join(q.Forms, "\x00")
	}
	var b strings.Builder
	b.WriteString(strings.Join(q.Forms, "\x00"))
	for _, a := range q.Alternatives {
		b.WriteString("\x02")
		for _, forms := range a.Words {
			b.WriteString("\x01" + strings.Join(forms, "\x00"))
		}
	}
	return b.String()
}
