package extractive

import (
	"strings"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lazyregexp"
)

type partKind int

const (
	partProse   partKind = iota // a sentence, with any text it announces
	partEntry                   // a list entry
	partRow                     // a table row, with the column names
	partCode                    // a code block, with the sentence that announces it
	partHeading                 // a heading, never an answer
)

// part is the unit of ranking and quoting in a fragment.
type part struct {
	kind  partKind
	text  string // without fences
	intro string // sentence that announces code
	lang  string // declared language of code
	cut   bool   // whether the code was truncated

	under string // nearest heading above it in the fragment
	asked string // question that the part answers, directly before the part or in its section's heading
}

// words returns the text to compare with the question.
func (p part) words() string {
	if p.intro == "" {
		return p.text
	}
	return p.intro + "\n" + p.text
}

// partsOf splits a fragment into sentences, table rows, list entries and code blocks. A sentence ending in a colon
// includes the text it announces. Headings and column names are separate parts, because they share many words with
// questions but answer nothing. Front matter is removed, and so are images, tags and link targets, because a document
// could use them to make a browser request any address.
func partsOf(f domain.Fragment) []part {
	r := partReader{title: lastHeading(f.Heading)}
	for _, s := range splitAtFences(shownText(f)) {
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

// frontMatter matches metadata between two rules at the start of a document: "name: value" or "name = value" lines,
// whose values may be lists or continue on further lines.
var frontMatter = lazyregexp.New(`\A\x{FEFF}?\s*(?:---|\+\+\+)[ \t]*\n(?:[ \t]*\n|#.*\n)*[\w.-]+ ?[:=](?:[ \t].*)?\n(?:[\w.-]+ ?[:=](?:[ \t].*)?\n|[ \t]+\S.*\n|- .*\n|#.*\n|\[.*\n|[ \t]*\n)*(?:---|\.\.\.|\+\+\+)[ \t]*(?:\n|\z)`)

func lastHeading(path string) string {
	return strings.TrimSpace(path[strings.LastIndex(path, headingSeparator)+1:])
}

// headingSeparator separates the headings in a path.
const headingSeparator = ">"

// partReader collects a fragment's parts.
type partReader struct {
	title string // the section's heading
	parts []part

	under     string
	asked     string // question in the prose that has not been answered yet
	announced bool   // whether the last part ends in a colon and includes the next text
	open      bool   // whether the last part is code without fences that may continue
}

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

// addCode adds a code block, with the sentence that announces it. It returns false if the first line is too long to
// quote.
func (r *partReader) addCode(code, lang string) (taken bool) {
	r.open = false
	p := part{kind: partCode, lang: lang}
	p.text, p.cut = firstCode(code)
	if p.text == "" {
		return false
	}
	if n := len(r.parts) - 1; n >= 0 && r.parts[n].kind == partProse && (r.announced || !endsSentence(r.parts[n].text)) {
		p.intro, p.under, p.asked = r.parts[n].text, r.parts[n].under, r.parts[n].asked
		r.parts[n] = p
	} else {
		r.add(p)
	}
	r.announced = false
	return true
}

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
	r.announced = last >= 0 && r.parts[last].kind != partCode && endsInColon(r.parts[last].text)
}

// isHeading reports whether a paragraph is the section's heading, a question on its own line, or looks like a heading.
func (r *partReader) isHeading(text string) bool {
	text = strings.TrimSpace(text)
	if strings.Contains(text, "\n") {
		return false
	}
	return text == r.title || isHeading(text) && !endsInColon(text) || isQuestion(text) && utf8.RuneCountInString(text) <= maxHeadingQuestion
}

// Questions longer than this, in characters, don't count as headings.
const maxHeadingQuestion = 160

// finish returns the parts. A lone heading becomes prose.
func (r *partReader) finish() []part {
	if n := len(r.parts) - 1; n == 0 && r.parts[n].kind == partHeading {
		r.parts[n].kind = partProse
	}
	return r.parts
}
