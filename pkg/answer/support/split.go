package support

import (
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/answer/citation"
	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/lazyregexp"
)

// Kind is the kind of a piece: prose, heading or code.
type Kind int

// Kinds of pieces. A heading states no facts. A table's header counts as a heading.
const (
	Prose Kind = iota
	Heading
	Code
)

// Piece is a sentence in an answer, a list item, a table row or a code block.
type Piece struct {
	Start, End int // in bytes, including the citation markers after the sentence
	Text       string
	Kind       Kind
	Cited      []int // the sentence's citation numbers, or else those of the next cited sentence in its paragraph
}

// Split splits a Markdown answer into pieces. `marks` are its citation markers.
func Split(text string, marks []citation.Mark) []Piece {
	text = text[:min(len(text), maxAnswerBytes)]
	s := splitter{text: maskMarks(text, marks), marks: marks}
	s.split()
	return s.out
}

type splitter struct {
	text  string // with citation markers replaced by spaces
	marks []citation.Mark
	next  int // first marker not yet included in a piece
	out   []Piece
}

// Markdown blocks.
var (
	fenceLine     = lazyregexp.New("^ {0,3}(```+|~~~+)")
	headingLine   = lazyregexp.New(`^ {0,3}#{1,6}\s|^\s*\*\*[^*]+\*\*:?\s*$`)
	itemLine      = lazyregexp.New(`^[ \t]*(?:[-*+•–]|\d{1,3}[.)]|\(\d{1,3}\))[ \t]+`)
	quoteLine     = lazyregexp.New(`^ {0,3}(?:> ?)+`)
	delimiterLine = lazyregexp.New(`^[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$`)
	ruleLine      = lazyregexp.New(`^ {0,3}(?:(?:- *){3,}|(?:\* *){3,}|(?:_ *){3,}|=+)$`)
)

// line is a line in the text, without its line break.
type line struct{ start, end int }

func (s *splitter) split() {
	var lines []line
	for start := 0; start <= len(s.text); {
		end := len(s.text)
		if i := strings.IndexByte(s.text[start:], '\n'); i >= 0 {
			end = start + i
		}
		lines = append(lines, line{start, end})
		start = end + 1
	}
	begin := -1 // start of the open paragraph
	flush := func(end int) {
		if begin >= 0 {
			s.paragraph(begin, end)
		}
		begin = -1
	}
	for i := 0; i < len(lines) && len(s.out) < MaxSentences; i++ {
		l := lines[i]
		text := s.text[l.start:l.end]
		switch fence := fenceLine().FindStringSubmatch(text); {
		case fence != nil:
			flush(l.start)
			n := i + 1
			for n < len(lines) && !strings.HasPrefix(strings.TrimLeft(s.text[lines[n].start:lines[n].end], " "), fence[1]) {
				n++
			}
			n = min(n, len(lines)-1)
			s.add(l.start, lines[n].end, Code)
			i = n
		case strings.TrimSpace(text[len(quoteLine().FindString(text)):]) == "":
			flush(l.start)
		case headingLine().MatchString(text):
			flush(l.start)
			s.add(l.start, l.end, Heading)
		case strings.Contains(text, "|") && delimiterLine().MatchString(text), ruleLine().MatchString(text):
			flush(l.start)
		case strings.Contains(text, "|") && i+1 < len(lines) && delimiterLine().MatchString(s.text[lines[i+1].start:lines[i+1].end]):
			flush(l.start)
			s.add(l.start, l.end, Heading)
		case strings.HasPrefix(strings.TrimSpace(text), "|"):
			flush(l.start)
			s.add(l.start, l.end, Prose)
		case itemLine().MatchString(text):
			flush(l.start)
			begin = l.start + len(itemLine().FindString(text))
		case begin < 0:
			begin = l.start + len(quoteLine().FindString(text))
		}
	}
	flush(len(s.text))
}

// paragraph adds the sentences in text[start:end].
func (s *splitter) paragraph(start, end int) {
	first := len(s.out)
	spans := chunk.Sentences(s.text[start:end])
	for i, span := range spans {
		if len(s.out) == MaxSentences {
			return
		}
		until := end
		if i+1 < len(spans) {
			until = start + spans[i+1].Start
		}
		s.addUntil(start+span.Start, start+span.End, until, Prose)
	}
	var numbers []int // those of the next sentence that has any
	for i := len(s.out) - 1; i >= first; i-- {
		if len(s.out[i].Cited) == 0 {
			s.out[i].Cited = numbers
		} else {
			numbers = s.out[i].Cited
		}
	}
}

// add adds text[start:end] as one piece.
func (s *splitter) add(start, end int, kind Kind) { s.addUntil(start, end, end, kind) }

// addUntil adds text[start:end] as one piece, with the citation markers that begin before the offset `until`.
func (s *splitter) addUntil(start, end, until int, kind Kind) {
	p := Piece{Start: start, End: end, Kind: kind}
	for ; s.next < len(s.marks) && s.marks[s.next].Start < until; s.next++ {
		m := s.marks[s.next]
		if m.Start < start && strings.Contains(s.text[m.End:start], "\n") {
			continue // the marker is on a line above the piece
		}
		p.Start, p.End = min(p.Start, m.Start), max(p.End, m.End)
		for _, n := range m.Numbers {
			if !slices.Contains(p.Cited, n) {
				p.Cited = append(p.Cited, n)
			}
		}
	}
	p.Text = strings.TrimSpace(s.text[start:end])
	if kind == Prose && p.Text == "" {
		return
	}
	s.out = append(s.out, p)
}
