package eval

import "slices"

// Span is a stretch of a document's text, from Start up to but without End. What it counts, bytes or characters, is the
// caller's choice.
type Span struct{ Start, End int }

// Length is how long the span is; 0 for one that ends before it starts.
func (s Span) Length() int { return max(0, s.End-s.Start) }

// Union joins spans that overlap or touch and returns them in order, without empty ones.
func Union(spans []Span) []Span {
	sorted := slices.DeleteFunc(slices.Clone(spans), func(s Span) bool { return s.Length() == 0 })
	slices.SortFunc(sorted, func(a, b Span) int { return a.Start - b.Start })
	var joined []Span
	for _, s := range sorted {
		if last := len(joined) - 1; last >= 0 && s.Start <= joined[last].End {
			joined[last].End = max(joined[last].End, s.End)
			continue
		}
		joined = append(joined, s)
	}
	return joined
}

// Overlap is how much of the spans of a is in those of b, each place counted once.
func Overlap(a, b []Span) int {
	a, b = Union(a), Union(b)
	n := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		n += Span{max(a[i].Start, b[j].Start), min(a[i].End, b[j].End)}.Length()
		if a[i].End < b[j].End {
			i++
		} else {
			j++
		}
	}
	return n
}

// Total is the length of the spans together, each counted by itself.
func Total(spans []Span) int {
	n := 0
	for _, s := range spans {
		n += s.Length()
	}
	return n
}

// Passages are the spans of documents, by the document's id.
type Passages map[string][]Span

// Place is where a text begins in a document.
type Place struct {
	Document string
	Start    int
}

// Answer is a text that answers a question: how long it is, and the places where the documents have it. A text that they
// repeat has several, and is found when it is returned from any of them.
type Answer struct {
	Length int
	Places []Place
}

// found is how much of the answer is in what was returned, from whichever place.
func (a Answer) found(returned Passages) int {
	var parts []Span // of the answer, from 0
	for _, p := range a.Places {
		for _, s := range returned[p.Document] {
			parts = append(parts, Span{max(s.Start-p.Start, 0), min(s.End-p.Start, a.Length)})
		}
	}
	return Total(Union(parts))
}

// Coverage compares what was returned with what is relevant, answers that do not overlap one another. recall is the share
// of the relevant text that was returned, precision the share of the returned text that is relevant; text that is returned
// twice, from one place or from two, counts twice against it. Both are 0 where there is nothing to divide by.
func Coverage(returned Passages, relevant []Answer) (recall, precision float64) {
	found, wanted, got := 0, 0, 0
	for _, a := range relevant {
		found += a.found(returned)
		wanted += a.Length
	}
	for _, spans := range returned {
		got += Total(spans)
	}
	if wanted > 0 {
		recall = float64(found) / float64(wanted)
	}
	if got > 0 {
		precision = float64(found) / float64(got)
	}
	return recall, precision
}
