package analysis

import (
	_ "embed"
	"iter"
	"maps"
	"slices"
	"strings"
)

// stopwords.txt holds one language a line: its code, a colon, its function words. They are dropped from queries and
// tell languages apart; documents keep them.
//
//go:embed stopwords.txt
var stopWordsText string

var (
	stopWords = parseStopWords(stopWordsText)
	// stopWordLanguages lists the languages of each function word.
	stopWordLanguages = byWord(stopWords)
	latinLanguages    = []Language{English, "de", "fr", "es", "it", "pt", "nl", "sv", "da", "no", "fi", "hu", "ro", "tr", "ga", "pl", "cs", "id", Vietnamese, "yo", "sw"}
	cyrillicLanguages = []Language{"ru", "uk", "bg"}
	arabicLanguages   = []Language{"ar", "fa", "ur"}

	latinElectorate    = electorateOf(latinLanguages, maps.Keys(stopWordLanguages))
	cyrillicElectorate = electorateOf(cyrillicLanguages, maps.Keys(stopWordLanguages))
	arabicElectorate   = electorateOf(arabicLanguages, maps.Keys(stopWordLanguages))
)

// maxElectorate is how many languages votes are counted for; there are half as many.
const maxElectorate = 64

// electorate is languages that words may vote for, and which of them has a word among its function words: the bit of its
// place in langs is set.
type electorate struct {
	langs []Language
	of    map[string]uint64
}

// electorateOf prepares the votes of those words.
func electorateOf(langs []Language, words iter.Seq[string]) electorate {
	langs = langs[:min(len(langs), maxElectorate)]
	e := electorate{langs, make(map[string]uint64)}
	for w := range words {
		for _, lang := range stopWordLanguages[w] {
			if i := slices.Index(langs, lang); i >= 0 {
				e.of[w] |= 1 << i
			}
		}
	}
	return e
}

// IsFunctionWord reports whether a word in lower case is one of those of a language that are dropped from queries.
func IsFunctionWord(word string, lang Language) bool { return stopWords[lang][word] }

func parseStopWords(text string) map[Language]map[string]bool {
	sets := make(map[Language]map[string]bool)
	for line := range strings.Lines(text) {
		code, words, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		lang := Language(strings.TrimSpace(code))
		if sets[lang] == nil {
			sets[lang] = make(map[string]bool)
		}
		for word := range strings.FieldsSeq(words) {
			sets[lang][word] = true
		}
	}
	return sets
}

func byWord(sets map[Language]map[string]bool) map[string][]Language {
	out := make(map[string][]Language)
	for lang, set := range sets {
		for word := range set {
			out[word] = append(out[word], lang)
		}
	}
	return out
}
