package pdf

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/extract/pdf/pdftext"
	"github.com/sluice/sluice/pkg/wordset"
)

// Bounds for recognising drop caps, as multiples of the adjacent text's font size.
const (
	minDropCap     = 1.7 // minimum size of a drop cap
	maxDropCap     = 12
	dropCapTop     = 0.8 // maximum distance between the tops of the drop cap and the text
	maxDropCapGap  = 1.5 // maximum gap between the drop cap and the text
	indented       = 0.3 // maximum overlap of a drop cap and a line indented to make room for it
	maxDropCaps    = 50  // maximum number of drop caps per page
	maxSearchWords = 20_000
)

// joinDropCaps joins drop caps to their text. A drop cap is an initial that spans several lines.
func joinDropCaps(lines []pdftext.Line) []pdftext.Line {
	var caps []int
	for i, line := range lines {
		if len(line.Cells) == 1 && isInitial(line.Cells[0].Text) && len(caps) < maxDropCaps {
			caps = append(caps, i)
		}
	}
	if len(caps) == 0 {
		return lines
	}
	out := slices.Clone(lines)
	taken := map[int]bool{}
	var words map[string]int
	for _, i := range caps {
		j := lineAfterInitial(out[i], out)
		if j < 0 {
			continue
		}
		if words == nil {
			words = wordCounts(lines)
		}
		initial, cells := out[i].Cells[0].Text, slices.Clone(out[j].Cells)
		if isWordBefore(initial, cells[0].Text, words) {
			initial += " "
		}
		cells[0] = cells[0].Prefixed(initial)
		out[j].Cells = cells
		taken[i] = true
	}
	kept := out[:0:0]
	for i, line := range out {
		if !taken[i] {
			kept = append(kept, line)
		}
	}
	return kept
}

// isInitial reports whether a string is a single letter, optionally after an opening quotation mark.
func isInitial(s string) bool {
	s = strings.TrimLeft(s, "\"'“‘„«»‚‹¿¡")
	r, n := utf8.DecodeRuneInString(s)
	return n > 0 && n == len(s) && unicode.IsUpper(r)
}

// lineAfterInitial returns the index of the line that continues an initial's word, or -1 if there is none. If several
// lines are indented to make room for the initial, the highest one continues the word.
func lineAfterInitial(initial pdftext.Line, lines []pdftext.Line) int {
	best, least, highest := -1, math.Inf(1), math.Inf(-1)
	letter := initial.Cells[0]
	for j, line := range lines {
		ratio := initial.Size / max(line.Size, 1)
		if line.Turn != initial.Turn || ratio < minDropCap || ratio > maxDropCap {
			continue
		}
		first, _ := utf8.DecodeRuneInString(line.Cells[0].Text)
		if !unicode.IsLetter(first) && first != '\'' && first != '’' {
			continue
		}
		x0, x1 := line.Cells[0].X0, line.Cells[0].X1
		top := math.Abs(line.Y + pdftext.CapitalHeight*line.Size - initial.Y - pdftext.CapitalHeight*initial.Size)
		if top > dropCapTop*line.Size || x0 < letter.X0-line.Size || x0 > letter.X1+maxDropCapGap*line.Size || x1 <= letter.X1 {
			continue
		}
		if x0 >= letter.X1-indented*line.Size {
			if line.Y > highest {
				best, highest = j, line.Y
			}
		} else if top < least && math.IsInf(highest, -1) {
			best, least = j, top
		}
	}
	return best
}

// wordCounts counts a page's words, in lower case.
func wordCounts(lines []pdftext.Line) map[string]int {
	counts := map[string]int{}
	for _, line := range lines {
		for _, w := range strings.FieldsFunc(line.Text(), func(r rune) bool { return !unicode.IsLetter(r) }) {
			if len(counts) < maxSearchWords {
				counts[strings.ToLower(w)]++
			}
		}
	}
	return counts
}

// oneLetterWords are letters that are words in common languages.
const oneLetterWords = "AIOÀÁÉÓYEUАВИКОСУЯΟΗ"

// afterOneLetter are words that often follow "A" or "I" at the start of a text. Prefixing the letter to them does not
// yield another word.
var afterOneLetter = wordset.Of("was am have had do did can could will would should think know remember first never new few man woman good great small " +
	"little very lot young old big large single couple group team recent major number year century day week world good-bye")

// isWordBefore reports whether an initial is a word of its own, like the "A" in "A new day". It checks whether the page
// also contains the text's first word with or without the initial.
func isWordBefore(initial, text string, words map[string]int) bool {
	letter, _ := utf8.DecodeLastRuneInString(initial)
	rest := text
	if i := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }); i >= 0 {
		rest = text[:i]
	}
	rest = strings.ToLower(rest)
	if !strings.ContainsRune(oneLetterWords, letter) || utf8.RuneCountInString(rest) < 2 {
		return false
	}
	if rest == "long" { // "A long time", but "Along the road"
		next, _, _ := strings.Cut(strings.TrimLeft(text[len(rest):], " "), " ")
		return slices.Contains([]string{"time", "way", "while", "day", "night", "line", "list", "history", "road", "series"}, strings.Trim(next, ",.;"))
	}
	whole := string(unicode.ToLower(letter)) + rest
	const itself = 1 // `words` also counts the text after the initial
	switch apart, joined := words[rest] > itself, words[whole] > 0; {
	case apart != joined:
		return apart
	default:
		return afterOneLetter[rest]
	}
}
