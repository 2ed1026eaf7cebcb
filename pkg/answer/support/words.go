package support

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/answer/language"
)

// word is a word in a text or, in scripts without spaces, a pair of adjacent characters.
type word struct {
	start, end int // in bytes
	lower      string
	terms      []string // the word itself and its stems, in the languages being compared
	function   bool     // whether it is a function word and so carries no content
	name       bool     // whether it is a proper name, or a code with letters and digits
	initial    bool     // whether it is capitalised at the start of a sentence, where that doesn't make it a name
	numbers    []string // a figure's possible values, in canonical form; nil for other words
	unit       string   // a figure's canonical unit; "" if the figure has no unit or an unknown one
	negation   negation
}

// isContent reports whether the word carries content. Figures and negations don't count.
func (w *word) isContent() bool { return !w.function && w.numbers == nil && w.negation == none }

// reader reads the words in texts. The zero value is not usable.
type reader struct {
	analyzer *analysis.Analyzer
	langs    []analysis.Language // the languages of the answer and its sources
	terms    map[string][]string // by lower-case word
}

// Maximum number of words in a reader's cache of terms.
const maxKeptTerms = 20_000

// read returns the words of text[from:to], at most `limit`.
func (r *reader) read(text string, from, to, limit int) []word {
	var out []word
	begins := true // whether a sentence begins here, so that a capital letter doesn't make a word a name
	for i := from; i < to && len(out) < limit; {
		c, size := utf8.DecodeRuneInString(text[i:to])
		switch {
		case unspaced(c):
			i = r.readUnspaced(&out, text, i, to)
			begins = false
		case unicode.IsDigit(c):
			i = r.readFigure(&out, text, i, to)
			begins = false
		case unicode.IsLetter(c):
			i = r.readWord(&out, text, i, to, begins)
			begins = false
		default:
			begins = begins || strings.ContainsRune(".!?:;\n\t|•“„«\"(", c)
			i += size
		}
	}
	r.finish(out, text)
	return out
}

// unspaced reports whether a character's script is compared in pairs of characters, as in the index.
func unspaced(r rune) bool {
	return r >= 0x0E00 && (language.IsUnspaced(r) || r == 'ー' || unicode.In(r, unicode.Hangul, unicode.Lao, unicode.Khmer, unicode.Myanmar))
}

// readUnspaced reads a word in a script without spaces and returns the offset of the next one. Pairs of characters
// overlap.
func (r *reader) readUnspaced(out *[]word, text string, i, to int) int {
	if n, numbers := hanNumber(text[i:to]); n > 0 {
		*out = append(*out, word{start: i, end: i + n, lower: text[i : i+n], numbers: numbers, unit: unitAt(text[i+n : to])})
		return i + n
	}
	c, size := utf8.DecodeRuneInString(text[i:to])
	if kana := katakanaRun(text[i:to]); kana > 0 {
		*out = append(*out, word{start: i, end: i + kana, lower: text[i : i+kana], terms: []string{text[i : i+kana]}, name: true})
		return i + kana
	}
	end := i + size
	next, width := utf8.DecodeRuneInString(text[end:to])
	if n, _ := hanNumber(text[end:to]); !unspaced(next) || n > 0 || katakanaRun(text[end:to]) > 0 {
		if before := len(*out) - 1; before >= 0 && (*out)[before].end >= end && (*out)[before].numbers == nil && !(*out)[before].name {
			return end // the previous pair's last character
		}
		*out = append(*out, word{start: i, end: end, lower: text[i:end], terms: []string{text[i:end]}, function: unicode.In(c, unicode.Hiragana)})
		return end
	}
	pair := text[i : end+width]
	// Pairs of hiragana are mostly endings and particles.
	function := unicode.In(c, unicode.Hiragana) && unicode.In(next, unicode.Hiragana)
	*out = append(*out, word{start: i, end: end + width, lower: pair, terms: []string{pair}, function: function})
	return end
}

// Minimum length, in characters, of a run of katakana that counts as a name or loanword.
const minKatakana = 3

// katakanaRun returns the length in bytes of the run of katakana at the start, or 0 if it is too short.
func katakanaRun(text string) int {
	end := strings.IndexFunc(text, func(r rune) bool { return !unicode.Is(unicode.Katakana, r) && r != 'ー' })
	if end < 0 {
		end = len(text)
	}
	if utf8.RuneCountInString(text[:end]) < minKatakana {
		return 0
	}
	return end
}

