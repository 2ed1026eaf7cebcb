package main

import (
	"sort"
	"strings"
	"unicode"

	"github.com/sluice/sluice/pkg/eval"
	"github.com/sluice/sluice/pkg/eval/service"
)

// fragmentLocator finds fragments in their documents.
type fragmentLocator map[string]*condensed

// condensed is a document reduced to letters and digits, because ingestion may change white space and join words that
// are hyphenated at the end of a line.
type condensed struct {
	text string
	at   []int // document offset of each byte of `text`
	size int   // of the document, in bytes
}

func newFragmentLocator(documents []eval.Document) fragmentLocator {
	p := fragmentLocator{}
	for _, d := range documents {
		s := condense(d.Text)
		p[d.ID] = &s
	}
	return p
}

func condense(text string) condensed {
	var b strings.Builder
	s := condensed{size: len(text)}
	for i, r := range text {
		if !unicode.In(r, unicode.Letter, unicode.Mark, unicode.Number) {
			continue
		}
		n := b.Len()
		b.WriteRune(r)
		for j := range b.Len() - n {
			s.at = append(s.at, i+j)
		}
	}
	s.text = b.String()
	return s
}

// locate returns a fragment's document and its ranges there. A fragment merged from neighbours may have several ranges,
// each at least one line long. There are no ranges if it can't be located.
func (p fragmentLocator) locate(f service.Fragment, w chunking) (document string, spans []eval.Span, err error) {
	document, offset := f.CustomID, f.Offset
	if w.size > 0 {
		var window eval.Span
		if document, window, err = windowOf(f.CustomID); err != nil {
			return "", nil, err
		}
		offset += window.Start
	}
	d, known := p[document]
	if !known {
		return document, nil, nil
	}
	if span, ok := d.find(f.Text, offset); ok {
		return document, []eval.Span{span}, nil
	}
	for _, line := range strings.Split(f.Text, "\n") {
		if span, ok := d.find(line, offset); ok {
			spans = append(spans, span)
			offset = span.End
		}
	}
	return document, spans, nil
}

// find returns the range of `text` in the document, preferably near `offset`, or false if there is none.
func (s *condensed) find(text string, offset int) (eval.Span, bool) {
	part := condense(text).text
	if part == "" {
		return eval.Span{}, false
	}
	// Position of the offset in the condensed text.
	near := sort.SearchInts(s.at, offset)
	from := max(0, near-1<<10) // the offset is nearly always right, so look there first
	if i := strings.Index(s.text[from:min(len(s.text), near+len(part)+1<<10)], part); i >= 0 {
		return s.span(from+i, len(part)), true
	}
	at, found := nearest(s.text, part, near)
	if !found {
		return eval.Span{}, false
	}
	return s.span(at, len(part)), true
}

func (s *condensed) span(from, length int) eval.Span {
	return eval.Span{Start: s.at[from], End: s.at[from+length-1] + 1}
}
