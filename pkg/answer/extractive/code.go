package extractive

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/answer/language"
	"github.com/sluice/sluice/pkg/lazyregexp"
)

// Limits on quoted code.
const (
	maxCodeLines      = 40
	maxCodeCharacters = 2000
)

// stretch is a fenced code block in a fragment, or the text between two such blocks.
type stretch struct {
	text string
	code bool
	lang string
}

// fenceLine matches a line that opens or closes a code block, along with any language name. It ignores tildes, which
// more often underline headings.
var fenceLine = lazyregexp.New("^ {0,3}(```+)[ \t]*([a-zA-Z0-9_+#.-]*)[^`]*$")

// splitAtFences splits a fragment's text at its code fences. A fragment may start or end inside code. If the number of
// fences is odd and the first one names no language, the fragment started inside code.
func splitAtFences(text string) []stretch {
	lines := strings.Split(text, "\n")
	fences, first := 0, ""
	for _, line := range lines {
		if m := fenceLine().FindStringSubmatch(line); m != nil {
			if fences++; fences == 1 {
				first = m[2]
			}
		}
	}
	if fences == 0 {
		return []stretch{{text: text}}
	}
	s := stretch{code: fences%2 == 1 && first == ""}
	mark := "" // fence that opened the code; "" if it precedes the fragment
	var out []stretch
	var held []string
	flush := func(next stretch) {
		s.text = strings.Join(held, "\n")
		if strings.TrimSpace(s.text) != "" {
			out = append(out, s)
		}
		s, held = next, nil
	}
	for _, line := range lines {
		m := fenceLine().FindStringSubmatch(line)
		switch {
		case m == nil, s.code && mark != "" && (len(m[1]) < len(mark) || m[2] != ""):
			held = append(held, line)
		case s.code:
			flush(stretch{})
		default:
			mark = m[1]
			flush(stretch{code: true, lang: m[2]})
		}
	}
	flush(stretch{})
	return out
}

// codeSigns matches lines that are typical of programs, commands or settings but not of prose.
var codeSigns = lazyregexp.New(`^(?:\$ |# ?!|#include\b|def |func |class |import \w+$|from \w+ import |return\b|const |let |var |public |private |if .*:$|for .*:$|SELECT |INSERT |UPDATE |sudo |pip3? |npm |npx |yarn |git |docker |kubectl |helm |go (?:run|build|install|test|get|mod) |make \w+$|cargo |brew |apt(?:-get)? |curl |wget |cp |mv |mkdir |chmod |ssh |python3? |bash |systemctl |</?\w+[ >])|` +
	` --?[a-zA-Z][\w-]*|[{;]$|^[})\]]+[;,]?$|\w\([^ )]*\)|=>|->|::|&&| \| | \|\| |^[\w.\[\]"']+ ?:?= ?\S|^ {2,}\S+:`)

// looksLikeCode reports whether an unfenced paragraph is code: no line ends like a sentence, and at least half of the
// lines match codeSigns.
func looksLikeCode(text string) bool {
	if strings.Contains(text, "\t") && !strings.HasPrefix(text, "\t") {
		return false // a table
	}
	lines, signs := 0, 0
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		last, _ := utf8.DecodeLastRuneInString(strings.TrimSpace(line))
		if recordLine().MatchString(line) || itemLine().MatchString(line) || unicode.Is(unicode.STerm, last) || strings.ContainsFunc(line, language.IsUnspaced) {
			return false
		}
		lines++
		if codeSigns().MatchString(line) {
			signs++
		}
	}
	return lines > 0 && signs*2 >= lines
}

// firstCode returns the start of a code block, up to the limits, and whether it was truncated.
func firstCode(code string) (text string, cut bool) {
	var out []string
	length := 0
	for line := range strings.SplitSeq(strings.Trim(code, "\n"), "\n") {
		line = strings.TrimRightFunc(line, unicode.IsSpace)
		length += utf8.RuneCountInString(line)
		if len(out) == maxCodeLines || length > maxCodeCharacters {
			return strings.TrimRight(strings.Join(out, "\n"), "\n"), true
		}
		out = append(out, line)
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n"), false
}

// backticks matches runs of backticks, which could close a code block.
var backticks = lazyregexp.New("`+")

// block puts code between fences that its content cannot close.
func block(code, lang string, cut bool) string {
	mark := "```"
	for _, run := range backticks().FindAllString(code, -1) {
		if len(run) >= len(mark) {
			mark = run + "`"
		}
	}
	if cut {
		code += "\n…"
	}
	return mark + lang + "\n" + code + "\n" + mark
}
