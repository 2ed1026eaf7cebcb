package extractive

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/answer/fence"
	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/domain"
)

// topics marks the terms of a question or clause that an answer must be about.
type topics []bool

// topicsOf returns a clause's topics: its terms, except those from an earlier question and those that only frame the
// question. If few topics other than names are left, it returns the whole question's topics, including those from
// earlier questions.
func (q question) topicsOf(clause string) topics {
	out := topics(termsIn(q.terms, strings.Fields(clause)))
	said := 0
	for i := range out {
		out[i] = out[i] && q.own[i] && !q.framing[i]
		if out[i] && !q.names[i] {
			said++
		}
	}
	if said < 2 && (said == 0 || strings.TrimSpace(clause) == strings.TrimSpace(q.text)) {
		for i := range out {
			out[i] = !q.framing[i]
		}
	}
	return out
}

// coverageOf returns the weighted fraction of the topics that occur in at least one of the texts.
func (q question) coverageOf(about topics, texts ...wording) float64 {
	held, total := 0.0, 0.0
	for i, w := range q.weights {
		if !about[i] {
			continue
		}
		total += w
		best := 0.0
		for _, t := range texts {
			best = max(best, q.matchDegree(t, i))
		}
		held += w * best
	}
	if total == 0 {
		return 0
	}
	return held / total
}

// page is a fragment split into lines. Passages are runs of these lines.
type page struct {
	fragment domain.Fragment
	lines    []line
	own      wording // the text's wording
	title    wording // wording of the headings and the datasource's name
}

// line is a line in a fragment, or a sentence in a long line, prepared for matching.
type line struct {
	text   string
	block  int  // paragraph number
	inline bool // whether it is on the same line of text as the previous sentence
	own    wording
}

func pagesOf(fragments []domain.Fragment) []page {
	var analyzer analysis.Analyzer
	out := make([]page, len(fragments))
	for i, f := range fragments {
		lang := analysis.Detect(f.Text)
		read := func(s string) wording { return wording{at: positions(analyzer.Terms(s, lang))} }
		out[i] = page{fragment: f, own: read(f.Text), title: read(titleOf(f))}
		block := 0
		for text := range strings.SplitSeq(shownText(f), "\n") {
			if strings.TrimSpace(text) == "" {
				block++
				continue
			}
			for n, part := range sentencesOf(text) {
				out[i].lines = append(out[i].lines, line{text: part, block: block, inline: n > 0, own: read(part)})
			}
		}
		out[i].lines = withoutOrders(out[i].lines)
	}
	return out
}

// withScores replaces the pages' fragments with the same fragments scored differently.
func withScores(pages []page, fragments []domain.Fragment) []page {
	out := slices.Clone(pages)
	for i := range out {
		out[i].fragment = fragments[i]
	}
	return out
}

