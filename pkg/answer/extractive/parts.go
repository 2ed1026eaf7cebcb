package extractive

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/domain"
)

// partKind says what a part of a fragment is.
type partKind int

const (
	partProse   partKind = iota // a sentence, with what it announces
	partEntry                   // of a list
	partRow                     // of a table, with the names of its columns
	partCode                    // a block of code, with the sentence that announces it
	partHeading                 // names what follows, and is no answer to anything
)

// part is what is ranked and quoted in one piece.
type part struct {
	kind  partKind
	text  string // of code, without its fences
	intro string // the sentence that announces code
	lang  string // that code is said to be written in
	cut   bool   // code that goes on

	under string // the heading within the fragment that it stands under
	asked string // the question that it answers, which stands right before it or heads its section
}

// words are what a part says to whoever looks for it.
func (p part) words() string {
	if p.intro == "" {
		return p.text
	}
	return p.intro + "\n" + p.text
}

// partsOf divides a fragment: prose into sentences; rows, entries and blocks of code are parts of their own. A sentence that
// ends in a colon takes along what it announces. Headings and names of columns are told apart, since they are full of the
// words that people ask for and answer nothing. Images, tags and the targets of links are left out: a reader's browser would
// fetch or follow them to wherever the document says. So is what a document begins with for programs.
func partsOf(f domain.Fragment) []part {
	text := f.Text
	if f.Offset == 0 {
		text = strings.TrimPrefix(text, frontMatter.FindString(text))
	}
	for _, m := range markup {
		text = m.pattern.ReplaceAllString(text, m.text)
	}
	r := partReader{title: lastHeading(f.Heading)}
	for _, s := range fencedIn(text) {
		if s.code {
			r.addCode(s.text, s.lang)
			continue
		}
		for paragraph := range strings.SplitSeq(s.text, "\n\n") {
			if strings.TrimSpace(paragraph) != "" {
				r.addParagraph(paragraph)
			}
		}
	}
	return r.finish()
}

// frontMatter is what stands between two rules at the beginning of a document: "name: value" or "name = value" each, with lists and
// other values that go on below.
var frontMatter = regexp.MustCompile(`\A\x{FEFF}?\s*(?:---|\+\+\+)[ \t]*\n(?:[ \t]*\n|#.*\n)*[\w.-]+ ?[:=](?:[ \t].*)?\n(?:[\w.-]+ ?[:=](?:[ \t].*)?\n|[ \t]+\S.*\n|- .*\n|#.*\n|\[.*\n|[ \t]*\n)*(?:---|\.\.\.|\+\+\+)[ \t]*(?:\n|\z)`)

// lastHeading is the innermost of a path of headings.
func lastHeading(path string) string {
	return strings.TrimSpace(path[strings.LastIndex(path, headingSeparator)+1:])
}

// headingSeparator parts the headings of a path.
const headingSeparator = ">"

// partReader gathers the parts of a fragment.
type partReader struct {
	title string // of the section that the fragment is of
	parts []part

	under     string
	asked     string // a question within prose that nothing has followed yet
	announced bool   // the last part ends in a colon, and takes what follows along
	open      bool   // the last part is code without fences, and may go on
}

// add appends a part under the heading that it stands under.
func (r *partReader) add(p part) {
	p.under = r.under
	switch {
	case p.kind == partHeading:
		r.asked = ""
	case p.kind == partProse && isQuestion(p.text):
		r.asked = p.text
	case r.asked != "":
		p.asked, r.asked = r.asked, ""
	case isQuestion(r.under):
		p.asked = r.under
	}
	r.parts = append(r.parts, p)
}

// addCode takes a block of code, unless its first line is too long to be quoted. It belongs to the sentence that announces it.
func (r *partReader) addCode(code, lang string) (taken bool) {
	r.open = false
	p := part{kind: partCode, lang: lang}
	p.text, p.cut = firstCode(code)
	if p.text == "" {
		return false
	}
	if n := len(r.parts) - 1; n >= 0 && r.parts[n].kind == partProse && (r.announced || !ends(r.parts[n].text)) {
		p.intro, p.under, p.asked = r.parts[n].text, r.parts[n].under, r.parts[n].asked
		r.parts[n] = p
	} else {
		r.add(p)
	}
	r.announced = false
	return true
}

// addParagraph takes what stands between empty lines.
func (r *partReader) addParagraph(text string) {
	text = strings.Trim(text, "\n")
	last := len(r.parts) - 1
	switch {
	case looksLikeCode(text):
		if r.open {
			joined, cut := firstCode(r.parts[last].text + "\n\n" + text)
			r.parts[last].text, r.parts[last].cut = joined, cut
			return
		}
		r.open = r.addCode(text, "")
		return
	case r.isHeading(text):
		r.under, r.announced, r.open = strings.TrimSpace(text), false, false
		r.add(part{kind: partHeading, text: r.under})
		return
	case r.announced:
		r.parts[last].text += "\n" + firstLines(text)
	}
	r.open = false
	for _, p := range paragraph(text) {
		r.add(p)
	}
	last = len(r.parts) - 1
	r.announced = last >= 0 && r.parts[last].kind != partCode && announces(r.parts[last].text)
}

// isHeading reports whether a paragraph is a heading: that of the fragment's section, a lone question, or what looks like one.
func (r *partReader) isHeading(text string) bool {
	text = strings.TrimSpace(text)
	if strings.Contains(text, "\n") {
		return false
	}
	return text == r.title || isHeading(text) && !announces(text) || isQuestion(text) && utf8.RuneCountInString(text) <= maxHeadingQuestion
}

// maxHeadingQuestion is how many characters a question by itself may have to stand for a heading.
const maxHeadingQuestion = 160

// finish returns the parts. A heading that nothing follows is a line like any other: what it heads was not found.
func (r *partReader) finish() []part {
	if n := len(r.parts) - 1; n == 0 && r.parts[n].kind == partHeading {
		r.parts[n].kind = partProse
	}
	return r.parts
}
