package pdf

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/pdf/pdftext"
)

func TestCellsThatNoRulePartsAreJoined(t *testing.T) {
	t.Parallel()
	const y, n = true, false // rule, no rule
	tests := map[string]struct {
		parts, below [][]bool // as in grid
		want         []region // nil for a drawing
	}{
		"all sides have rules":                  {[][]bool{{y, y}, {y, y}}, [][]bool{{y, y}, {y, y}}, []region{{0, 0, 1, 1}, {0, 1, 1, 1}, {1, 0, 1, 1}, {1, 1, 1, 1}}},
		"a name over two columns":               {[][]bool{{n, y}, {y, y}}, [][]bool{{y, y}, {y, y}}, []region{{0, 0, 1, 2}, {1, 0, 1, 1}, {1, 1, 1, 1}}},
		"a rule that ends between two names":    {[][]bool{{n, y}, {y, y}, {n, y}}, [][]bool{{n, n}, {n, n}, {y, y}}, []region{{0, 0, 1, 2}, {1, 0, 1, 1}, {1, 1, 1, 1}, {2, 0, 1, 2}}},
		"a rule that ends inside a cell across": {[][]bool{{n, y}, {n, y}}, [][]bool{{y, n}, {y, y}}, []region{{0, 0, 2, 2}}},
		"cells that make an L":                  {[][]bool{{y, y}, {n, y}}, [][]bool{{n, y}, {y, y}}, nil},
		"cells that make a T":                   {[][]bool{{y, y, y}, {n, n, y}}, [][]bool{{y, n, y}, {y, y, y}}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := &grid{xs: make([]float64, len(tt.parts[0])+1), ys: make([]float64, len(tt.parts)+1), parts: tt.parts, below: tt.below}
			got, ok := g.regions()
			slices.SortFunc(got, func(a, b region) int { return cmp.Or(a.row-b.row, a.column-b.column) })
			if !slices.Equal(got, tt.want) || ok != (tt.want != nil) {
				t.Errorf("regions = %v, %v; want %v", got, ok, tt.want)
			}
		})
	}
}

// GridPage returns a page of rules, filled boxes and words encoded in the input. Each item takes three bytes: two for
// its position, and a third whose lowest bits select the kind. Overlapping words are drawn but unreadable, so `words`
// omits them.
func GridPage(data []byte) (drawn pdftext.Drawn, lines []pdftext.Line, words []string) {
	const step, glyph, size = 4, 5, 8
	var b pdftext.Builder
	for ; len(data) >= 3 && len(words) < 500; data = data[3:] {
		x, y, run := float64(data[0])*step, float64(data[1])*step, float64(data[2]>>2)*step
		switch data[2] & 3 {
		case 0:
			drawn.Rules = append(drawn.Rules, pdftext.Box{X0: x, Y0: y, X1: x + run, Y1: y})
		case 1:
			drawn.Rules = append(drawn.Rules, pdftext.Box{X0: x, Y0: y, X1: x, Y1: y + run})
		case 2:
			drawn.Fills = append(drawn.Fills, pdftext.Box{X0: x, Y0: y, X1: x + run, Y1: y + step*float64(data[2]>>5)})
		default:
			word := fmt.Sprintf("w%dw", len(words))
			for _, r := range word {
				b.Glyph(string(r), size, 1, 0, [2]float64{x, y}, [2]float64{x + glyph, y}, data[2]&4 != 0)
				x += glyph
			}
			words = append(words, word)
		}
	}
	lines = b.Lines()
	var all strings.Builder
	for _, l := range lines {
		fmt.Fprintln(&all, l.Text())
	}
	return drawn, lines, slices.DeleteFunc(words, func(w string) bool { return !strings.Contains(all.String(), w) })
}

func FuzzAlignedTables(f *testing.F) {
	const word = 3
	row := func(y int, xs ...int) (data []byte) {
		for _, x := range xs {
			data = append(data, byte(x), byte(y), word)
		}
		return data
	}
	f.Add(slices.Concat(row(40, 20), row(36, 20, 30), row(32, 2, 20, 30), row(28, 2, 20, 30)))
	f.Add(slices.Concat(row(40, 2, 20, 30), row(36, 20, 30), row(34, 2), row(32, 20, 30), row(28, 2, 20, 30)))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, lines, words := GridPage(data)
		l := &layout{survey: &survey{body: 8}, p: &format.Parser{}}
		var shown strings.Builder
		for len(lines) > 0 {
			table, rest := l.takeAligned(lines)
			if table == nil {
				fmt.Fprintln(&shown, lines[0].Text())
				lines = lines[1:]
				continue
			}
			if lines = rest; len(table.rows) < 2 {
				t.Fatalf("a table of %d rows", len(table.rows))
			}
			for _, row := range table.rows {
				if len(row.Cells) != len(table.columns) {
					t.Fatalf("%d cells in a table of %d columns", len(row.Cells), len(table.columns))
				}
				fmt.Fprintln(&shown, strings.Join(row.Cells, "\t"))
			}
		}
		for _, w := range words {
			if !strings.Contains(shown.String(), w) {
				t.Fatalf("%s is lost; what is left:\n%s", w, shown.String())
			}
		}
	})
}

// CheckGrids finds a page's tables and checks that no word is lost: each must be either in a table or outside all
// tables.
func CheckGrids(t *testing.T, drawn pdftext.Drawn, lines []pdftext.Line, words []string) {
	t.Helper()
	l := &layout{survey: &survey{body: 8}, p: &format.Parser{}, grids: gridsOf(drawn, 0)}
	var shown strings.Builder
	for _, item := range l.takeGrids(lines) {
		if item.table == nil {
			fmt.Fprintln(&shown, item.line.Text())
			continue
		}
		for _, row := range item.table.rows {
			if len(row.Cells) != len(item.table.columns) {
				t.Fatalf("%d cells in a table of %d columns", len(row.Cells), len(item.table.columns))
			}
			fmt.Fprintln(&shown, strings.Join(row.Cells, "\t"))
		}
	}
	for _, word := range words {
		if !strings.Contains(shown.String(), word) {
			t.Fatalf("%s is lost; what is left:\n%s", word, shown.String())
		}
	}
}
