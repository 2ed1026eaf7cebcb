package citation

import (
	"regexp"
	"strings"
)

// Number of bytes around brackets that distinguish a subscript from a citation.
const (
	maxNameBytes  = 64 // before them
	followerBytes = 4  // after them
)

var (
	// arrayName matches a name that is common for arrays in code and is not an English word: arr, argv, snake_case,
	// $name.
	arrayName = regexp.MustCompile(`(?:^|[^\p{L}\p{M}\p{N}_$])(?:arr|argv|args|buf|cols|dict|elems|idx|lst|mat|nums|params|ptr|regs|str|tmp|tup|vals|vec|[a-z][0-9a-z]*_[0-9a-z_]*|\$[0-9A-Za-z_]+)$`)
	// letterName matches a name of one letter: x, but not the s of gate's.
	letterName = regexp.MustCompile(`(?:^|[^\p{L}\p{M}\p{N}_$'’./-])[a-z]$`)
	// callBefore matches a call whose result may be subscripted: split(",")[1]. In "text (note)[1]", a space precedes
	// the parenthesis.
	callBefore = regexp.MustCompile(`[0-9A-Za-z_]\([^()]*\)$`)
	// codeFollows matches text that only code has after a subscript: an assignment, a comparison, a field, an
	// increment.
	codeFollows = regexp.MustCompile(`^(?:\s?(?:[-+*/|&^%:]?=|[!<>]=)|\+\+|--|->|\.[a-z_]|\{|\[[A-Za-z'"])`)
	// assigned matches an assignment of a list of numbers: x = [5].
	assigned = regexp.MustCompile(`=\s?$`)
)

// nameBefore matches a name, such as arr. Digits alone are not a name: 1[2].
var nameBefore = regexp.MustCompile(`[A-Za-z_$][0-9A-Za-z_$]*$`)

// subscripted reports whether brackets between the two texts are a subscript, as in arr[2], and not a citation.
func subscripted(before, after string) bool {
	if !isSubscriptPrefix(before) || strings.Contains(before[strings.LastIndexAny(before, " \t\n")+1:], "://") {
		return false
	}
	return arrayName.MatchString(before) || letterName.MatchString(before) || callBefore.MatchString(before) || codeFollows.MatchString(after)
}

// isSubscriptPrefix reports whether brackets after this text follow a name or a call without a space.
func isSubscriptPrefix(before string) bool {
	return nameBefore.MatchString(before) || callBefore.MatchString(before)
}

// lastBytes returns the part at the end of a text that subscripted examines.
func lastBytes(text string) string { return text[max(0, len(text)-maxNameBytes):] }

// firstBytes returns the part at the beginning of a text that subscripted examines.
func firstBytes(text string) string { return text[:min(followerBytes, len(text))] }

// CodeTracker parses the Markdown of a text, byte by byte, to determine which parts are code.
type CodeTracker struct {
	ticks int // length of the run of backticks being read
	code  int // length of the run that opened code; 0 outside code

	inLine bool // the line contains more than white space
	after  bool // the previous line contained more than white space
	indent int  // columns of leading white space in the line
	tildes int  // length of the run of tildes being read at the beginning of the line
	fenced int  // length of the run of tildes that opened a block of code; 0 outside one
}

// inCode reports whether the next character, b, is inside code.
func (c *CodeTracker) inCode(b byte) bool {
	code := c.code
	if b != '`' && c.ticks > 0 { // the run of backticks before it is complete
		code = afterRun(code, c.ticks)
	}
	return code > 0 || c.fenced > 0
}

// indented reports whether the line is indented like a code block without fences. Paragraphs in lists may be, too.
func (c *CodeTracker) indented() bool { return c.indent >= 4 }

// track processes the next byte. A run of backticks opens code, and a run of the same length closes it. Inline code
// ends with its line, so that a stray backtick does not turn the rest of the text into code.
func (c *CodeTracker) track(b byte) {
	c.trackLine(b)
	if b == '`' && c.fenced == 0 {
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

// trackLine processes the beginnings of lines: indentation, and fences of tildes. Tildes below a line of text underline
// a heading.
func (c *CodeTracker) trackLine(b byte) {
	switch {
	case b == '~' && (!c.inLine || c.tildes > 0):
		c.inLine = true
		c.tildes++
		return
	case b == ' ' && !c.inLine:
		c.indent++
		return
	case b == '\t' && !c.inLine:
		c.indent += 4 - c.indent%4
		return
	}
	switch {
	case c.tildes < 3 || c.indent > 3 || c.code > 0:
	case c.fenced == 0 && !c.after:
		c.fenced = c.tildes
	case c.fenced > 0 && c.tildes >= c.fenced:
		c.fenced = 0
	}
	c.tildes = 0
	if b == '\n' {
		c.after, c.inLine, c.indent = c.inLine, false, 0
	} else {
		c.inLine = true
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

// MarksInText matches reference marks in documents, which a model could copy into its answer as citations.
var MarksInText = regexp.MustCompile(`[\[【［]\s*(\d{1,3}(?:\s*[,;，、；–-]\s*\d{1,3})*)\s*[\]】］]`)

// Neutral removes the brackets of marks in a document's text, so that no model copies them as citations. Code keeps its
// brackets: argv[1].
func Neutral(text string) string {
	var out strings.Builder
	var code CodeTracker
	done, subscript := 0, false // end of the previous mark, and whether it is a subscript
	for _, at := range MarksInText.FindAllStringSubmatchIndex(text, -1) {
		for i := done; i < at[0]; i++ {
			code.track(text[i])
		}
		before := lastBytes(text[:at[0]])
		subscript = code.inCode('[') || code.indented() && isSubscriptPrefix(before) || subscripted(before, firstBytes(text[at[1]:])) ||
			subscript && at[0] == done
		out.WriteString(text[done:at[0]])
		if subscript {
			out.WriteString(text[at[0]:at[1]])
		} else {
			out.WriteString("(" + text[at[2]:at[3]] + ")")
		}
		for i := at[0]; i < at[1]; i++ {
			code.track(text[i])
		}
		done = at[1]
	}
	return out.String() + text[done:]
}
