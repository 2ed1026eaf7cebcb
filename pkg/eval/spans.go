package eval

import "slices"

// Span is the half-open range [Start, End) of a document's text. The caller chooses the unit: bytes or characters.
type Span struct{ Start, End int }

// Length returns the span's length, or 0 if End is before Start.
func (s Span) Length() int { return max(0, s.End-s.Start) }

// Union merges overlapping and adjacent spans, drops empty ones, and returns the result sorted by position.
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

// Total returns the sum of the spans' lengths.
func Total(spans []Span) int {
	n := 0
	for _, s := range spans {
		n += s.Length()
	}
	return n
}

// Passages maps document ids to spans.
type Passages map[string][]Span

// Position is where a text starts in a document.
type Position struct {
	Document string
	Start    int
}

// Answer describes an answer by its length and by the positions at which it occurs. A search only has to return one of
// these occurrences.
type Answer struct {
	Length int
	Places []Position
}

// coveredLength returns how much of the answer the returned passages cover, combining parts from different occurrences.
func (a Answer) coveredLength(returned Passages) int {
	var parts []Span // returned parts of the answer, relative to its start
	for _, p := range a.Places {
		for _, s := range returned[p.Document] {
			parts = append(parts, Span{max(s.Start-p.Start, 0), min(s.End-p.Start, a.Length)})
		}
	}
	return Total(Union(parts))
}

// Coverage compares the returned text with the relevant answers, which must not overlap. `recall` is the fraction of
// the relevant text that was returned, and `precision` is the fraction of the returned text that is relevant. If
// relevant text is returned more than once, only one copy counts as relevant. A ratio with a denominator of 0 is 0.
func Coverage(returned Passages, relevant []Answer) (recall, precision float64) {
	found, wanted, got := 0, 0, 0
	for _, a := range relevant {
		found += a.coveredLength(returned)
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
