package pdfgarbled

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/sluice/sluice/pkg/extract/charset"
	"github.com/sluice/sluice/pkg/extract/pdf/pdftext"
)

// Thresholds for HasSubstitutedLetters. The fraction of common letter pairs is 0.4 to 0.9 in texts in 30 languages,
// source code, lists and assembler listings, but only 0.15 to 0.35 if letters are substituted.
const (
	minLetters     = 200  // minimum number of letters; a shorter sample is no evidence
	maxLetters     = 4000 // maximum number of letters; a longer sample adds no evidence
	minCommonShare = 0.35 // minimum share of common letter pairs
	// minCoincidence is the minimum probability that two random letters are the same. The probability is 0.05 to 0.08
	// in all languages, even with substituted letters, and 0.04 in random codes and part numbers.
	minCoincidence = 0.055
	// minRepeated is the minimum fraction of words that occur more than once. In lists of codes, the fraction is
	// smaller.
	minRepeated = 0.15
	minWords    = 20 // minimum number of different words
)

// HasSubstitutedLetters reports whether the lines' Latin letters have the frequencies and repetitions of a language but
// form pairs that fit no language. Such text results from a character map that substitutes letters.
func HasSubstitutedLetters(lines []pdftext.Line) bool {
	var s letterSample
	for _, line := range lines {
		for _, c := range line.Cells {
			s.add(c.Text)
		}
		if s.letters >= maxLetters {
			break
		}
	}
	return s.letters >= minLetters && s.coincidence() >= minCoincidence && s.repeats() && s.commonShare() < minCommonShare
}

const alphabetSize = 'z' - 'a' + 1

// letterSample counts words and letters a to z, without diacritics.
type letterSample struct {
	letters int
	counts  [alphabetSize]int
	pairs   [alphabetSize][alphabetSize]int
	words   map[string]int
}

func (s *letterSample) add(text string) {
	if !charset.IsASCII([]byte(text)) {
		text = strings.Map(func(r rune) rune {
			if unicode.Is(unicode.Mn, r) {
				return -1
			}
			return r
		}, norm.NFKD.String(text))
	}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' }) {
		if isPlainWord(word) {
			s.word(strings.ToLower(word))
		}
	}
}

// isPlainWord reports whether a word may be part of a sentence: it has only letters and isn't an abbreviation, an
// identifier or part of a formula.
func isPlainWord(word string) bool {
	const short, shortCapitals, long = 3, 5, 30
	lower, upper := 0, 0
	for _, r := range word {
		switch {
		case !unicode.IsLetter(r) || !unicode.Is(unicode.Latin, r):
			return false
		case !unicode.IsUpper(r):
			lower++
		case lower > 0:
			return false // camelCase
		default:
			upper++
		}
	}
	if upper > 1 && lower > 0 {
		return false
	}
	return lower+upper <= long && (lower > 0 && lower+upper >= short || upper >= shortCapitals)
}

func (s *letterSample) word(word string) {
	if s.words == nil {
		s.words = map[string]int{}
	}
	s.words[word]++
	last := -1
	for _, r := range word {
		if r < 'a' || r > 'z' {
			last = -1
			continue
		}
		at := int(r - 'a')
		s.letters++
		s.counts[at]++
		if last >= 0 {
			s.pairs[last][at]++
		}
		last = at
	}
}

// coincidence returns the sample's index of coincidence, i.e. the probability that two random letters are equal.
func (s *letterSample) coincidence() float64 {
	same := 0
	for _, n := range s.counts {
		same += n * (n - 1)
	}
	return float64(same) / float64(s.letters) / float64(s.letters-1)
}

func (s *letterSample) repeats() bool {
	all, again := 0, 0
	for _, n := range s.words {
		all += n
		if n > 1 {
			again += n
		}
	}
	return len(s.words) >= minWords && float64(again) >= minRepeated*float64(all)
}

// commonShare returns the fraction of letter pairs that are common in the best-fitting language.
func (s *letterSample) commonShare() float64 {
	var all int
	in := make([]int, len(commonPairs()))
	for a := range s.pairs {
		for b, n := range s.pairs[a] {
			if n == 0 {
				continue
			}
			all += n
			for i, lang := range commonPairs() {
				if lang[a]&(1<<b) != 0 {
					in[i] += n
				}
			}
		}
	}
	return float64(slices.Max(in)) / float64(max(all, 1))
}

// letterpairs.txt has one language per line: its code, a colon, and for each letter the letters that often follow it.
// The pairs come from the language's trigrams in whatlanggo 1.0.1, without diacritics.
//
//go:embed letterpairs.txt
var letterPairsText string

// pairSet holds, for each letter, a bit set of its common successors.
type pairSet [alphabetSize]uint32

var commonPairs = sync.OnceValue(func() []pairSet {
	var sets []pairSet
	for line := range strings.Lines(letterPairsText) {
		_, pairs, _ := strings.Cut(line, ":")
		var set pairSet
		for group := range strings.FieldsSeq(pairs) {
			for _, next := range group[1:] {
				set[group[0]-'a'] |= 1 << (next - 'a')
			}
		}
		sets = append(sets, set)
	}
	return sets
})
