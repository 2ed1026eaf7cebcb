package extractive

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/answer/language"
	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/lazyregexp"
)

// Limits on the text quoted after a colon.
const (
	maxTakenLines      = 8
	maxTakenCharacters = 400
)

// Lines with fewer characters than this are not wrapped prose but code, list entries or verse.
const shortLine = 40

// Markup that a browser would fetch or follow, and its replacement in quotations.
var markup = []struct {
	pattern func() *regexp.Regexp
	text    string
}{
	{lazyregexp.New(`!\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])?`), "$1"},                // images
	{lazyregexp.New(`\[([^\[\]]*)\](?:\([^()\s]*(?:\s+"[^"]*")?\)|\[\w{1,20}\])`), "$1"}, // links
	{lazyregexp.New(`(?m)^ {0,3}\[[^\[\]\n]+\]:\s+\S.*$`), ""},                           // link definitions
	{lazyregexp.New(`(?is)<(script|style)\b[^<>]*>.*?</(?:script|style)\s*>`), ""},
	{lazyregexp.New(`(?i)</?(?:a|applet|area|audio|base|body|button|embed|form|frame|iframe|image|img|input|link|math|meta|object|picture|script|source|style|svg|track|video)(?:[\s/][^<>]*)?>`), ""},
}

// itemLine matches the start of a list entry.
var itemLine = lazyregexp.New(`^\s*(?:[-*•–]|\d{1,3}[.)])\s`)

func paragraph(text string) []part {
	if hasSeparateLines(text) {
		return entries(strings.Split(text, "\n"))
	}
	text = unwrapped(text)
	var out []part
	for _, s := range wholeSentences(text) {
		p := part{text: strings.Join(strings.Fields(text[s.Start:s.End]), " ")}
		switch rest := strings.TrimSpace(text[s.End:]); {
		case itemLine().MatchString(p.text):
			p.kind = partEntry
		case endsInColon(p.text) && rest != "" && itemLine().MatchString(rest):
			p.text += "\n" + firstLines(rest)
		}
		out = append(out, p)
	}
	return out
}

// wholeSentences splits a paragraph into sentences. A full stop without a space after it, as in an address or a name,
// doesn't end a sentence.
func wholeSentences(part string) []analysis.Span {
	var out []analysis.Span
	for _, s := range chunk.Sentences(part) {
		if n := len(out); n > 0 && out[n-1].End == s.Start && s.Start > 0 && part[s.Start] < utf8.RuneSelf && part[s.Start-1] < utf8.RuneSelf &&
			!unicode.IsSpace(rune(part[s.Start])) && !unicode.IsSpace(rune(part[s.Start-1])) {
			out[n-1].End = s.End
			continue
		}
		out = append(out, s)
	}
	return out
}

// unwrapped joins the lines of wrapped prose: a line is joined to the previous one if it starts in lower case, or if
// the previous one is long or ends with a full stop. List entries keep their own lines.
func unwrapped(part string) string {
	var out strings.Builder
	before := ""
	for line := range strings.SplitSeq(strings.Trim(part, "\n"), "\n") {
		line = strings.TrimSpace(line)
		first, _ := utf8.DecodeRuneInString(line)
		last, _ := utf8.DecodeLastRuneInString(before)
		switch {
		case before == "":
		case language.IsUnspaced(first) && language.IsUnspaced(last):
		case itemLine().MatchString(line) || endsInColon(before):
			out.WriteByte('\n')
		case unicode.IsLower(first) || unicode.Is(unicode.STerm, last) || utf8.RuneCountInString(before) >= shortLine:
			out.WriteByte(' ')
		default:
			out.WriteByte('\n')
		}
		out.WriteString(line)
		before = line
	}
	return out.String()
}

// hasSeparateLines reports whether each line in a paragraph stands on its own, as opposed to wrapped prose.
func hasSeparateLines(part string) bool {
	if strings.Contains(part, "\t") {
		return true
	}
	lines := strings.Split(strings.Trim(part, "\n"), "\n")
	if len(lines) < 2 {
		return false
	}
	records, items, short, capitals, sentences := 0, 0, 0, 0, 0
	for i, line := range lines {
		if recordLine().MatchString(line) {
			records++
		}
		if itemLine().MatchString(line) {
			items++
		}
		first, _ := utf8.DecodeRuneInString(strings.TrimSpace(line))
		last, _ := utf8.DecodeLastRuneInString(line)
		n := utf8.RuneCountInString(line)
		if n < shortLine && !language.IsUnspaced(first) {
			short++
		}
		if (unicode.IsUpper(first) || unicode.IsDigit(first)) && (i == len(lines)-1 || !unicode.Is(unicode.STerm, last)) {
			capitals++
		}
		if !unicode.IsLower(first) && unicode.Is(unicode.STerm, last) && !language.IsUnspaced(first) {
			sentences++
		}
	}
	switch {
	case records*2 >= len(lines), short == len(lines), items == len(lines):
		return true
	default:
		return len(lines) > 2 && (capitals == len(lines) || sentences == len(lines))
	}
}

func endsInColon(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasSuffix(text, ":") || strings.HasSuffix(text, "：")
}

// isHeading reports whether a paragraph is a heading: a single short line that does not end with a full stop or look
// like code.
func isHeading(part string) bool {
	part = strings.TrimSpace(part)
	first, _ := utf8.DecodeRuneInString(part)
	return !strings.Contains(part, "\n") && unicode.IsUpper(first) && chunk.Tokens(part) <= scrapTokens &&
		!strings.ContainsAny(part, ".;!?=(){}[]<>$_/")
}

// firstLines returns the first lines after a colon, up to the limits.
func firstLines(text string) string {
	var out []string
	length := 0
	for line := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		length += utf8.RuneCountInString(line)
		if len(out) == maxTakenLines || len(out) > 0 && length > maxTakenCharacters {
			break
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}
