package analysis

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/sentences"
)

// Span is the substring text[Start:End]; the offsets are in bytes.
type Span struct {
	Start, End int
}

// Sentences splits a text into sentences by the Unicode rules (UAX #29), with three exceptions. It does not split after
// an abbreviation, an initial, or an ordinal number in a German date. It always splits at blank lines, and at long runs
// of characters other than letters and digits. The spans are ordered, disjoint and non-empty, and exclude the white
// space around sentences. The time is linear for any text.
func Sentences(text string) []Span {
	var out []Span
	for s := range segments(text) {
		before := len(out)
		out = appendSentences(out, text, s.from, s.to)
		switch rest, ok := trimSpan(text, Span{s.to, s.next}); {
		case !ok:
		case len(out) > before:
			out[len(out)-1].End = rest.End
		default:
			out = append(out, rest)
		}
	}
	return out
}

// appendSentences appends the sentences in text[from:to], which must not contain more than maxGap characters in a row
// that are neither letters nor digits.
func appendSentences(out []Span, text string, from, to int) []Span {
	open := false // the next span may continue the last one
	iter := sentences.FromString(text[from:to])
	for iter.Next() {
		for part := range paragraphs(text, from+iter.Start(), from+iter.End()) {
			s, ok := trimSpan(text, part)
			if !ok {
				open = false
				continue
			}
			if open && len(out) > 0 && !blankLine(text[out[len(out)-1].End:s.Start]) {
				out[len(out)-1].End = s.End
			} else {
				out = append(out, s)
			}
			open = abbreviated(text[s.Start:s.End]) || ordinal(text[s.Start:s.End], text[s.End:to]) || numbersItem(text[s.Start:s.End])
		}
	}
	return out
}

// Maximum length of a run of characters other than letters and digits. A longer one always ends a sentence and is not
// passed to the Unicode rules: they look back over closing brackets and spaces, so a hundred thousand brackets would
// keep them busy for half a minute.
const maxGap = 64

// segment ends with a long run of characters other than letters and digits, or at the end of the text. Only
// text[from:to] is passed to the Unicode sentence rules. text[to:next] is the remainder of the run, which they don't
// need to see.
type segment struct{ from, to, next int }

// segments splits a text at runs of more than maxGap characters other than letters and digits.
func segments(text string) func(func(segment) bool) {
	return func(yield func(segment) bool) {
		from, gap, enough, length := 0, 0, 0, 0
		for i, r := range text {
			if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
				switch length {
				case 0:
					gap = i
				case maxGap:
					enough = i
				}
				length++
				continue
			}
			if length > maxGap {
				// The next segment begins at this letter or digit, including any combining marks before it that belong to the same
				// grapheme.
				next := gap + len(strings.TrimRightFunc(text[gap:i], isPrefixMark))
				if !yield(segment{from, min(enough, next), next}) {
					return
				}
				from = next
			}
			length = 0
		}
		if length <= maxGap {
			enough = len(text)
		}
		yield(segment{from, enough, len(text)})
	}
}

func isPrefixMark(r rune) bool { return unicode.Is(unicode.Prepended_Concatenation_Mark, r) }

// paragraphs splits text[start:end] at blank lines.
func paragraphs(text string, start, end int) func(func(Span) bool) {
	return func(yield func(Span) bool) {
		for start < end {
			i := strings.Index(text[start:end], "\n\n")
			if i < 0 {
				yield(Span{start, end})
				return
			}
			if !yield(Span{start, start + i + 2}) {
				return
			}
			start += i + 2
		}
	}
}

// trimSpan removes white space from both ends of a span. It returns false if nothing remains.
func trimSpan(text string, s Span) (Span, bool) {
	part := text[s.Start:s.End]
	left := len(part) - len(strings.TrimLeftFunc(part, unicode.IsSpace))
	s.Start += left
	s.End = s.Start + len(strings.TrimRightFunc(part[left:], unicode.IsSpace))
	return s, s.End > s.Start
}

// numbersItem reports whether a sentence is just the number of a list item or section, such as "5." or "2.1.". The
// item's text is then the next sentence.
func numbersItem(s string) bool {
	const longest = 12 // bytes
	return len(s) <= longest && strings.HasSuffix(s, ".") && s[0] >= '0' && s[0] <= '9' && strings.Trim(s, "0123456789.") == ""
}

