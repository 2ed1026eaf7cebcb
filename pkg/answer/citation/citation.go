package citation

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/domain"
)

// citationFilter finds citation markers in streamed text and passes all other text unchanged. It processes model
// answers, documents in a prompt, quotations and earlier messages, so that all recognise the same markers.
//
// Markers are [1], [1, 2], [1-3], [document 1], [^1], 【1†source】, the same in the brackets 【】 and ［］, and with
// full-width digits. Numbers are 1 to 999. These are not markers: code between backticks or fences; subscripts, such as
// arr[2] (see isSubscript); and numbers that belong to the word before them, such as pages [3-5] (see rangedWords). The
// filter holds back only text that may become a marker. After a marker that may be a subscript, it waits for a few more
// bytes.
type citationFilter struct {
	action    markAction
	fragments int             // number of fragments in the prompt, numbered from 1
	shown     map[int]int     // maps a number in the prompt to the number shown
	order     []int           // numbers in the prompt, in order of first use
	pending   string          // text that may be the start of a marker
	arrays    map[string]bool // names with an unmistakable subscript elsewhere, at most maxArrays

	CodeTracker
	left      string // end of the emitted text, at most maxNameBytes; "" after a removed marker
	subscript bool   // whether `left` ends in a subscript

	// open means that the emitted text may end with the start of a marker, such as "[1, ". If the next marker is
	// removed, the text before it must stay separate from the text after it, because together they could form another
	// marker.
	open bool

	found func(start, end int, numbers []int) // if not nil, called for each marker in a text that is read as a whole
}

// markAction selects how a citationFilter treats markers.
type markAction int

const (
	// renumber numbers the cited fragments in order of first use. It removes markers that refer to no fragment in the
	// prompt, with the space before them.
	renumber markAction = iota
	// remove removes every marker and the space before it.
	remove
	// parenthesize writes the numbers in parentheses.
	parenthesize
)

// Limits on a marker.
const (
	maxMarkBytes   = 64
	maxMarkDigits  = 3
	maxMarkNumbers = 32
)

// allFragments is passed as the number of fragments if every marker should be recognised. No marker contains a larger
// number.
const allFragments = 999

func newCitationFilter(given int) *citationFilter {
	return &citationFilter{action: renumber, fragments: given, shown: make(map[int]int), arrays: make(map[string]bool)}
}

// apply processes the markers in a complete text.
func (a markAction) apply(text string, given int) string {
	c := newCitationFilter(given)
	c.action = a
	c.learnArrays(text)
	return c.write(text) + c.close()
}

// Neutral puts a document's markers in parentheses, so that models don't copy them as citations.
func Neutral(text string) string { return parenthesize.apply(text, allFragments) }

// Remove removes a document's markers, which would look like citations in a quotation.
func Remove(text string) string { return remove.apply(text, allFragments) }

// Without removes the citation markers from an answer that is based on `sources` fragments. If that number is unknown,
// as when the client stores the conversation, pass a negative number; Without then removes anything that may be a
// marker.
func Without(text string, sources int) string {
	if sources < 0 {
		sources = allFragments
	}
	return strings.TrimSpace(remove.apply(text, sources))
}

// Mark is a citation marker in an answer.
type Mark struct {
	Start, End int // bytes
	Numbers    []int
}

// Marker finds the citation markers in answers based on the same sources. It reads the sources only once.
type Marker struct {
	sources int
	arrays  map[string]bool // as in citationFilter
}

// NewMarker returns a Marker for answers that cite these sources.
func NewMarker(sources []domain.Fragment) Marker {
	c := newCitationFilter(len(sources))
	for _, f := range sources {
		c.learnArrays(f.Text)
	}
	return Marker{sources: len(sources), arrays: c.arrays}
}

// Marks returns the citation markers in an answer or in part of one.
func (m Marker) Marks(text string) []Mark {
	var out []Mark
	c := newCitationFilter(m.sources)
	c.arrays = m.arrays
	c.found = func(start, end int, numbers []int) { out = append(out, Mark{start, end, numbers}) }
	c.read(text, true)
	return out
}

// write processes more text and returns what can be emitted.
func (c *citationFilter) write(piece string) string {
	return c.read(c.pending+piece, false)
}

// close returns any text that is still being held back.
func (c *citationFilter) close() string {
	return c.read(c.pending, true)
}

func (c *citationFilter) cited() []int { return c.order }

func (c *citationFilter) read(s string, last bool) string {
	var out strings.Builder
	c.pending = ""
	for i := 0; i < len(s); {
		start := i + c.plainLength(s[i:]) // if the input ends here, the text from here on is held back
		c.pass(&out, s[i:start])
		if i = start; i == len(s) {
			break
		}
		if c.isSpace(s[i]) && i+1 < len(s) {
			i++
		}
		if !last && (c.isSpace(s[i]) && i+1 == len(s) || !utf8.FullRuneInString(s[i:])) {
			c.pending = s[start:]
			break
		}
		if c.inCode(s[i]) || !opensMark(s[i:]) {
			if start < i { // emit the space: the next character may itself be a space before a marker
				c.pass(&out, s[start:i])
				continue
			}
			_, n := utf8.DecodeRuneInString(s[i:])
			c.pass(&out, s[i:i+n])
			i += n
			continue
		}
		if start == i && strings.HasPrefix(s[i:], "[0") {
			c.learnArray(nameBefore().FindString(c.left))
		}
		m, state := parseMark(s[i:])
		end := i + m.length
		switch {
		case !last && (state == markOpen || state == markWhole && m.plain && start == i && isSubscriptPrefix(c.left) && len(s)-end < followerBytes):
			c.pending = s[start:]
			return out.String()
		case state != markWhole:
			_, n := utf8.DecodeRuneInString(s[i:])
			end = i + n
			c.pass(&out, s[start:end])
			c.open = true
		case c.isText(m, s[start:i], s[end:]):
			c.pass(&out, s[start:end])
			c.subscript = true
		default:
			if c.found != nil {
				c.found(i, end, slices.DeleteFunc(slices.Clone(m.numbers), func(n int) bool { return !c.isFragmentNumber(n) }))
			}
			c.cite(&out, s[start:i], s[i:end], m.numbers)
		}
		i = end
	}
	return out.String()
}

