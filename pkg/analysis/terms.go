package analysis

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/bounded"
)

// Terms returns up to MaxTerms index terms of a text in reading order, including repetitions. `lang` is the result of
// Detect.
func Terms(text string, lang Language) []string { return new(Analyzer).Terms(text, lang) }

// Analyzer computes terms. It caches stems, which saves time if texts have many words in common. The zero value is
// ready to use. It is not safe for concurrent use.
type Analyzer struct {
	stems map[Language]map[string]string

	// Used for batches only: terms indexed by number, and a cache of words already analysed.
	terms   []string
	epoch   uint32 // incremented when the terms are cleared
	numbers map[string]uint32
	states  []termState
	batch   uint32 // number of the latest batch, starting at 1
	words   wordTable
	// Scratch buffers for the current text.
	found []*knownWord
	lower []string
	votes []uint64
}

var analyzers = sync.Pool{New: func() any { return new(Analyzer) }}

// Borrow returns an Analyzer from a pool, which may have stems in its cache. Give it back with Return.
func Borrow() *Analyzer { return analyzers.Get().(*Analyzer) }

// Return puts a borrowed Analyzer back into the pool. The caller must not use it afterwards.
func (a *Analyzer) Return() { analyzers.Put(a) }

// Maximum number of stems cached per language (a few megabytes).
const maxStems = 20_000

// Terms is like the Terms function, but uses the Analyzer's caches.
func (a *Analyzer) Terms(text string, lang Language) []string {
	out := make([]string, 0, min(len(text)/6+1, MaxTerms))
	tokens(text, func(t token) bool {
		out = append(out, a.term(t, lang))
		if bare, ok := bareToken(t, lang); ok && len(out) < MaxTerms {
			out = append(out, a.term(bare, bareVietnamese))
		}
		return len(out) < MaxTerms
	})
	return out
}

// bareToken reports whether a token is a Vietnamese word with diacritics. Such a word is also indexed without
// diacritics: as the token that bareToken returns, in the language bareVietnamese.
func bareToken(t token, lang Language) (token, bool) {
	return t, lang == Vietnamese && t.kind == kindWord && !isASCII(t.text)
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

func (a *Analyzer) term(t token, lang Language) string {
	if t.kind == kindUnspaced || t.kind == kindWhole {
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
	text := strings.Clone(t.text) // a substring would keep the document in memory
	s := term(text, lang)
	a.stems[lang][text] = s
	return s
}

func termOf(t token, lang Language) string {
	switch t.kind {
	case kindUnspaced:
		return t.text
	case kindWhole:
		return unify(fold(t.text), Unknown)
	}
	return term(t.text, lang)
}

// termBefore is version 1 of termOf.
func termBefore(t token, lang Language) string {
	switch t.kind {
	case kindUnspaced:
		return t.text
	case kindWhole:
		return fold(t.text)
	}
	return stemmed(t.text, lang)
}

// QueryTerm is a word in a query. Forms are the index terms that match it, and Name is the form that stands for it in
// results. Count is how often the query contains it, but always 1 for characters in scripts without spaces and for
// Vietnamese syllables, which often repeat by chance.
//
// Alternatives are synonyms of the word or of the phrase it belongs to; see Rules. If all of the phrase's words were
// dropped from the query, Forms is empty, and only the Alternatives can match.
type QueryTerm struct {
	Name         string
	Forms        []string
	Alternatives []Alternative
	Count        int
}

// Query returns up to MaxQueryTerms distinct words in a query, in order. `langs` are the documents' languages, as
// returned by Detect. If there are none, Query uses English and the query's own language. It drops function words in
// the query's language, unless there are no other words.
//
// A query typed without diacritics also finds Vietnamese words that have them.
func Query(text string, langs []Language) []QueryTerm { return QueryWith(text, langs, nil) }

// QueryWith is like Query, but also applies the given rules, which may be nil.
func QueryWith(text string, langs []Language, rules *Rules) []QueryTerm {
	text = bounded.Prefix(text, maxQueryBytes)
	lang, stop, sure := queryLanguage(text, langs)
	all := stemLanguages(lang, langs)
	bare := (!sure || lang == Vietnamese) && slices.Contains(langs, Vietnamese) && isASCII(text)
	var kept, dropped []QueryTerm
	seen := make(map[string]int) // counts by term name
	expand := rules.expansion(lang, all)
	tokens(text, func(t token) bool {
		list := &kept
		if rules.drops(t.text, stop) {
			list = &dropped
		}
		q := queryTerm(t, all)
		expand.add(t, q.Name)
		if bare && t.kind == kindWord {
			q.Forms = append(q.Forms, term(t.text, bareVietnamese))
		}
		if seen[q.Name] == 0 {
			seen[q.Name] = 1
			*list = append(*list, q)
		} else if t.kind != kindUnspaced && lang != Vietnamese {
			seen[q.Name]++
		}
		return len(kept) < MaxQueryTerms && len(dropped) < MaxQueryTerms
	})
	if len(kept) == 0 {
		kept = dropped
	}
	for i := range kept {
		kept[i].Count = seen[kept[i].Name]
	}
	return expand.apply(kept)
}

// queryTerm returns the query term for a word. Its forms are the word's stems in the given languages, most likely
// language first, followed by earlier versions' terms. The first form is the name.
func queryTerm(t token, langs []Language) QueryTerm {
	var q QueryTerm
	for _, of := range []func(token, Language) string{termOf, termBefore} {
		for _, lang := range langs {
			if form := of(t, lang); !slices.Contains(q.Forms, form) {
				q.Forms = append(q.Forms, form)
			}
		}
	}
	q.Name = q.Forms[0]
	return q
}

// queryLanguage returns a query's language and the function words to drop. It prefers the documents' languages,
// `langs`. `sure` is true if function words identified the language.
func queryLanguage(text string, langs []Language) (lang Language, stop map[string]bool, sure bool) {
	words, scripts := countScripts(text)
	script := scripts.mainScript()
	among := langs
	if len(langs) == 0 {
		among = latinLanguages
	}
	if lang, ok := voteByFunctionWords(words, newFunctionWordVotes(among, slices.Values(words))); ok {
		return lang, stopWords[lang], true
	}
	detected := Detect(text)
	switch {
	case script == scriptLatin && len(langs) > 0 && !slices.Contains(langs, detected):
		return langs[0], stopWords[langs[0]], false
	case detected == Unknown:
		return English, stopWords[English], false
	}
	return detected, stopWords[detected], false
}

// stemLanguages returns the languages in which to stem query words: the query's own, the documents', English, and
// Unknown for the unstemmed word.
func stemLanguages(lang Language, langs []Language) []Language {
	out := []Language{lang}
	for _, l := range append(slices.Clone(langs), English, Unknown) {
		if !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	return out
}
