package main

import (
	"sort"
	"strings"
	"unicode"

	"github.com/sluice/sluice/pkg/eval"
	"github.com/sluice/sluice/pkg/eval/service"
)

// places finds where in its document a fragment stands.
type places map[string]*squeezed

// squeezed is a document's letters and digits: taking it in may change the white space, and joins words that a line's end parted.
type squeezed struct {
	text string
	at   []int // where each byte of it stands in the document
	size int   // bytes of the document
}

func newPlaces(documents []eval.Document) places {
	p := places{}
	for _, d := range documents {
		s := squeeze(d.Text)
		p[d.ID] = &s
	}
	return p
}

func squeeze(text string) squeezed {
	var b strings.Builder
	s := squeezed{size: len(text)}
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

// of is the document of a fragment and its place there. A fragment of neighbours that were put together may hold several
// stretches, each a line or more. No spans: it cannot be found.
func (p places) of(f service.Fragment, w chunking) (document string, spans []eval.Span, err error) {
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

// find is where the text stands in the document, nearest to the offset.
func (s *squeezed) find(text string, offset int) (eval.Span, bool) {
	part := squeeze(text).text
	if part == "" {
		return eval.Span{}, false
	}
	// The place among the squeezed bytes that the offset is about at.
	near := sort.SearchInts(s.at, offset)
	from := max(0, near-1<<10) // the place is nearly always right: a search of all of it is for the rest
	if i := strings.Index(s.text[from:min(len(s.text), near+len(part)+1<<10)], part); i >= 0 {
		return s.span(from+i, len(part)), true
	}
	at, found := nearest(s.text, part, near)
	if !found {
		return eval.Span{}, false
	}
	return s.span(at, len(part)), true
}

func (s *squeezed) span(from, length int) eval.Span {
	return eval.Span{Start: s.at[from], End: s.at[from+length-1] + 1}
}