// isText reports whether an apparent marker is ordinary text: a subscript, a list after an equals sign ("x = [5]"), or
// a range beyond the number of fragments. Directly after a name, brackets are a marker only if they contain a
// fragment's number.
func (c *citationFilter) isText(m mark, space, after string) bool {
	if m.ranged && slices.Max(m.numbers) > c.fragments {
		return true
	}
	if !m.plain {
		return false
	}
	if space != "" || !isSubscriptPrefix(c.left) {
		return space == "" && (c.subscript || subscriptBefore().MatchString(c.left)) || assigned().MatchString(c.left+space) || space != "" && numbersBelongToWord(c.left, m)
	}
	return c.indented() || isSubscript(c.left, firstBytes(after)) || c.arrays[nameBefore().FindString(c.left)] ||
		!slices.ContainsFunc(m.numbers, c.isFragmentNumber)
}

// plainLength returns the number of bytes in s before the first possible marker and the space preceding it.
func (c *citationFilter) plainLength(s string) int {
	for i := range len(s) {
		switch b := s[i]; {
		case c.isSpace(b) && (i+1 == len(s) || mayOpen(s[i+1])), mayOpen(b):
			return i
		case b >= utf8.RuneSelf && len(s)-i < utf8.UTFMax && !utf8.FullRuneInString(s[i:]):
			return i
		}
	}
	return len(s)
}

// mayOpen reports whether b may start a marker's opening bracket.
func mayOpen(b byte) bool { return b == '[' || b == "【"[0] || b == "［"[0] }

// isSpace reports whether b is white space that is removed along with the marker after it. A tab may separate table
// cells, so it is removed only by a filter that removes every marker.
func (c *citationFilter) isSpace(b byte) bool { return b == ' ' || b == '\t' && c.action == remove }

func (c *citationFilter) isFragmentNumber(n int) bool { return n >= 1 && n <= c.fragments }

// cite applies the filter's action to a marker and the space before it, and writes the result to out.
func (c *citationFilter) cite(out *strings.Builder, space, raw string, numbers []int) {
	if c.action == parenthesize {
		c.pass(out, space+"("+strings.Trim(raw, " []【】［］")+")")
		return
	}
	var marks strings.Builder
	for _, n := range numbers {
		if !c.isFragmentNumber(n) || c.action == remove {
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

// pass writes text that isn't a marker and updates the filter's state.
func (c *citationFilter) pass(out *strings.Builder, text string) {
	if text == "" {
		return
	}
	out.WriteString(text)
	c.left = lastBytes(c.left + text)
	c.subscript = false
	for i := range len(text) {
		b := text[i]
		c.open = c.open && (isDigit(b) || b >= utf8.RuneSelf || strings.IndexByte(" ,;-&~^.:#", b) >= 0 || isLetter(b))
		c.track(b)
	}
}

// brackets are the pairs of brackets used for markers.
var brackets = []struct{ open, close string }{{"[", "]"}, {"【", "】"}, {"［", "］"}}

func opensMark(s string) bool {
	for _, b := range brackets {
		if strings.HasPrefix(s, b.open) {
			return true
		}
	}
	return false
}

// markState is the result of looking for a marker at the start of a text.
type markState int

const (
	markNone  markState = iota // not a marker, whatever follows
	markOpen                   // possibly the start of a marker
	markWhole                  // a complete marker
)

// labels are the words that models write before a marker's number.
var labels = []string{"document", "doc", "source", "fragment", "citation", "ref", "文档", "文檔", "来源", "來源", "文書", "資料", "출처", "문서"}

// mark is the content of a citation's brackets.
type mark struct {
	numbers []int
	length  int  // length of the marker in bytes
	plain   bool // only numbers in square brackets, so possibly a subscript
	ranged  bool // contains a range, such as 2-4
}

// parseMark parses a marker at the start of s.
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
		if digits == 0 || strings.HasPrefix(s[m.length:], "0") || strings.HasPrefix(s[m.length:], "０") {
			return mark{}, markNone // fragments are numbered from 1, so [0, 1] is an interval
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

// sourceSuffix starts a suffix that some models write after the number: 【1†source】.
const sourceSuffix = "†"

// labelAt returns the length of the label at the start of s, including its separator, or 0. open means that s is too
// short to decide.
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

// separatorAt returns the length of the separator between two numbers in a marker, or 0. isRange is true for a dash, as
// in [1-3].
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

// digitsAt parses a number in ASCII or full-width digits at the start of s. It returns the value and the numbers of
// digits and bytes. It reads at most one digit more than a marker may have.
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
