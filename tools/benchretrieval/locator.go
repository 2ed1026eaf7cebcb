package main

import (
	"sort"
	"strings"
	"unicode"

	"github.com/sluice/sluice/pkg/eval"
	"github.com/sluice/sluice/pkg/eval/service"
)

// fragmentLocator locates fragments in their documents.
type fragmentLocator map[string]*condensed

// condensed holds only a document's letters and digits. Other characters are not compared, because ingestion may change
// white space and join words hyphenated at the end of a line.
type condensed struct {
	text string
	at   []int // for each byte of `text`, its offset in the document
	size int   // length of the document, in bytes
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

// locate returns the document that a fragment comes from and the fragment's ranges in that document. A fragment merged
// from neighbours may have several ranges, each at least one line long. If the fragment cannot be located, there are no
// ranges.
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

// find returns the document's range that contains `text`. If there are several, it prefers those near `offset`. If
// there is none, it returns false.
func (s *condensed) find(text string, offset int) (eval.Span, bool) {
	part := condense(text).text
	if part == "" {
		return eval.Span{}, false
	}
	// Position in the condensed text that corresponds to the offset.
	near := sort.SearchInts(s.at, offset)
	from := max(0, near-1<<10) // the offset is nearly always right, so search near it first
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
