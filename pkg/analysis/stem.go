package analysis

import (
	"strings"
	"unicode/utf8"

	snowball "github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/irish"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/tamil"
	"github.com/blevesearch/snowballstem/turkish"
)

var stemmers = map[Language]func(*snowball.Env) bool{
	"ar": arabic.Stem, "da": danish.Stem, "nl": dutch.Stem, "en": english.Stem, "fi": finnish.Stem, "fr": french.Stem,
	"de": german.Stem, "hu": hungarian.Stem, "ga": irish.Stem, "it": italian.Stem, "no": norwegian.Stem,
	"pt": portuguese.Stem, "ro": romanian.Stem, "ru": russian.Stem, "es": spanish.Stem, "sv": swedish.Stem,
	"ta": tamil.Stem, "tr": turkish.Stem,
}

// The Romanian stemmer expects cedillas, as in older encodings, but modern text has commas below.
var cedillas = strings.NewReplacer("ș", "ş", "ț", "ţ")

// term returns the index term for a lower-case word: its stem in the given language, without diacritics or letter
// variants.
func term(word string, lang Language) string {
	switch lang {
	case Vietnamese:
		return unify(vietnamese(word), lang)
	case bareVietnamese:
		return barePrefix + unify(fold(word), lang)
	}
	return unify(stemmed(stemSpelling.Replace(word), lang), lang)
}

// stemSpelling replaces letters that the stemmers don't know: ё, and the dotted i from lower-casing İ.
var stemSpelling = strings.NewReplacer("ё", "е", "i\u0307", "i")

// stemmed returns the stem of a lower-case word without diacritics. Version 1 of this package used it as the index
// term, and rows not indexed since then still contain it.
func stemmed(word string, lang Language) string {
	if lang == Vietnamese {
		return word
	}
	stem := stemmers[lang]
	switch {
	case lang == Greek:
		return greekStem(fold(word))
	case stem == nil || !stemmable(word):
		return fold(word)
	case lang == "ro":
		word = cedillas.Replace(word)
	}
	return fold(snowballStem(word, stem))
}

// snowballStem runs a stemmer. Stemmers are generated code without bounds checks, so if one panics, snowballStem returns
// the word unchanged.
func snowballStem(word string, stem func(*snowball.Env) bool) (out string) {
	defer func() {
		if recover() != nil {
			out = word
		}
	}()
	env := snowball.NewEnv(word)
	stem(env)
	if env.Current() == "" {
		return word
	}
	return env.Current()
}

// stemmable reports whether a word has no digits and is long enough to have an ending.
func stemmable(word string) bool {
	return utf8.RuneCountInString(word) > 2 && !hasDigit(word)
}

// greekEndings are the inflectional endings of nouns, adjectives and common verbs, without accents, longest first.
var greekEndings = []string{
	"οντουσαν", "ομασταν", "ηματων", "ηματος", "ουσαμε", "ουσατε", "ομαστε", "ηματα", "ματων", "ματος", "οντας", "ονται", "ονταν",
	"ησεις", "εικων", "ισμος", "ισμου", "ουσαν", "ουμε", "ματα", "ησης", "ησαν", "εται", "ουνε", "ειων", "εων", "εως", "ους",
	"ουν", "εις", "ους", "ικος", "ιων", "ηση", "ιας", "ιου", "ιες", "ιοι", "ιο", "ια", "ων", "ος", "ου", "ον", "οι", "ης", "ες",
	"ας", "αν", "ει", "εν", "ω", "ο", "η", "α", "ε", "ι", "υ",
}

// greekStem removes the ending from a Greek word without accents. It keeps at least three letters.
func greekStem(word string) string {
	n := utf8.RuneCountInString(word)
	if n < 4 || word[0] < 0x80 {
		return word
	}
	word = strings.ReplaceAll(word, "ς", "σ")
	for _, end := range greekEndings {
		end = strings.ReplaceAll(end, "ς", "σ")
		if n-utf8.RuneCountInString(end) >= 3 && strings.HasSuffix(word, end) {
			return strings.TrimSuffix(word, end)
		}
	}
	return word
}
