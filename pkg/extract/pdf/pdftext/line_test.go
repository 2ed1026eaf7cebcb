package pdftext

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shownGlyph is a 10-point glyph at a position on a baseline.
type shownGlyph struct {
	text   string
	x0, x1 float64
}

// spaced returns 5-point-wide letters that start `step` points apart. A "|" adds `space` points.
func spaced(text string, step, space float64) (glyphs []shownGlyph) {
	x := 0.0
	for _, r := range text {
		if r == '|' {
			x += space
			continue
		}
		glyphs = append(glyphs, shownGlyph{string(r), x, x + 5})
		x += step
	}
	return glyphs
}

func lineTexts(glyphs []shownGlyph) (texts []string) {
	var b Builder
	for _, g := range glyphs {
		b.Glyph(g.text, 10, 1, 0, [2]float64{g.x0, 0}, [2]float64{g.x1, 0}, false)
	}
	for _, l := range b.Lines() {
		texts = append(texts, l.Text())
	}
	return texts
}

func TestLinesOfGlyphs(t *testing.T) {
	t.Parallel()
	// leftward returns glyphs of right-to-left text in display order, from the right.
	leftward := func(from float64, texts ...string) (glyphs []shownGlyph) {
		for _, text := range texts {
			glyphs = append(glyphs, shownGlyph{text, from - 5, from})
			from -= 5
		}
		return glyphs
	}
	rightward := func(from float64, texts ...string) (glyphs []shownGlyph) {
		for _, text := range texts {
			glyphs = append(glyphs, shownGlyph{text, from, from + 5})
			from += 5
		}
		return glyphs
	}
	tests := map[string]struct {
		glyphs []shownGlyph
		want   []string
	}{
		"spaces are gaps":                             {spaced("the|keeper|of|the|gate", 5, 2.5), []string{"the keeper of the gate"}},
		"spaces may be a sixth of the size":           {spaced("the|keeper|of|the|gate", 5, 1.67), []string{"the keeper of the gate"}},
		"letters that stand apart are a word":         {spaced("keeper|of|gates", 7, 4), []string{"keeper of gates"}},
		"letters may overlap by wrong widths":         {spaced("the|warden|of|the|gate", 1.5, 3.5), []string{"the warden of the gate"}},
		"Hebrew is turned around":                     {rightward(0, "ם", "ו", "ל", "ש"), []string{"שלום"}},
		"Hebrew may be shown from the right":          {leftward(100, "ש", "ל", "ו", "ם"), []string{"שלום"}},
		"Latin words in Hebrew stay as they are":      {rightward(0, "P", "D", "F", " ", "ם", "ו", "ל", "ש"), []string{"שלום PDF"}},
		"Hebrew words in Latin are turned":            {rightward(0, "s", "e", "e", " ", "s", "e", "e", " ", "ם", "ו", "ל", " ", "P", "D", "F"), []string{"see see לום PDF"}},
		"numbers in Arabic keep their order":          {rightward(0, "2", "0", "2", "6", " ", "م", "ا", "ع"), []string{"عام 2026"}},
		"presentation forms are letters of a word":    {rightward(0, "ﻡ", "ﻼ", "ﺳ"), []string{"سلام"}},
		"brackets in Arabic face what they enclose":   {rightward(0, ")", "2", "0", "2", "6", "(", " ", "م", "ا", "ع"), []string{"عام (2026)"}},
		"a bracket that ends what began above closes": {rightward(0, "م", "ا", "ع", " ", ")", "2", "0", "2", "6"), []string{"2026) عام"}},
		"a number that stands first is part of its line": {
			append(rightward(80, "2", "0", "2", "6"), append(rightward(70, " ", ")"), rightward(50, "م", "ا", "ع")...)...), []string{"2026) عام"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, lineTexts(tt.glyphs)); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPartOfACellIsFoundByItsPlace(t *testing.T) {
	t.Parallel()
	var b Builder
	for _, g := range spaced("the|keeper|of|the|gate", 5, 2.5) {
		b.Glyph(g.text, 10, 1, 0, [2]float64{g.x0, 0}, [2]float64{g.x1, 0}, false)
	}
	cell := b.Lines()[0].Cells[0]
	tests := map[string]struct {
		x0, x1 float64
		want   string
	}{
		"all":                 {0, 200, "the keeper of the gate"},
		"a word":              {17, 48, "keeper"},
		"a letter":            {0, 5, "t"},
		"between two letters": {4, 6, ""},
		"behind the end":      {200, 300, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := cell.Between(tt.x0, tt.x1); got != tt.want {
				t.Errorf("between %g and %g: %q, want %q", tt.x0, tt.x1, got, tt.want)
			}
		})
	}
}
