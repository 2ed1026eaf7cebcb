// Package question splits a text into separate questions: "How long is the warranty, and who built the pump?" asks for
// two things, which are rarely in the same passage. It relies on syntax alone and needs no documents or model. The
// retrieve and answer packages use it.
package question

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/analysis"
)

// Limits for Parts.
const (
	// MaxParts is the maximum number of parts a question is split into.
	MaxParts = 5
	// Maximum length of a text to split, in characters. Longer texts are assumed to be letters or documents.
	maxCharacters = 1000
	// Minimum number of content words in a part, or of characters in scripts without spaces.
	minContent         = 1
	minUnspacedContent = 3
	// Number of words at the start of a question in which to look for an interrogative.
	maxLead = 4
)

// Part is one of a text's questions.
type Part struct {
	Text  string // as asked
	Query string // the part as a standalone search query, including any names it refers to
}

// Parts returns the questions in a text, in order. A part that refers to an earlier one ("and how much does it weigh?")
// gets that part's names in its search query. There are at least two parts and at most MaxParts; if the text contains
// fewer than two questions, Parts returns nil.
func Parts(text string) []Part {
	if utf8.RuneCountInString(text) > maxCharacters {
		return nil
	}
	var parts []Part
	context := "" // statements before the questions that say what they are about
	for _, s := range analysis.Sentences(text) {
		sentence := text[s.Start:s.End]
		if !isQuestion(sentence) {
			context = strings.TrimSpace(context + " " + sentence)
			continue
		}
		for _, q := range split(sentence) {
			q = strings.TrimSpace(q)
			last := len(parts) - 1
			if last >= 0 && (isFragment(q) || len(parts) == MaxParts) { // fragmentary: "As of Feb. | 10, 2020?"
				parts[last].Text += " " + q
				parts[last].Query += " " + q
				continue
			}
			parts = append(parts, Part{Text: q, Query: strings.TrimSpace(context + " " + q)})
		}
	}
	if len(parts) < 2 {
		return nil
	}
	for i := 1; i < len(parts); i++ {
		parts[i].Query = completeQuestion(parts[i].Query, parts[i-1].Query)
	}
	return parts
}

// isQuestion reports whether a sentence is a question or a request.
func isQuestion(sentence string) bool {
	trimmed := strings.TrimRightFunc(sentence, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`"'”’»)`, r) })
	last, _ := utf8.DecodeLastRuneInString(trimmed)
	if strings.ContainsRune("?？؟;", last) {
		return true
	}
	words := wordsOf(sentence)
	return len(words) > 1 && (interrogatives[words[0].lower] || requests[words[0].lower])
}

// Minimum number of words in a question without an interrogative.
const minWords = 4

// isFragment reports whether a text is too short to be a question. Fragments occur when an abbreviation is mistaken for
// the end of a sentence.
func isFragment(text string) bool {
	return !unspaced(text) && !isInterrogative(text) && len(wordsOf(text)) < minWords
}

// word is a word in a sentence.
type word struct {
	lower      string
	start, end int // in bytes
}

// wordsOf returns a sentence's words. A hyphen or apostrophe inside a word is part of the word.
func wordsOf(sentence string) []word {
	var out []word
	start := -1
	for i, r := range sentence {
		inside := unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || start >= 0 && strings.ContainsRune("-_./'’", r)
		switch {
		case inside && start < 0:
			start = i
		case !inside && start >= 0:
			out = append(out, newWord(sentence, start, i))
			start = -1
		}
	}
	if start >= 0 {
		out = append(out, newWord(sentence, start, len(sentence)))
	}
	return out
}

func newWord(sentence string, start, end int) word {
	end = start + len(strings.TrimRight(sentence[start:end], "-_./'’"))
	return word{lower: strings.ToLower(sentence[start:end]), start: start, end: end}
}

// split returns the questions in one sentence. It cuts before each conjunction followed by another question. If the
// sentence has such a conjunction, split also cuts at commas followed by a question.
func split(sentence string) []string {
	if unspaced(sentence) {
		return splitUnspaced(sentence)
	}
	words := wordsOf(sentence)
	var cuts []cut
	joined := false
	for i := 1; i < len(words); i++ {
		comma := strings.ContainsAny(sentence[words[i-1].end:words[i].start], ",;،、，")
		next := i
		letter := words[i].end-words[i].start == 1 // "y", "e" and "i" are also words and names in other languages
		conjunction := conjunctions[words[i].lower] && (!letter || sentence[words[i].start] > 'Z')
		if conjunction {
			next = i + 1
		} else if rest, ok := strings.CutPrefix(words[i].lower, "و"); ok && inSituInterrogatives[rest] { // Arabic "and" is a prefix
			conjunction = true
		}
		marked := next < len(words) && strings.Contains(sentence[words[next-1].end:words[next].start], "¿")
		if (conjunction || comma) && (marked || beginsQuestion(words, next, conjunction && !letter)) {
			cuts = append(cuts, cut{before: words[i-1].end, after: words[next].start})
			joined = joined || conjunction
		}
	}
	if !joined {
		return []string{sentence}
	}
	var out []string
	from := 0
	for _, c := range cuts {
		if c.before < from {
			continue
		}
		left, right := sentence[from:c.before], sentence[c.after:]
		if !isInterrogative(left) || !hasContentWords(left) || !hasContentWords(right) {
			continue
		}
		out = append(out, left)
		from = c.after
	}
	return append(out, sentence[from:])
}

// cut is a boundary between two questions in a sentence.
type cut struct {
	before, after int // where the left question ends and the right one starts, in bytes
}

