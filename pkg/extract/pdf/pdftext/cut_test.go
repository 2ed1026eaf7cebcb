package pdftext

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sluice/sluice/pkg/extract/extracttest"
)

// cellOf returns the first cell of the first line on a page of 300 × 300 points with the given content.
func cellOf(t *testing.T, content string) Cell {
	t.Helper()
	d, err := Open(showing(extracttest.Stream("", content), "/MediaBox [0 0 300 300]", ""))
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	page, err := d.Page(t.Context(), 0)
	if err != nil || len(page.Lines) == 0 {
		t.Fatalf("Page: %d lines, %v", len(page.Lines), err)
	}
	return page.Lines[0].Cells[0]
}

func TestCellsAreCutBetweenWords(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		content string
		at      []float64
		want    []string
	}{
		"at a place between words":                    {"BT /F 10 Tf 10 20 Td (one two) Tj 40 0 Td (six) Tj ET", []float64{48}, []string{"one two", "six"}},
		"a word goes where its middle is":             {"BT /F 10 Tf 10 20 Td (one seventeen) Tj ET", []float64{34}, []string{"one", "seventeen"}},
		"nothing on one side leaves it empty":         {"BT /F 10 Tf 10 20 Td (one) Tj ET", []float64{100, 200}, []string{"one", "", ""}},
		"words that hardly part are words of a table": {"BT /F 10 Tf 10 20 Td (Number) Tj 40 0 Td (What) Tj ET", []float64{48}, []string{"Number", "What"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, part := range cellOf(t, tt.content).Cut(tt.at...) {
				got = append(got, part.Text)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("parts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPartsOfCellsKnowTheirPlaces(t *testing.T) {
	t.Parallel()
	c := cellOf(t, "BT /F 10 Tf 10 20 Td (one two three) Tj ET")
	words := c.Words()
	if len(words) != 3 {
		t.Fatalf("%d words, want 3", len(words))
	}
	part := c.Cut(words[1].X0 - 1)[1]
	if got := part.Between(words[2].X0, words[2].X1); got != "three" {
		t.Errorf("text at the third word of a part = %q, want %q", got, "three")
	}
	joined := c.Cut(words[1].X0 - 1)[0].Before(part)
	if got := joined.Between(words[1].X0, words[1].X1); joined.Text != c.Text || got != "two" {
		t.Errorf("joined to %q, with %q at the second word, want %q and %q", joined.Text, got, c.Text, "two")
	}
}

func TestDrawnRules(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		content string
		want    Drawn
	}{
		"a stroke":                            {"10 20 m 100 20 l S", Drawn{Rules: []Box{{10, 20, 100, 20}}}},
		"a stroke through a matrix":           {"q 0 2 -2 0 100 10 cm 0 5 m 40 5 l S Q", Drawn{Rules: []Box{{90, 10, 90, 90}}}},
		"a thin rectangle":                    {"10 20 90 1 re f", Drawn{Rules: []Box{{10, 20.5, 100, 20.5}}}},
		"a closed path":                       {"10 20 m 100 20 l 100 40 l s", Drawn{Rules: []Box{{10, 20, 100, 20}, {100, 20, 100, 40}}}},
		"a filled rectangle":                  {"10 20 90 30 re f", Drawn{Fills: []Box{{10, 20, 100, 50}}}},
		"a background of the page":            {"0 0 300 300 re f", Drawn{}},
		"a slanting line and a curve":         {"10 20 m 100 60 l S 10 20 m 20 30 40 50 100 20 c S", Drawn{}},
		"a path that is not painted":          {"10 20 m 100 20 l n", Drawn{}},
		"a stroke as thick as a bar":          {"12 w 10 20 m 100 20 l S", Drawn{}},
		"a stroke that the clip cuts":         {"q 0 0 50 50 re W n 10 20 m 100 20 l S Q", Drawn{Rules: []Box{{10, 20, 51, 20}}}},
		"a stroke that the clip hides":        {"q 0 100 50 50 re W n 10 20 m 100 20 l S Q", Drawn{}},
		"a stroke after the clip is restored": {"q 0 100 50 50 re W n Q 10 20 m 100 20 l S", Drawn{Rules: []Box{{10, 20, 100, 20}}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := Open(showing(extracttest.Stream("", tt.content), "/MediaBox [0 0 300 300]", ""))
			if err != nil {
				t.Fatalf("Open: %v", err)
			}
			page, err := d.Page(t.Context(), 0)
			if err != nil {
				t.Fatalf("Page: %v", err)
			}
			if diff := cmp.Diff(tt.want, page.Drawn); diff != "" {
				t.Errorf("drawn (-want +got):\n%s", diff)
			}
		})
	}
}
