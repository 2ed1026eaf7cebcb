package extractive

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/answer/citation"
	"github.com/sluice/sluice/pkg/answer/fence"
	"github.com/sluice/sluice/pkg/answer/language"
	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/domain"
)

// phrases are what is said around quotations.
type phrases language.Phrases

// quotations writes what is quoted as Markdown, piece by piece, each with its citation: sentences that follow one another as
// one paragraph, entries and rows as a list where there are several, code as code.
func (say phrases) quotations(quotes []sentence, fragments []domain.Fragment) []string {
	var out []string
	listed := false // the last piece is an entry of a list
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
			out = append(out, parting+say.entry(s.shown)+cite)
			listed = next
		default:
			text := marked(s, fragments)
			for i+1 < len(quotes) && quotes[i+1].follows(s) && !strings.Contains(text, "\n") {
				i++
				s = quotes[i]
				text += between(text, s.shown) + marked(s, fragments)
			}
			out = append(out, "\n\n"+say.announced(text, cite))
		}
		i++
	}
	return out
}

// follows reports whether s is the sentence after other.
func (s sentence) follows(other sentence) bool {
	return s.kind == partProse && s.fragment == other.fragment && s.position == other.position+1
}

// announced writes prose, with what it announces: sentences go on in the same quotation, entries become a list.
func (say phrases) announced(text, cite string) string {
	text, taken, _ := strings.Cut(text, "\n")
	var list strings.Builder
	if taken != "" {
		for _, p := range paragraph(taken) {
			switch p.kind {
			case partEntry, partRow:
				list.WriteString("\n" + say.entry(fence.OneLine(p.text, maxQuoteCharacters)) + cite)
			case partProse:
				text += between(text, p.text) + p.text
			}
		}
	}
	out := say.Open + text + say.Close + cite
	if list.Len() > 0 {
		out += "\n" + list.String()
	}
	return out
}

// entry writes an entry of a list; one that has a number keeps it.
func (say phrases) entry(text string) string {
	mark := strings.TrimSpace(itemLine.FindString(text))
	text = say.Open + strings.TrimSpace(itemLine.ReplaceAllString(text, "")) + say.Close
	if strings.ContainsFunc(mark, unicode.IsDigit) {
		return mark + " " + text
	}
	return "- " + text
}

// marked is what is quoted of a sentence; one whose beginning or end the fragment does not have is marked.
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

// cutOff reports whether a text of several words breaks off: prose that ends in a letter, a comma or the like.
func cutOff(text string) bool {
	if strings.ContainsAny(text, "\n·") || labelled.MatchString(text) || chunk.Tokens(text) <= 2*scrapTokens {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(text)
	return unicode.IsLetter(last) || last == ',' || last == ';'
}

// labelled is a line that is no sentence: "Next review: 22 May, room Pine".
var labelled = regexp.MustCompile(`^\p{Lu}[^.:;!?]{0,40}: `)

// between is what stands between two sentences that follow one another.
func between(a, b string) string {
	last, _ := utf8.DecodeLastRuneInString(a)
	first, _ := utf8.DecodeRuneInString(b)
	if language.Wide(first) || strings.ContainsRune("。！？」』", last) {
		return ""
	}
	return " "
}

// spacedMarks are a document's own reference marks with the space before them.
var spacedMarks = regexp.MustCompile(`[ \t]?` + citation.MarksInText.String())

// quotation makes a text fit to be quoted: each of its lines without superfluous space, and without the document's
// own reference marks, which would be taken for ours.
func quotation(text string) string {
	text = spacedMarks.ReplaceAllString(text, "")
	text = citation.MarksInText.ReplaceAllString(text, "($1)") // what taking out a mark has brought together
	if strings.Count(text, "`")%2 != 0 || strings.Contains(text, "``") {
		text = strings.ReplaceAll(text, "`", "") // one that stays open would make code of our citation
	}
	text = strings.ReplaceAll(strings.TrimSpace(text), "\t", " · ")
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = fence.OneLine(line, maxQuoteCharacters); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