// sentencesOf splits a long line into sentences. It leaves short lines and table rows whole.
func sentencesOf(text string) []string {
	text = strings.TrimRight(text, " \r")
	if utf8.RuneCountInString(text) <= longLine || strings.Contains(text, "\t") || recordLine().MatchString(text) {
		return []string{text}
	}
	var out []string
	for _, s := range wholeSentences(text) {
		if part := strings.TrimSpace(text[s.Start:s.End]); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// Lines longer than this, in characters, are split into sentences.
const longLine = 120

// withoutOrders returns the lines before the first one that addresses a language model. If only a paragraph as a whole
// addresses one, it returns the lines before that paragraph.
func withoutOrders(lines []line) []line {
	for begin := 0; begin < len(lines); {
		end, text := begin, ""
		for ; end < len(lines) && lines[end].block == lines[begin].block; end++ {
			text += lines[end].text + "\n"
		}
		if fence.AddressesModel(text) || fence.AddressesModel(strings.Join(strings.Fields(text), " ")) {
			if i := slices.IndexFunc(lines[begin:end], func(l line) bool { return fence.AddressesModel(l.text) }); i >= 0 {
				return lines[:begin+i]
			}
			return lines[:begin]
		}
		begin = end
	}
	return lines
}

// shownText returns a fragment's text without front matter, and without markup that a browser would fetch or follow.
func shownText(f domain.Fragment) string {
	text := f.Text
	if f.Offset == 0 {
		text = strings.TrimPrefix(text, frontMatter().FindString(text))
	}
	for _, m := range markup {
		text = m.pattern().ReplaceAllString(text, m.text)
	}
	return text
}

// window returns the range of lines around the best match for the topics. The range contains at most `characters`
// characters and, if possible, only whole paragraphs.
func (q question) window(p page, about topics, characters int) (begin, end int) {
	if len(p.lines) == 0 {
		return 0, 0
	}
	if p.length(0, len(p.lines)) <= characters {
		return 0, len(p.lines)
	}
	best, most := 0, -1.0
	distinctive := q.distinctive(p, about)
	for i, l := range p.lines {
		c := q.coverageOf(distinctive, l.own) + 0.3*q.coverageOf(about, l.own)
		if len(q.options) > 0 && containsOption(domain.Fragment{Text: l.text}, q.options[:1]) {
			c += 2
		}
		for _, near := range []int{i - 1, i + 1} { // a label and its value, or a heading and its text
			if near >= 0 && near < len(p.lines) {
				c += 0.3 * q.coverageOf(distinctive, p.lines[near].own)
			}
		}
		if c > most+1e-9 {
			best, most = i, c
		}
	}
	return p.grown(best, best+1, characters)
}

// length returns the length of a range of lines in characters.
func (p page) length(begin, end int) (n int) {
	for _, l := range p.lines[begin:end] {
		n += utf8.RuneCountInString(l.text) + 1
	}
	return n
}

// grown extends a range of lines to at most `characters` characters. It first extends the range to whole paragraphs,
// and then alternately adds a paragraph after it and one before it.
func (p page) grown(begin, end, characters int) (int, int) {
	for grown := true; grown; {
		grown = false
		for _, after := range []bool{true, false} {
			b, e := p.extend(begin, end, after)
			if (b != begin || e != end) && p.length(b, e) <= characters {
				begin, end, grown = b, e, true
			}
		}
	}
	for begin > 0 && p.lines[begin-1].block == p.lines[begin].block && p.length(begin-1, end) <= characters {
		begin--
	}
	for end < len(p.lines) && p.lines[end].block == p.lines[end-1].block && p.length(begin, end+1) <= characters {
		end++
	}
	for end > begin+1 && p.lines[end-1].block != p.lines[end-2].block && isHeading(p.lines[end-1].text) {
		end-- // a heading without its text
	}
	return begin, end
}

// around returns the passage around a sentence, with at most `characters` characters. It returns false if no line of
// the page contains the sentence's start.
func (p page) around(s sentence, characters int) (passage, bool) {
	text := strings.Join(strings.Fields(s.text), " ")
	for i, l := range p.lines {
		line := strings.Join(strings.Fields(l.text), " ")
		if !strings.HasPrefix(text, line) && !strings.Contains(line, text) {
			continue
		}
		end := i + 1
		for end < len(p.lines) && strings.Contains(text, strings.Join(strings.Fields(p.lines[end].text), " ")) {
			end++
		}
		out := passage{fragment: s.fragment}
		out.begin, out.end = p.grown(i, end, characters)
		return out, true
	}
	return passage{}, false
}

// isProse reports whether most lines on a page end like sentences.
func (p page) isProse() bool {
	n := 0
	for _, l := range p.lines {
		if endsSentence(l.text) {
			n++
		}
	}
	return 2*n >= len(p.lines)
}

// distinctive returns the topics that distinguish a page's lines from each other: those that are neither names nor in
// the headings. If there are no such topics, it returns all topics.
func (q question) distinctive(p page, about topics) topics {
	out := make(topics, len(about))
	any := false
	for i := range about {
		out[i] = about[i] && !q.names[i] && q.matchDegree(p.title, i) == 0
		any = any || out[i]
	}
	if !any {
		return about
	}
	return out
}

// extend extends a range of lines to the end of its last paragraph or, if it already ends there, by another paragraph.
// If after is false, it extends the start in the same way.
func (p page) extend(begin, end int, after bool) (int, int) {
	if after {
		if end == len(p.lines) {
			return begin, end
		}
		b := p.lines[end].block
		for end < len(p.lines) && p.lines[end].block == b {
			end++
		}
		return begin, end
	}
	if begin == 0 {
		return begin, end
	}
	b := p.lines[begin-1].block
	for begin > 0 && p.lines[begin-1].block == b {
		begin--
	}
	return begin, end
}

const (
	passageCharacters     = 370 // maximum length of a prose passage in which a line has clearShare of the topics
	longPassageCharacters = 600 // maximum length of other prose passages, where the answer's location is unclear
	clearShare            = 0.45

	formCharacters = 1200 // maximum length of an excerpt from a form, receipt or table

	contextCharacters = 370 // maximum length of a passage around short quotations
	shortQuotes       = 370 // quotations with fewer characters are shown with the text around them

	// A sentence is quoted alone if it contains at least the fraction sureShare of the topics. The fraction ownShare is
	// enough if the sentence and its headings together contain at least titledShare.
	sureShare   = 0.6
	ownShare    = 0.4
	titledShare = 0.9
)

// passage is a run of consecutive lines in a fragment.
type passage struct {
	fragment   int
	begin, end int // range of lines
}

// contains reports whether the passage contains the sentence, ignoring differences in white space.
func (p page) contains(in passage, sentence string) bool {
	var text []string
	for _, l := range p.lines[in.begin:in.end] {
		text = append(text, strings.Fields(l.text)...)
	}
	return strings.Contains(strings.Join(text, " "), strings.Join(strings.Fields(sentence), " "))
}

func (p page) tokens(of passage) int {
	n := 0
	for _, l := range p.lines[of.begin:of.end] {
		n += chunk.Tokens(l.text)
	}
	return n
}

// best returns the index of the page most likely to answer the question about these topics, or -1 if no page is
// eligible. cover is the fraction of the topics that the page and its headings contain. A page is rated by its topics
// and its score relative to pages[0], which is the best page for the whole question. If pages[0] has a low score for a
// part of the question, the other pages' relative scores are high and count more than the topics.
func (q question) best(pages []page, about topics) (at int, cover float64) {
	at = -1
	most := 0.0
	for i, p := range pages {
		if len(p.lines) == 0 || !q.isEligible(p, about) {
			continue
		}
		score := p.fragment.Score/max(pages[0].fragment.Score, minScore) + q.coverageOf(q.withoutNames(about), p.own) + 0.5*q.coverageOf(about, p.own)
		if score > most {
			at, most, cover = i, score, q.coverageOf(about, p.own, p.title)
		}
	}
	return at, cover
}

// passageFor returns the passage most likely to answer the question, or false if no page is eligible. part means that
// the question is part of a larger one. The passage is at most `characters` characters long; prose passages are kept
// shorter.
func (q question) passageFor(pages []page, part bool, characters int) (passage, bool) {
	about := q.topicsOf(q.text)
	at, _ := q.best(pages, about)
	if at < 0 {
		return passage{}, false
	}
	limit := characters
	if pages[at].isProse() {
		limit = min(limit, longPassageCharacters)
		if !part && slices.ContainsFunc(pages[at].lines, func(l line) bool { return q.coverageOf(about, l.own) >= clearShare }) {
			limit = min(limit, passageCharacters)
		}
	}
	p := passage{fragment: at}
	p.begin, p.end = q.window(pages[at], about, limit)
	return p, true
}

// adjoins reports whether two passages overlap or touch.
func (p passage) adjoins(other passage) bool {
	return p.fragment == other.fragment && p.begin <= other.end && other.begin <= p.end
}

// joined returns the shortest passage that contains both p and `other`, which must be in the same fragment.
func (p passage) joined(other passage) passage {
	return passage{fragment: p.fragment, begin: min(p.begin, other.begin), end: max(p.end, other.end)}
}

// formatPassage quotes a passage: a single line in quotation marks, several lines as a block quote.
func (say phrases) formatPassage(p passage, pages []page) string {
	cite := " [" + strconv.Itoa(p.fragment+1) + "]"
	var paragraphs []string
	lines := pages[p.fragment].lines[p.begin:p.end]
	for i := 0; i < len(lines); {
		n := i + 1
		for n < len(lines) && lines[n].block == lines[i].block {
			n++
		}
		var texts []string
		for _, l := range lines[i:n] {
			if last := len(texts) - 1; l.inline && last >= 0 {
				texts[last] += separator(texts[last], l.text) + l.text
				continue
			}
			texts = append(texts, l.text)
		}
		text := strings.Join(withoutColumns(texts), "\n")
		if !hasSeparateLines(text) {
			text = unwrapped(text)
		}
		if text = quotation(text); text != "" {
			paragraphs = append(paragraphs, text)
		}
		i = n
	}
	text := strings.Join(paragraphs, "\n\n")
	if !strings.Contains(text, "\n") {
		return "\n\n" + say.Open + text + say.Close + cite
	}
	out := "\n\n> " + strings.NewReplacer("\n\n", "\n>\n> ", "\n", "  \n> ").Replace(text)
	return out + cite
}

// withoutColumns removes the column names that extraction adds to each row of a form, after mistaking the form's first
// row (label, value, label, value) for column names.
func withoutColumns(lines []string) []string {
	var out []string
	var columns []string
	for i, line := range lines {
		if cells := strings.Split(line, "\t"); len(cells) >= 2 && len(cells)%2 == 0 && i+1 < len(lines) && recordLine().MatchString(lines[i+1]) {
			columns = cells
		}
		if isForm(columns) && recordLine().MatchString(line) {
			if cells, ok := cellsOf(columns, line); ok {
				line = strings.Join(cells, "\t")
			}
		}
		out = append(out, line)
	}
	return out
}

// isForm reports whether a table's first row looks like a form: no label contains digits, but at least one value does.
func isForm(cells []string) bool {
	values := 0
	for i, c := range cells {
		digit := strings.ContainsFunc(c, unicode.IsDigit)
		if i%2 == 0 && digit {
			return false
		}
		if digit {
			values++
		}
	}
	return values > 0
}

// cellsOf returns the values in a "column: value; column: value" row. It returns false if the row has a column that is
// not among `columns`.
func cellsOf(columns []string, row string) ([]string, bool) {
	var out []string
	for _, c := range columns {
		rest, ok := strings.CutPrefix(row, strings.TrimSpace(c)+": ")
		if !ok {
			continue
		}
		cell, next, _ := strings.Cut(rest, cellSeparator)
		out = append(out, cell)
		row = next
	}
	return out, row == "" && len(out) > 0
}
