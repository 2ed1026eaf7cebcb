package analysis

import (
	"slices"
	"strings"
	"sync"
)

// Terms returns the index terms of a text in the language that Detect told, in reading order, as often as they occur;
// at most MaxTerms.
func Terms(text string, lang Language) []string { return new(Analyzer).Terms(text, lang) }

// Analyzer makes terms and remembers stems from text to text, which is worth it for a batch of related texts. Its zero
// value is ready; it is not safe for concurrent use.
type Analyzer struct {
	stems map[Language]map[string]string

	// Of batches: terms by the numbers that they have here, and words as they are written.
	terms   []string
	epoch   uint32 // grows when terms are numbered anew
	numbers map[string]uint32
	notes   []numbered
	batch   uint32 // the newest one; the first is 1
	words   wordTable
	// Of the text that is being read.
	found []*knownWord
	lower []string
	votes []uint64
}

var analyzers = sync.Pool{New: func() any { return new(Analyzer) }}

// Borrow returns an Analyzer that may remember the stems of other texts already, to be given back by Return.
func Borrow() *Analyzer { return analyzers.Get().(*Analyzer) }

// Return gives back a borrowed Analyzer, which is not to be used any more.
func (a *Analyzer) Return() { analyzers.Put(a) }

// maxStems is how many stems an Analyzer remembers of a language before it starts anew: a few megabytes.
const maxStems = 20_000

// Terms is like the function Terms.
func (a *Analyzer) Terms(text string, lang Language) []string {
	out := make([]string, 0, min(len(text)/6+1, MaxTerms))
	tokens(text, func(t token) bool {
		out = append(out, a.term(t, lang))
		return len(out) < MaxTerms
	})
	return out
}

func (a *Analyzer) term(t token, lang Language) string {
	if t.kind == kindDense || t.kind == kindWhole {
		return termOf(t, lang)
	}
	if s, ok := a.stems[lang][t.text]; ok {
		return s
	}
	if a.stems == nil {
		a.stems = make(map[Language]map[string]string)
	}
	if a.stems[lang] == nil || len(a.stems[lang]) >= maxStems {
		a.stems[lang] = make(map[string]string)
	}
	text := strings.Clone(t.text) // which a term may be a part of: what is remembered holds no document
	s := term(text, lang)
	a.stems[lang][text] = s
	return s
}

// termOf makes the term of a token.
func termOf(t token, lang Language) string {
	switch t.kind {
	case kindDense:
		return t.text
	case kindWhole:
		return fold(t.text)
	}
	return term(t.text, lang)
}

// QueryTerm is one word of a query: what it is called in results, and the index terms that count as it. Name is one of
// Forms.
type QueryTerm struct {
	Name  string
	Forms []string
}

// Query returns the different words of a query for documents in the given languages (as Detect told them; none: English
// and what the query itself shows), in order, at most MaxQueryTerms. Function words of the query's language are dropped,
// unless there is nothing else.
func Query(text string, langs []Language) []QueryTerm {
	text = prefix(text, maxQueryBytes)
	lang, stop := queryLanguage(text, langs)
	all := plausible(lang, langs)
	var kept, dropped []QueryTerm
	seen := make(map[string]bool)
	tokens(text, func(t token) bool {
		q := queryTerm(t, all)
		if seen[q.Name] {
			return true
		}
		seen[q.Name] = true
		if stop[t.text] {
			dropped = append(dropped, q)
		} else {
			kept = append(kept, q)
		}
		return len(kept) < MaxQueryTerms && len(dropped) < MaxQueryTerms
	})
	if len(kept) == 0 {
		return dropped
	}
	return kept
}

// queryTerm gathers the forms of a word: its stem in the likeliest language first, which names it.
func queryTerm(t token, langs []Language) QueryTerm {
	var q QueryTerm
	for _, lang := range langs {
		if form := termOf(t, lang); !slices.Contains(q.Forms, form) {
			q.Forms = append(q.Forms, form)
		}
	}
	q.Name = q.Forms[0]
	return q
}

// queryLanguage tells the query's language, among those of the documents where it can be told, and the function words
// to drop.
func queryLanguage(text string, langs []Language) (Language, map[string]bool) {
	words, scripts := survey(text)
	script := scripts.most()
	among := langs
	if len(langs) == 0 {
		among = latinLanguages
	}
	if lang, ok := vote(words, electorateOf(among, slices.Values(words))); ok {
		return lang, stopWords[lang]
	}
	detected := Detect(text)
	switch {
	case script == scriptLatin && len(langs) > 0 && !slices.Contains(langs, detected):
		return langs[0], stopWords[langs[0]]
	case detected == Unknown:
		return English, stopWords[English]
	}
	return detected, stopWords[detected]
}

// plausible lists the languages whose stems a query word gets: its own, those of the documents, and none at all.
func plausible(lang Language, langs []Language) []Language {
	out := []Language{lang}
	for _, l := range append(slices.Clone(langs), English, Unknown) {
		if !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	return out
}
