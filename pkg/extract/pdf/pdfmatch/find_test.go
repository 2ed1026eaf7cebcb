package pdfmatch

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
)

// laidOut returns the glyphs in lines of text. Each glyph is 10 points wide, and the lines are 12 points apart. A tab
// starts a new cell at the next multiple of 200 points.
func laidOut(lines ...string) []Glyph {
	var glyphs []Glyph
	for i, line := range lines {
		x, begins, cell := 0.0, true, true
		for _, r := range line {
			switch {
			case r == '\t':
				x, begins, cell = float64(int(x/200)+1)*200, true, true
				continue
			case unicode.IsSpace(r):
				x, begins = x+10, true
				continue
			}
			y := 12 * float64(i)
			glyphs = append(glyphs, Glyph{Page: 1, Line: i, Text: string(r), Box: Box{x, y, x + 10, y + 10}, Size: 10, Begins: begins, Cell: cell})
			x, begins, cell = x+10, false, false
		}
	}
	return glyphs
}

// shown returns the text of the glyphs with the given indexes, with "|" between non-adjacent glyphs and "/" between
// lines.
func shown(glyphs []Glyph, at []int32) string {
	var b strings.Builder
	for i, n := range at {
		switch {
		case i > 0 && glyphs[n].Line != glyphs[at[i-1]].Line:
			b.WriteByte('/')
		case i > 0 && n != at[i-1]+1:
			b.WriteByte('|')
		}
		b.WriteString(glyphs[n].Text)
	}
	return b.String()
}

func TestFind(t *testing.T) {
	t.Parallel()
	prose := []string{"The valve is closed by hand. The pump is", "stopped when the valve is closed. Then the", "valve is inspec-", "ted (twice)."}
	stock := []string{"Part\tIn stock\tHeated", "Seal\tyes\tno", "Bearing\tyes\tno", "Rotor\tno\tno", "Shaft\tyes\tno"}
	tests := map[string]struct {
		page          []string
		passage, span string // the last occurrence of span counts
		want          string
		lines         string // line numbers, if want does not show them
	}{
		"repeated words are told apart by their surroundings": {page: prose, passage: "The valve is closed by hand. The pump is stopped when the valve is closed.", span: "valve is closed.",
			want: "valveisclosed.", lines: "1"},
		"a divided word":                       {page: prose, passage: "Then the valve is inspected (twice).", span: "inspected", want: "inspec-/ted"},
		"punctuation at the ends of a span":    {page: prose, passage: "Then the valve is inspected (twice).", span: "(twice).", want: "(twice)."},
		"a span without its punctuation":       {page: prose, passage: "Then the valve is inspected (twice).", span: "twice", want: "twice"},
		"a row with the names of its columns":  {page: stock, passage: "Part: Rotor; In stock: no; Heated: no", span: "Part: Rotor; In stock: no; Heated: no", want: "PartInstockHeated/Rotornono", lines: "0 3"},
		"equal values of one row":              {page: stock, passage: "Part: Rotor; In stock: no; Heated: no\nPart: Shaft; In stock: yes; Heated: no", span: "Heated: no", want: "Heated/no", lines: "0 4"},
		"a row of cells with equal neighbours": {page: stock, passage: "Part\tIn stock\tHeated\nSeal\tyes\tno\nBearing\tyes\tno\nRotor\tno\tno", span: "yes\tno", want: "yesno", lines: "2"},
		"accents are ignored":                  {page: []string{"le pére Goriot"}, passage: "le père Goriot", span: "père", want: "pére"},
		"text that is not there":               {page: prose, passage: "Something completely different", span: "completely", want: ""},
		"a span without letters":               {page: prose, passage: "a – b", span: "–", want: ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			glyphs := laidOut(tt.page...)
			at := strings.LastIndex(tt.passage, tt.span)
			m := NewText(glyphs).Find(tt.passage, []Span{{at, at + len(tt.span)}})[0]
			if got := shown(glyphs, m.Glyphs); got != tt.want && (tt.want != "" || m.Share > 0.5) {
				t.Errorf("found %q, share %v, want %q", got, m.Share, tt.want)
			}
			if tt.lines == "" {
				return
			}
			var lines []string
			for _, g := range m.Glyphs {
				if n := fmt.Sprint(glyphs[g].Line); len(lines) == 0 || lines[len(lines)-1] != n {
					lines = append(lines, n)
				}
			}
			if got := strings.Join(lines, " "); got != tt.lines {
				t.Errorf("lines %s, want %s", got, tt.lines)
			}
		})
	}
}