func blankLine(gap string) bool {
	return strings.Count(gap, "\n") > 1
}

// Abbreviations that do not end a sentence, even before a capital letter or a digit.
var abbreviations = map[string]bool{
	"mr": true, "mrs": true, "ms": true, "dr": true, "prof": true, "st": true, "vs": true, "fig": true, "figs": true, "eq": true,
	"no": true, "nos": true, "vol": true, "pp": true, "p": true, "ed": true, "eds": true, "cf": true, "e.g": true, "i.e": true, "al": true, "approx": true,
	"dept": true, "gen": true, "rev": true, "sen": true, "gov": true, "capt": true, "lt": true, "col": true, "sr": true, "jr": true, "mt": true,
	"z.b": true, "d.h": true, "u.a": true, "bzw": true, "ca": true, "nr": true, "abs": true, "art": true, "abb": true, "hr": true, "fr": true, "bspw": true,
	"mme": true, "mlle": true, "sra": true, "srta": true, "dra": true, "ing": true, "sig": true, "pág": true, "núm": true, "г": true, "гг": true, "ул": true, "им": true,
	"т.е": true, "т.д": true, "sec": true, "ch": true, "para": true, "tab": true, "ref": true, "refs": true,
}

// abbreviated reports whether the full stop at the end of a sentence belongs to an abbreviation or an initial.
func abbreviated(s string) bool {
	body, ok := strings.CutSuffix(s, ".")
	if !ok {
		return false
	}
	last := body
	if i := strings.LastIndexFunc(body, func(r rune) bool { return unicode.IsSpace(r) || r == '(' || r == '[' }); i >= 0 {
		_, size := utf8.DecodeRuneInString(body[i:])
		last = body[i+size:]
	}
	if abbreviations[strings.ToLower(last)] {
		return true
	}
	r, size := utf8.DecodeRuneInString(last)
	return size == len(last) && unicode.IsUpper(r) && r != 'I'
}

// germanMonths may follow a day and a full stop, as in "3. Mai". Other languages don't need such a list: either there
// is no full stop after the day, or months are in lower case, before which the Unicode rules never end a sentence.
var germanMonths = map[string]bool{
	"januar": true, "jänner": true, "februar": true, "feber": true, "märz": true, "april": true, "mai": true, "juni": true, "juli": true,
	"august": true, "september": true, "oktober": true, "november": true, "dezember": true,
	"jan": true, "feb": true, "mär": true, "apr": true, "jun": true, "jul": true, "aug": true, "sep": true, "sept": true, "okt": true, "nov": true, "dez": true,
}

// germanArticles precede ordinal numbers, as in "im 19. Jahrhundert". Words that are also English are left out.
var germanArticles = map[string]bool{
	"der": true, "das": true, "dem": true, "des": true, "im": true, "zum": true, "zur": true, "vom": true, "beim": true, "ins": true,
}

// ordinal reports whether the full stop at the end of s belongs to a German ordinal number of one or two digits.
// `after` is the text after it.
func ordinal(s, after string) bool {
	body, ok := strings.CutSuffix(s, ".")
	if !ok {
		return false
	}
	number := len(body) - len(strings.TrimRight(body, "0123456789"))
	if number == 0 || number > 2 {
		return false
	}
	if germanMonths[strings.ToLower(firstWord(after))] {
		return true
	}
	return germanArticles[strings.ToLower(lastWord(body[:len(body)-number]))]
}

// Length in bytes up to which firstWord and lastWord return a word in full. ordinal doesn't need longer words.
const longestWord = 16

// firstWord returns the word at the start of a text, ignoring leading white space, or "" if there is none. Words much
// longer than longestWord are truncated.
func firstWord(text string) string {
	text = strings.TrimLeft(text[:min(len(text), longestWord+8)], " \t\n\u00a0")
	end := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
	if end < 0 {
		end = len(text)
	}
	return text[:end]
}

// lastWord returns the word at the end of a text, ignoring trailing white space, or "" if there is none.
func lastWord(text string) string {
	text = strings.TrimRight(text[max(0, len(text)-longestWord-8):], " \t\n\u00a0")
	return text[strings.LastIndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })+1:]
}