// readWord reads a word, including any digits in it, and returns the offset after it. begins means that it is the first
// word in a sentence.
func (r *reader) readWord(out *[]word, text string, i, to int, begins bool) int {
	end, digits, letters, upper := i, 0, 0, 0
	for end < to {
		c, size := utf8.DecodeRuneInString(text[end:to])
		switch {
		case unspaced(c):
			size = 0
		case unicode.IsLetter(c):
			letters++
			if unicode.IsUpper(c) {
				upper++
			}
		case unicode.IsDigit(c):
			digits++
		case unicode.IsMark(c) || c == 0xAD:
		case strings.ContainsRune("'’-_./", c): // inside a word or code: don't, AX-200, v1.2
			next, _ := utf8.DecodeRuneInString(text[end+size : to])
			joins := unicode.IsLetter(next) || unicode.IsDigit(next)
			if unspaced(next) || !joins || (c == '.' || c == '/') && digits == 0 && !unicode.IsDigit(next) || c == '-' && digits == 0 && !unicode.IsDigit(next) {
				size = 0
			}
		default:
			size = 0
		}
		if size == 0 {
			break
		}
		end += size
	}
	w := word{start: i, end: end, lower: strings.ToLower(text[i:end])}
	first, _ := utf8.DecodeRuneInString(text[i:end])
	capital := unicode.IsUpper(first)
	w.name = digits > 0 || capital && upper > 1 && letters > 1 || capital && !begins && letters > 1
	w.initial = capital && begins && letters > 1
	r.fill(&w)
	*out = append(*out, w)
	return end
}

// fill sets a word's fields that don't depend on other words.
func (r *reader) fill(w *word) {
	if value := numberWords[w.lower]; value != "" && (numberIn[w.lower] == "" || numberIn[w.lower] == r.langs[0]) {
		w.numbers, w.name = []string{value}, false
		return
	}
	if w.negation = negationOf(w.lower, r.langs); w.negation != none {
		w.name = false
		return
	}
	for _, lang := range r.langs {
		w.function = w.function || analysis.IsFunctionWord(w.lower, lang)
	}
	if w.function {
		w.name = false
		return
	}
	w.terms = r.termsOf(w.lower)
	if len(w.terms) == 0 {
		w.function = true
	}
}

func (r *reader) termsOf(lower string) []string {
	if known, ok := r.terms[lower]; ok {
		return known
	}
	lower = strings.Clone(lower)
	var out []string
	for _, lang := range r.langs {
		found := r.analyzer.Terms(lower, lang)
		if len(found) == 0 {
			continue
		}
		// A word may produce several terms: an elided article and a noun (l'eau), or a code's parts and the whole code.
		term := found[0]
		for _, t := range found[1:] {
			if len(t) > len(term) {
				term = t
			}
		}
		if !slices.Contains(out, term) {
			out = append(out, term)
		}
	}
	if len(r.terms) < maxKeptTerms {
		r.terms[lower] = out
	}
	return out
}

// finish marks the names, after all words have been read. A sentence's first word is a name if the next word is one,
// too. In German, where all nouns are capitalised, a name must be next to another capitalised word, contain a digit, or
// be in capitals.
func (r *reader) finish(words []word, text string) {
	capital := func(i int) bool {
		if i < 0 || i >= len(words) {
			return false
		}
		c, _ := utf8.DecodeRuneInString(text[words[i].start:])
		return unicode.IsUpper(c) && !words[i].function && !words[i].initial
	}
	german := r.langs[0] == "de"
	names := make([]bool, len(words))
	for i, w := range words {
		names[i] = w.name
		if !german && w.initial && !w.function && w.numbers == nil && i+1 < len(words) && words[i+1].start == w.end+1 {
			names[i] = w.name || words[i+1].name
		}
		if german {
			names[i] = names[i] && (strings.ContainsFunc(w.lower, unicode.IsDigit) || strings.ToUpper(w.lower) == text[w.start:w.end] || capital(i-1) || capital(i+1))
		}
	}
	for i := range words {
		words[i].name = names[i]
	}
}

// Words longer than minStem are forms of the same word if they differ only in their last maxEnding characters.
const (
	minStem   = 5
	maxEnding = 3
)

// prefixOf returns the first minStem characters of a word, or "" if the word is shorter. Other forms of the word are
// found under this prefix.
func prefixOf(term string) string {
	n := 0
	for i := range term {
		if n == minStem {
			return term[:i]
		}
		n++
	}
	if n == minStem {
		return term
	}
	return ""
}

// differOnlyInEnding reports whether two terms differ only in their endings.
func differOnlyInEnding(a, b string) bool {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	for i > 0 && (i < len(a) && !utf8.RuneStart(a[i]) || i < len(b) && !utf8.RuneStart(b[i])) {
		i--
	}
	n := utf8.RuneCountInString(a[:i])
	return n >= minStem && utf8.RuneCountInString(a[i:]) <= maxEnding && utf8.RuneCountInString(b[i:]) <= maxEnding
}
