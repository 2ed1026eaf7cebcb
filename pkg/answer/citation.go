package answer

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// citer reads a model's text as it streams, checks the numbers it cites against the fragments it was given, and
// renumbers them in order of first use. A mark that names no fragment is taken out, with the space before it.
//
// Marks are [1], [1, 2], [1-3], [document 1], [^1], 【1†source】 and the same in the brackets 【】 and ［］ and in full-width
// digits; they come out as [1][2]. Text in backticks is
// left alone: a[0] is code. Only what may yet become a mark is held back, so text is never late by more than one.
type citer struct {
	given   int         // fragments the model was given, numbered from 1
	shown   map[int]int // number given → number shown
	order   []int       // numbers given, in order of first use
	pending string      // text that may be the beginning of a mark

	ticks int // length of the run of backticks being read
	code  int // length of the run that opened code; 0 outside code

	// open says that what was passed on last is a bracket, and after it only what a mark may hold: what follows must
	// not be brought next to it by taking out a mark between them.
	open bool
}

// Bounds of a mark.
const (
	maxMarkBytes   = 64
	maxMarkDigits  = 3
	maxMarkNumbers = 32
)

func newCiter(given int) *citer {
	return &citer{given: given, shown: make(map[int]int)}
}

// write takes the next piece of text and returns what can be passed on.
func (c *citer) write(piece string) string {
	return c.read(c.pending+piece, false)
}

// close returns what was held back.
func (c *citer) close() string {
	return c.read(c.pending, true)
}

// cited returns the numbers of the fragments cited, in order of first use.
func (c *citer) cited() []int { return c.order }

func (c *citer) read(s string, last bool) string {
	var out strings.Builder
	c.pending = ""
	for i := 0; i < len(s); {
		start := i // of what is held back if the text ends here
		if s[i] == ' ' && i+1 < len(s) {
			i++
		}
		if !last && (s[i] == ' ' && i+1 == len(s) || !utf8.FullRuneInString(s[i:])) {
			c.pending = s[start:]
			break
		}
		if c.inCode(s[i]) || !opensMark(s[i:]) {
			if start < i { // the space is passed on alone: what follows it may itself be one before a mark
				out.WriteByte(' ')
				c.track(' ')
				continue
			}
			_, n := utf8.DecodeRuneInString(s[i:])
			out.WriteString(s[i : i+n])
			c.track(s[i])
			i += n
			continue
		}
		numbers, n, state := parseMark(s[i:])
		switch {
		case state == markOpen && !last:
			c.pending = s[start:]
			return out.String()
		case state != markWhole || isInterval(numbers):
			_, n = utf8.DecodeRuneInString(s[i:])
			out.WriteString(s[start : i+n])
			c.track(s[i])
			c.open = true
		default:
			out.WriteString(c.render(s[start:i], numbers))
			c.track(']')
		}
		i += n
	}
	return out.String()
}

// isInterval reports whether what looks like a mark is an interval, such as [0, 1]: fragments are numbered from 1.
func isInterval(numbers []int) bool { return len(numbers) > 1 && slices.Contains(numbers, 0) }

// render writes the mark's numbers that exist as they are shown, after the space that stood before it.
func (c *citer) render(space string, numbers []int) string {
	var out strings.Builder
	for _, n := range numbers {
		if n < 1 || n > c.given {
			continue
		}
		shown, ok := c.shown[n]
		if !ok {
			c.order = append(c.order, n)
			shown = len(c.order)
			c.shown[n] = shown
		}
		out.WriteString("[" + strconv.Itoa(shown) + "]")
	}
	switch {
	case out.Len() == 0 && c.open:
		return "…"
	case out.Len() == 0:
		return ""
	}
	return space + out.String()
}

// inCode reports whether the character b stands in code.
func (c *citer) inCode(b byte) bool {
	code := c.code
	if b != '`' && c.ticks > 0 { // the run of backticks before it is complete
		code = afterRun(code, c.ticks)
	}
	return code > 0
}

// track follows backticks: a run opens code, a run of the same length closes it. Code within a line ends with the
// line, so that a stray backtick does not swallow the rest.
func (c *citer) track(b byte) {
	c.open = c.open && (b >= '0' && b <= '9' || b >= utf8.RuneSelf || strings.IndexByte(" ,;-&~^.:#", b) >= 0 || isLetter(b))
	if b == '`' {
		c.ticks++
		return
	}
	if c.ticks > 0 {
		c.code = afterRun(c.code, c.ticks)
		c.ticks = 0
	}
	if b == '\n' && c.code < 3 {
		c.code = 0
	}
}

func afterRun(code, ticks int) int {
	switch code {
	case 0:
		return ticks
	case ticks:
		return 0
	default:
		return code
	}
}

