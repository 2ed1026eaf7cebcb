package extractive

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/answer/citation"
	"github.com/sluice/sluice/pkg/answer/fence"
	"github.com/sluice/sluice/pkg/answer/language"
	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lazyregexp"
)

// phrases are the words to put around quotations, in the answer's language.
type phrases language.Phrases

// quotations formats the quotations as Markdown, one piece per citation: adjacent sentences as a paragraph, entries and
// rows as a list, code as a block.
func (say phrases) quotations(quotes []sentence, fragments []domain.Fragment) []string {
	var out []string
	listed := false // whether the last piece is a list entry
	for i := 0; i < len(quotes); {
		s := quotes[i]
		cite := " [" + strconv.Itoa(s.fragment+1) + "]"
		switch {
		case s.kind == partCode && s.intro != "":
			out = append(out, "\n\n"+say.Open+quotation(s.intro)+say.Close+cite+"\n\n"+block(s.text, s.lang, s.cut))
		case s.kind == partCode:
			out = append(out, "\n\n"+block(s.text, s.lang, s.cut)+"\n"+strings.TrimSpace(cite))
		case s.kind == partEntry || s.kind == partRow:
			next := i+1 < len(quotes) && (quotes[i+1].kind == partEntry || quotes[i+1].kind == partRow)
			if !next && !listed {
				out = append(out, "\n\n"+say.Open+s.shown+say.Close+cite)
				break
			}
			parting := "\n\n"
			if listed {
				parting = "\n"
			}
			out = append(out, parting+say.formatEntry(s.shown)+cite)
			listed = next
		default:
			text := marked(s, fragments)
			for i+1 < len(quotes) && quotes[i+1].follows(s) && !strings.Contains(text, "\n") {
				i++
				s = quotes[i]
				text += separator(text, s.shown) + marked(s, fragments)
			}
			out = append(out, "\n\n"+say.formatAnnouncement(text, cite))
		}
		i++
	}
	return out
}

// follows reports whether s is prose directly after `other` in the same fragment.
func (s sentence) follows(other sentence) bool {
	return s.kind == partProse && s.fragment == other.fragment && s.position == other.position+1
}

// formatAnnouncement formats a sentence ending in a colon and the text it announces, which is either quoted or, for
// entries, turned into a list.
func (say phrases) formatAnnouncement(text, cite string) string {
	text, taken, _ := strings.Cut(text, "\n")
	var list strings.Builder
	if taken != "" {
		for _, p := range paragraph(taken) {
			switch p.kind {
			case partEntry, partRow:
				list.WriteString("\n" + say.formatEntry(fence.OneLine(p.text, maxQuoteCharacters)) + cite)
			case partProse:
				text += separator(text, p.text) + p.text
			}
		}
	}
	out := say.Open + text + say.Close + cite
	if list.Len() > 0 {
		out += "\n" + list.String()
	}
	return out
}

// formatEntry formats a list entry. A numbered entry keeps its number.
func (say phrases) formatEntry(text string) string {
	mark := strings.TrimSpace(itemLine().FindString(text))
	text = say.Open + strings.TrimSpace(itemLine().ReplaceAllString(text, "")) + say.Close
	if strings.ContainsFunc(mark, unicode.IsDigit) {
		return mark + " " + text
	}
	return "- " + text
}

// marked returns the text to quote, with an ellipsis wherever the sentence is cut off at the start or end of the
// fragment.
func marked(s sentence, fragments []domain.Fragment) string {
	text := s.shown
	if first, _ := utf8.DecodeRuneInString(text); s.position == 0 && fragments[s.fragment].Offset > 0 && unicode.IsLower(first) {
		text = "… " + text
	}
	if s.last && cutOff(text) {
		text += " …"
	}
	return text
}

// cutOff reports whether text looks truncated: several words of prose that end in a letter, a comma or the like.
func cutOff(text string) bool {
	if strings.ContainsAny(text, "\n·") || labelled().MatchString(text) || chunk.Tokens(text) <= 2*scrapTokens {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(text)
	return unicode.IsLetter(last) || last == ',' || last == ';'
}

// labelled matches a line that isn't a sentence because it starts with a label: "Next review: 22 May, room Pine".
var labelled = lazyregexp.New(`^\p{Lu}[^.:;!?]{0,40}: `)

func separator(a, b string) string {
	last, _ := utf8.DecodeLastRuneInString(a)
	first, _ := utf8.DecodeRuneInString(b)
	if language.IsUnspaced(first) || strings.ContainsRune("。！？」』", last) {
		return ""
	}
	return " "
}

// quotation prepares text for quotation: it collapses white space in each line and removes anything that would look
// like a citation.
func quotation(text string) string {
	if strings.Count(text, "`")%2 != 0 || strings.Contains(text, "``") {
		text = strings.ReplaceAll(text, "`", "") // an unclosed backtick would turn the citation into code
	}
	text = citation.Remove(text)
	text = strings.ReplaceAll(strings.TrimSpace(text), "\t", " · ")
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = fence.OneLine(line, maxQuoteCharacters); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