// beginsQuestion reports whether a question begins at words[i]. After a conjunction, the interrogative may come a few
// words later.
func beginsQuestion(words []word, i int, conjunction bool) bool {
	for n := i; n < len(words) && n < i+maxLead; n++ {
		w := words[n].lower
		if interrogatives[w] || strings.HasPrefix(w, "و") && inSituInterrogatives[strings.TrimPrefix(w, "و")] {
			return true
		}
		if n == i && conjunction && auxiliaries[w] {
			return n+1 < len(words) && subjects[words[n+1].lower]
		}
		if n == i && conjunction && requests[w] {
			return true
		}
		if !prepositions[w] {
			break
		}
	}
	if !conjunction {
		return false
	}
	for n := i; n < len(words); n++ { // the interrogative stands where the answer would
		w := words[n].lower
		if inSituInterrogatives[w] || nonRelativeInterrogatives[w] || n == len(words)-1 && interrogatives[w] {
			return true
		}
	}
	return false
}

// isInterrogative reports whether a text contains an interrogative or begins like a yes-or-no question or a request.
func isInterrogative(text string) bool {
	words := wordsOf(text)
	first := 0
	for first < len(words)-1 && prepositions[words[first].lower] {
		first++
	}
	for i, w := range words {
		if i == first && initialInterrogatives[w.lower] || interrogatives[w.lower] || inSituInterrogatives[w.lower] || inSituInterrogatives[strings.TrimPrefix(w.lower, "و")] || i == 0 && (auxiliaries[w.lower] || requests[w.lower]) {
			return true
		}
	}
	return false
}

// HasInterrogative reports whether a text contains an interrogative ("when") or begins like a yes-or-no question or a
// request.
func HasInterrogative(text string) bool {
	if unspaced(text) {
		return containsAny(text, unspacedInterrogatives)
	}
	return isInterrogative(text)
}

// hasContentWords reports whether a text contains words worth searching for.
func hasContentWords(text string) bool {
	n := 0
	for _, w := range wordsOf(text) {
		if hasContent(w.lower) {
			n++
		}
	}
	return n >= minContent
}

func hasContent(lower string) bool {
	if interrogatives[lower] || inSituInterrogatives[lower] || conjunctions[lower] || prepositions[lower] || auxiliaries[lower] || requests[lower] || backReferences[lower] {
		return false
	}
	for _, lang := range []analysis.Language{"en", "de", "fr", "es", "it", "pt", "nl", "ru"} {
		if analysis.IsFunctionWord(lower, lang) {
			return false
		}
	}
	return true
}

// completeQuestion turns a part into a query that makes sense on its own. before is the previous part. If the part
// contains no names and either refers back or says too little on its own, completeQuestion prepends the names in
// before. If before has no names, it prepends all of before.
func completeQuestion(part, before string) string {
	if unspaced(part) {
		if utf8.RuneCountInString(part) <= maxUnspacedRest || containsAny(part, unspacedBackReferences) {
			return before + " " + part
		}
		return part
	}
	words := wordsOf(part)
	refers := len(words) < minWordsAlone
	for _, w := range words {
		refers = refers || backReferences[w.lower]
	}
	switch names := extractNames(before); {
	case !refers, extractNames(part) != "":
		return part
	case names != "":
		return names + " " + part
	default:
		return before + " " + part
	}
}

// A part such as "who starred?" says too little to be a useful query. A part is assumed to say too little if it has
// fewer than minWordsAlone words or, in scripts without spaces, at most maxUnspacedRest characters.
const (
	minWordsAlone   = 3
	maxUnspacedRest = 6
)

// extractNames returns a question's names: words with digits, and capitalised words other than the first.
func extractNames(text string) string {
	var names []string
	for i, w := range wordsOf(text) {
		first, _ := utf8.DecodeRuneInString(text[w.start:])
		if strings.ContainsFunc(w.lower, unicode.IsDigit) || i > 0 && unicode.IsUpper(first) && hasContent(w.lower) {
			names = append(names, text[w.start:w.end])
		}
	}
	return strings.Join(names, " ")
}

// unspaced reports whether most of a text's letters belong to scripts without spaces between words.
func unspaced(text string) bool {
	letters, han := 0, 0
	for _, r := range text {
		if unicode.IsLetter(r) {
			letters++
		}
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
			han++
		}
	}
	return 2*han > letters
}

// splitUnspaced is like split, for scripts without spaces. It cuts at each comma or semicolon with an interrogative on
// both sides.
func splitUnspaced(sentence string) []string {
	var out []string
	from := 0
	for i, r := range sentence {
		if !strings.ContainsRune("，、,；;", r) || i <= from {
			continue
		}
		next := i + utf8.RuneLen(r)
		left := sentence[from:i]
		if isUnspacedQuestion(left) && isUnspacedQuestion(sentence[next:]) && (!strings.ContainsFunc(left, isKana) || strings.HasSuffix(left, "か")) {
			out = append(out, sentence[from:i])
			from = next
		}
	}
	return append(out, sentence[from:])
}

func isUnspacedQuestion(text string) bool {
	if utf8.RuneCountInString(text) < minUnspacedContent {
		return false
	}
	return containsAny(text, unspacedInterrogatives)
}

func containsAny(text string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

// isKana reports whether a character is kana, which shows that a text is Japanese. Japanese questions end in "か", even
// before a comma.
func isKana(r rune) bool { return unicode.In(r, unicode.Hiragana, unicode.Katakana) }