// brackets are the pairs that marks stand in.
var brackets = []struct{ open, close string }{{"[", "]"}, {"【", "】"}, {"［", "］"}}

func opensMark(s string) bool {
	for _, b := range brackets {
		if strings.HasPrefix(s, b.open) {
			return true
		}
	}
	return false
}

// markState says what the beginning of a text is.
type markState int

const (
	markNone  markState = iota // no mark, whatever follows
	markOpen                   // the beginning of one, perhaps
	markWhole                  // one
)

// labels are words that models put before the number in a mark.
var labels = []string{"document", "doc", "source", "fragment", "citation", "ref", "文档", "文檔", "来源", "來源", "文書", "資料", "출처", "문서"}

// parseMark reads a mark at the beginning of s and returns its numbers and length in bytes.
func parseMark(s string) (numbers []int, length int, state markState) {
	closing := ""
	for _, b := range brackets {
		if strings.HasPrefix(s, b.open) {
			closing, length = b.close, len(b.open)
		}
	}
	length += countPrefix(s[length:], " ")
	label, open := labelAt(s[length:])
	if open {
		return nil, 0, markOpen
	}
	length += label
	from := 0 // where a range began, 0 outside one
	for {
		length += countPrefix(s[length:], " ")
		n, digits, width := digitsAt(s[length:])
		if digits > maxMarkDigits || length > maxMarkBytes || len(numbers) > maxMarkNumbers {
			return nil, 0, markNone
		}
		if rest := s[length+width:]; rest == "" || !utf8.FullRuneInString(rest) {
			return nil, 0, markOpen
		}
		if digits == 0 {
			return nil, 0, markNone
		}
		length += width
		numbers = appendRange(numbers, from, n)
		from = 0
		length += countPrefix(s[length:], " ")
		switch rest := s[length:]; {
		case rest == "" || !utf8.FullRuneInString(rest):
			return nil, 0, markOpen
		case strings.HasPrefix(rest, closing):
			return numbers, length + len(closing), markWhole
		case strings.HasPrefix(rest, dagger):
			end := strings.Index(rest, closing)
			switch {
			case end > maxMarkBytes, end < 0 && len(rest) > maxMarkBytes:
				return nil, 0, markNone
			case end < 0:
				return nil, 0, markOpen
			case strings.ContainsAny(rest[:end], "[【［\n"):
				return nil, 0, markNone
			}
			return numbers, length + end + len(closing), markWhole
		default:
			separator, isRange := separatorAt(rest)
			if separator == 0 {
				return nil, 0, markNone
			}
			if isRange {
				from = n
			}
			length += separator
		}
	}
}

// dagger begins what some models add to the number: 【1†source】.
const dagger = "†"

// labelAt returns the length of a label and of what parts it from the number, 0 when there is none; open says that the text
// ends before that can be told.
func labelAt(s string) (length int, open bool) {
	if strings.HasPrefix(s, "^") {
		return 1, false
	}
	for _, l := range labels {
		switch {
		case len(s) < len(l) && strings.EqualFold(s, l[:len(s)]) && s != "":
			return 0, true
		case len(s) >= len(l) && strings.EqualFold(s[:len(l)], l) && len(l) > length:
			length = len(l)
		}
	}
	if length == 0 {
		return 0, false
	}
	parting := len(s[length:]) - len(strings.TrimLeft(s[length:], " .:#"))
	return length + parting, length+parting == len(s)
}

func appendRange(numbers []int, from, to int) []int {
	if from == 0 || to <= from || to-from > maxMarkNumbers {
		return append(numbers, to)
	}
	for n := from + 1; n <= to; n++ {
		numbers = append(numbers, n)
	}
	return numbers
}

// separatorAt returns the length of the separator between two numbers of a mark, 0 when there is none.
func separatorAt(s string) (length int, isRange bool) {
	for _, sep := range []string{",", ";", "&", "，", "、", "；"} {
		if strings.HasPrefix(s, sep) {
			return len(sep), false
		}
	}
	for _, sep := range []string{"-", "–", "—", "‐", "−", "~", "～", "〜"} {
		if strings.HasPrefix(s, sep) {
			return len(sep), true
		}
	}
	return 0, false
}

// digitsAt reads a number, in plain or full-width digits, at the beginning of s: its value, digits and bytes. It stops at
// one digit more than a mark has.
func digitsAt(s string) (value, digits, width int) {
	for digits <= maxMarkDigits {
		r, size := utf8.DecodeRuneInString(s[width:])
		switch {
		case r >= '0' && r <= '9':
			value = 10*value + int(r-'0')
		case r >= '０' && r <= '９':
			value = 10*value + int(r-'０')
		default:
			return value, digits, width
		}
		digits, width = digits+1, width+size
	}
	return value, digits, width
}

func countPrefix(s, one string) int {
	return len(s) - len(strings.TrimLeft(s, one))
}
