package analysis

import (
	"slices"
)

// Terms returns the index terms of a text in the language that Detect told, in reading order, as often as they occur;
// at most MaxTerms.
func Terms(text string, lang Language) []string {
	a := analyzer{lang: lang, stems: make(map[string]string, 64)}
	out := make([]string, 0, min(len(text)/6+1, MaxTerms))
	tokens(text, func(t token) bool {
		out = append(out, a.term(t))
		return len(out) < MaxTerms
	})
	return out
}

// analyzer makes terms of one language and remembers the stems of the text it works on.
type analyzer struct {
	lang  Language
	stems map[string]string
}

func (a *analyzer) term(t token) string {
	switch t.kind {
	case kindDense:
		return t.text
	case kindWhole:
		return fold(t.text)
	}
	if s, ok := a.stems[t.text]; ok {
		return s
	}
	s := term(t.text, a.lang)
	a.stems[t.text] = s
	return s
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
	analyzers := make([]analyzer, len(all))
	for i, l := range all {
		analyzers[i] = analyzer{lang: l, stems: make(map[string]string)}
	}
	var kept, dropped []QueryTerm
	seen := make(map[string]bool)
	tokens(text, func(t token) bool {
		q := queryTerm(t, analyzers)
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
func queryTerm(t token, analyzers []analyzer) QueryTerm {
	var q QueryTerm
	for i := range analyzers {
		if form := analyzers[i].term(t); !slices.Contains(q.Forms, form) {
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
	if lang, ok := vote(words, among); ok {
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
