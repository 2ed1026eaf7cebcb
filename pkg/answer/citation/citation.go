package citation

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// citationFilter reads a model's text as it streams, checks the cited numbers against the fragments in the prompt, and
// renumbers them in order of first use. It removes marks that name no fragment, and the space before them.
//
// Marks are [1], [1, 2], [1-3], [document 1], [^1], 【1†source】, the same in the brackets 【】 and ［］, and with full-width
// digits. They are written as [1][2]. Code is not changed: text between backticks or fences, and subscripts such as
// arr[2] (see subscripted). Text is held back only while it may become a mark, and for a few bytes after a mark that
// may be a subscript.
type citationFilter struct {
	fragments int         // number of fragments in the prompt, numbered from 1
	shown     map[int]int // number in the prompt → number shown
	order     []int       // numbers in the prompt, in order of first use
	hidden    bool        // remove all marks, even valid ones
	pending   string      // text that may be the beginning of a mark

	CodeTracker
	left      string // end of the emitted text, at most maxNameBytes; "" after a removed mark
	subscript bool   // left ends in a subscript

	// open means that the emitted text ends in a bracket followed only by characters that a mark may contain. Removing
	// a mark then must not join the following text to it.
	open bool
}

// Limits of a mark.
const (
	maxMarkBytes   = 64
	maxMarkDigits  = 3
	maxMarkNumbers = 32
)

// allFragments is a number of fragments large enough that every mark names one.
const allFragments = 999

func newCitationFilter(given int) *citationFilter {
	return &citationFilter{fragments: given, shown: make(map[int]int)}
}

// write processes the next piece and returns the text that can be emitted.
func (c *citationFilter) write(piece string) string {
	return c.read(c.pending+piece, false)
}

// close returns the text held back.
func (c *citationFilter) close() string {
	return c.read(c.pending, true)
}

// cited returns the numbers of the cited fragments, in order of first use.
func (c *citationFilter) cited() []int { return c.order }

func (c *citationFilter) read(s string, last bool) string {
	var out strings.Builder
	c.pending = ""
	for i := 0; i < len(s); {
		start := i // of the text to hold back if the input ends here
		if s[i] == ' ' && i+1 < len(s) {
			i++
		}
		if !last && (s[i] == ' ' && i+1 == len(s) || !utf8.FullRuneInString(s[i:])) {
			c.pending = s[start:]
			break
		}
		if c.inCode(s[i]) || !opensMark(s[i:]) {
			if start < i { // emit the space: the next character may itself be a space before a mark
				c.pass(&out, " ")
				continue
			}
			_, n := utf8.DecodeRuneInString(s[i:])
			c.pass(&out, s[i:i+n])
			i += n
			continue
		}
		m, state := parseMark(s[i:])
		end := i + m.length
		switch {
		case !last && (state == markOpen || state == markWhole && m.plain && start == i && isSubscriptPrefix(c.left) && len(s)-end < followerBytes):
			c.pending = s[start:]
			return out.String()
		case state != markWhole || isInterval(m.numbers):
			_, n := utf8.DecodeRuneInString(s[i:])
			end = i + n
			c.pass(&out, s[start:end])
			c.open = true
		case c.isText(m, s[start:i], s[end:]):
			c.pass(&out, s[start:end])
			c.subscript = true
		default:
			c.cite(&out, s[start:i], m.numbers)
		}
		i = end
	}
	return out.String()
}

// isText reports whether an apparent mark is text: a subscript, a list that is assigned, or a range that extends beyond
// the fragments. After a name, brackets are a mark only if they name a fragment.
func (c *citationFilter) isText(m mark, space, after string) bool {
	if m.ranged && slices.Max(m.numbers) > c.fragments {
		return true
	}
	if !m.plain {
		return false
	}
	if space != "" || !isSubscriptPrefix(c.left) {
		return c.subscript && space == "" || assigned.MatchString(c.left+space)
	}
	return c.indented() || subscripted(c.left, firstBytes(after)) || !slices.ContainsFunc(m.numbers, c.names)
}

// names reports whether n is the number of a fragment.
func (c *citationFilter) names(n int) bool { return n >= 1 && n <= c.fragments }

// isInterval reports whether an apparent mark is an interval, such as [0, 1]. Fragments are numbered from 1.
func isInterval(numbers []int) bool { return len(numbers) > 1 && slices.Contains(numbers, 0) }

