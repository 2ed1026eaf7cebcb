package analysis

import (
	_ "embed"
	"iter"
	"maps"
	"slices"
	"strings"
)

// stopwords.txt has one line per language: its code, a colon and its function words. Queries drop these words, but
// documents keep them. They are also used to detect languages.
//
//go:embed stopwords.txt
var stopWordsText string

var (
	stopWords = parseStopWords(stopWordsText)
	// stopWordLanguages maps each function word to its languages.
	stopWordLanguages = byWord(stopWords)
	latinLanguages    = []Language{English, "de", "fr", "es", "it", "pt", "nl", "sv", "da", "no", "fi", "hu", "ro", "tr", "ga", "pl", "cs", "id", Vietnamese, "yo", "sw"}
	cyrillicLanguages = []Language{"ru", "uk", "bg"}
	arabicLanguages   = []Language{"ar", "fa", "ur"}

	latinVotes    = newFunctionWordVotes(latinLanguages, maps.Keys(stopWordLanguages))
	cyrillicVotes = newFunctionWordVotes(cyrillicLanguages, maps.Keys(stopWordLanguages))
	arabicVotes   = newFunctionWordVotes(arabicLanguages, maps.Keys(stopWordLanguages))
)

// Maximum number of languages in a functionWordVotes: one per bit.
const maxVoteLanguages = 64

// functionWordVotes maps each function word to the languages it votes for: bit i of byWord[word] stands for langs[i].
type functionWordVotes struct {
	langs  []Language
	byWord map[string]uint64
}

func newFunctionWordVotes(langs []Language, words iter.Seq[string]) functionWordVotes {
	langs = langs[:min(len(langs), maxVoteLanguages)]
	e := functionWordVotes{langs, make(map[string]uint64)}
	for w := range words {
		for _, lang := range stopWordLanguages[w] {
			if i := slices.Index(langs, lang); i >= 0 {
				e.byWord[w] |= 1 << i
			}
		}
	}
	return e
}

// IsFunctionWord reports whether a lower-case word is a function word in a language. Queries drop such words.
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