// TestFindAnySpan looks for random spans of a passage that is exactly the page's text. Each must be found completely,
// with its own glyphs.
func TestFindAnySpan(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	words := []string{"valve", "pump", "the", "of", "Größe", "12", "3.5", "(see", "page)", "水泵", "no"}
	for range 200 {
		var lines []string
		for range 2 + r.IntN(12) {
			var line []string
			for range 1 + r.IntN(9) {
				line = append(line, words[r.IntN(len(words))])
			}
			lines = append(lines, strings.Join(line, " ")+fmt.Sprintf(" id%d", len(lines)))
		}
		passage := strings.Join(lines, " ")
		from := r.IntN(len(lines))
		to := from + 1 + r.IntN(len(lines)-from)
		start := len(strings.Join(lines[:from], " "))
		if from > 0 {
			start++
		}
		span := strings.Join(lines[from:to], " ")
		glyphs := laidOut(lines...)
		m := NewText(glyphs).Find(passage, []Span{{start, start + len(span)}})[0]
		got := strings.ReplaceAll(shown(glyphs, m.Glyphs), "/", "")
		if want := strings.ReplaceAll(span, " ", ""); got != want || m.Share != 1 {
			t.Fatalf("found %q, share %v, want %q", got, m.Share, want)
		}
	}
}

func TestFindLongSpans(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 600 {
		lines = append(lines, fmt.Sprintf("Line %d says that the pump was greased on day %d.", i, i))
	}
	glyphs := laidOut(lines...)
	passage := strings.Join(lines, " ")
	m := NewText(glyphs).Find(passage, []Span{{0, len(passage)}, {10, 20}})
	if len(m[0].Glyphs) != len(glyphs) || m[0].Share != 1 || len(m[1].Glyphs) == 0 {
		t.Errorf("found %d of %d glyphs of the whole text (share %v), and %d of a part", len(m[0].Glyphs), len(glyphs), m[0].Share, len(m[1].Glyphs))
	}
}

// FuzzFind checks that no combination of passage and page causes a panic or an invalid glyph index.
func FuzzFind(f *testing.F) {
	f.Add("The pump\nis closed", "The pump is closed", 0, 8)
	f.Add("a: b; c: d\na\tb", "a: b; c: d\n\na: b", 3, 9)
	f.Add("\xff\u0301é水", "é水\x00\xfe", 1, 3)
	f.Fuzz(func(t *testing.T, page, passage string, from, to int) {
		if len(page) > 4<<10 || len(passage) > 16<<10 || from < 0 || to < from || to > len(passage) {
			return
		}
		glyphs := laidOut(strings.Split(page, "\n")...)
		text := NewText(glyphs)
		m := text.Find(passage, []Span{{from, to}, {0, len(passage)}})
		for _, one := range m {
			if one.Share < 0 || one.Share > 1.000001 {
				t.Errorf("share = %v", one.Share)
			}
			for i, g := range one.Glyphs {
				if int(g) >= len(glyphs) || g < 0 || i > 0 && one.Glyphs[i-1] >= g {
					t.Fatalf("glyphs = %v of %d", one.Glyphs, len(glyphs))
				}
			}
			for _, r := range text.Rectangles(one.Glyphs, func(int) (float64, float64) { return 595, 842 }) {
				if r.Width <= 0 || r.Height <= 0 || r.X < 0 || r.Y < 0 || r.X+r.Width > 595.01 || r.Y+r.Height > 842.01 {
					t.Errorf("rectangle = %+v", r)
				}
			}
		}
	})
}