// cite writes the valid numbers of a mark as shown, after the space that preceded it.
func (c *citationFilter) cite(out *strings.Builder, space string, numbers []int) {
	var marks strings.Builder
	for _, n := range numbers {
		if !c.names(n) || c.hidden {
			continue
		}
		shown, ok := c.shown[n]
		if !ok {
			c.order = append(c.order, n)
			shown = len(c.order)
			c.shown[n] = shown
		}
		marks.WriteString("[" + strconv.Itoa(shown) + "]")
	}
	switch {
	case marks.Len() > 0:
		c.pass(out, space+marks.String())
	case c.open:
		c.pass(out, "…")
		c.open = false
	default:
		c.left, c.subscript = "", false
	}
}

// pass writes text and updates the state that depends on it.
func (c *citationFilter) pass(out *strings.Builder, text string) {
	out.WriteString(text)
	c.left = lastBytes(c.left + text)
	c.subscript = false
	for i := range len(text) {
		b := text[i]
		c.open = c.open && (isDigit(b) || b >= utf8.RuneSelf || strings.IndexByte(" ,;-&~^.:#", b) >= 0 || isLetter(b))
		c.track(b)
	}
}

// brackets are the pairs of brackets that enclose marks.
var brackets = []struct{ open, close string }{{"[", "]"}, {"【", "】"}, {"［", "］"}}

func opensMark(s string) bool {
	for _, b := range brackets {
		if strings.HasPrefix(s, b.open) {
			return true
		}
	}
	return false
}

// markState classifies the beginning of a text.
type markState int

const (
	markNone  markState = iota // not a mark, whatever follows
	markOpen                   // possibly the beginning of a mark
	markWhole                  // a complete mark
)

// labels are words that models write before the number in a mark.
var labels = []string{"document", "doc", "source", "fragment", "citation", "ref", "文档", "文檔", "来源", "來源", "文書", "資料", "출처", "문서"}

// mark is the content of a citation's brackets.
type mark struct {
	numbers []int
	length  int  // bytes
	plain   bool // only numbers, in plain brackets: may be a subscript
	ranged  bool // 2-4
}

// parseMark parses a mark at the beginning of s.
func parseMark(s string) (mark, markState) {
	var m mark
	closing := ""
	for _, b := range brackets {
		if strings.HasPrefix(s, b.open) {
			closing, m.length = b.close, len(b.open)
		}
	}
	m.plain = closing == "]"
	m.length += countPrefix(s[m.length:], " ")
	label, open := labelAt(s[m.length:])
	if open {
		return mark{}, markOpen
	}
	m.plain = m.plain && label == 0
	m.length += label
	from := 0 // start of the range; 0 outside a range
	for {
		m.length += countPrefix(s[m.length:], " ")
		n, digits, width := digitsAt(s[m.length:])
		if digits > maxMarkDigits || m.length > maxMarkBytes || len(m.numbers) > maxMarkNumbers {
			return mark{}, markNone
		}
		if rest := s[m.length+width:]; rest == "" || !utf8.FullRuneInString(rest) {
			return mark{}, markOpen
		}
		if digits == 0 {
			return mark{}, markNone
		}
		m.length += width
		m.numbers = appendRange(m.numbers, from, n)
		from = 0
		m.length += countPrefix(s[m.length:], " ")
		switch rest := s[m.length:]; {
		case rest == "" || !utf8.FullRuneInString(rest):
			return mark{}, markOpen
		case strings.HasPrefix(rest, closing):
			m.length += len(closing)
			return m, markWhole
		case strings.HasPrefix(rest, sourceSuffix):
			end := strings.Index(rest, closing)
			switch {
			case end > maxMarkBytes, end < 0 && len(rest) > maxMarkBytes:
				return mark{}, markNone
			case end < 0:
				return mark{}, markOpen
			case strings.ContainsAny(rest[:end], "[【［\n"):
				return mark{}, markNone
			}
			m.plain = false
			m.length += end + len(closing)
			return m, markWhole
		default:
			separator, isRange := separatorAt(rest)
			if separator == 0 {
				return mark{}, markNone
			}
			if isRange {
				from, m.ranged = n, true
			}
			m.length += separator
		}
	}
}

// sourceSuffix starts a suffix that some models add to the number: 【1†source】.
const sourceSuffix = "†"

// labelAt returns the length of a label with its separator, or 0 if there is none. open means that the text ends before
// this can be decided.
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

// separatorAt returns the length of the separator between two numbers of a mark, or 0.
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

// digitsAt parses a number in ASCII or full-width digits at the beginning of s. It returns the value, the number of
// digits and the number of bytes, and stops one digit after the maximum of a mark.
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

// Without removes all marks from an answer.
func Without(text string) string {
	c := newCitationFilter(allFragments)
	c.hidden = true
	return strings.TrimSpace(c.write(text) + c.close())
}
