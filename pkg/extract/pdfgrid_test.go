package extract

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/extract/pdftext"
)

func TestCellsThatNoRulePartsAreJoined(t *testing.T) {
	t.Parallel()
	const y, n = true, false // there is a rule, there is none
	tests := map[string]struct {
		parts, below [][]bool // as grid has them
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

// gridPage is a page of rules and words that bytes place: three bytes a piece, the lowest bits of the last saying what it
// is. Words that are shown upon others, and so are not told apart, are not among its words.
func gridPage(data []byte) (drawn pdftext.Drawn, lines []pdftext.Line, words []string) {
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

func FuzzGrids(f *testing.F) {
	const across, down, word = 0, 1, 3
	page := func(pieces ...[3]int) []byte {
		var data []byte
		for _, p := range pieces {
			data = append(data, byte(p[0]), byte(p[1]), byte(p[2]))
		}
		return data
	}
	f.Add(page([3]int{0, 0, across + 40<<2}, [3]int{0, 10, across + 40<<2}, [3]int{0, 20, across + 40<<2}, [3]int{0, 0, down + 20<<2}, [3]int{20, 0, down + 20<<2},
		[3]int{40, 0, down + 20<<2}, [3]int{2, 15, word}, [3]int{22, 15, word}, [3]int{2, 5, word}, [3]int{22, 5, word}))
	f.Add(page([3]int{0, 30, across + 60<<2}, [3]int{0, 20, across + 60<<2}, [3]int{0, 0, across + 60<<2}, [3]int{2, 25, word}, [3]int{30, 25, word},
		[3]int{2, 15, word}, [3]int{30, 15, word}, [3]int{2, 10, word}, [3]int{30, 10, word}, [3]int{2, 5, word}, [3]int{30, 5, word}))
	f.Fuzz(func(t *testing.T, data []byte) {
		drawn, lines, words := gridPage(data)
		checkGrids(t, drawn, lines, words)
	})
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
		_, lines, words := gridPage(data)
		l := &pdfLayout{pdfSurvey: &pdfSurvey{body: 8}, p: &parser{}}
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
				if len(row.cells) != len(table.columns) {
					t.Fatalf("%d cells in a table of %d columns", len(row.cells), len(table.columns))
				}
				fmt.Fprintln(&shown, strings.Join(row.cells, "\t"))
			}
		}
		for _, w := range words {
			if !strings.Contains(shown.String(), w) {
				t.Fatalf("%s is lost; what is left:\n%s", w, shown.String())
			}
		}
	})
}

// checkGrids takes the tables out of a page and verifies that each of its words is in one or beside them.
func checkGrids(t *testing.T, drawn pdftext.Drawn, lines []pdftext.Line, words []string) {
	t.Helper()
	l := &pdfLayout{pdfSurvey: &pdfSurvey{body: 8}, p: &parser{}, grids: gridsOf(drawn, 0)}
	var shown strings.Builder
	for _, item := range l.takeGrids(lines) {
		if item.table == nil {
			fmt.Fprintln(&shown, item.line.Text())
			continue
		}
		for _, row := range item.table.rows {
			if len(row.cells) != len(item.table.columns) {
				t.Fatalf("%d cells in a table of %d columns", len(row.cells), len(item.table.columns))
			}
			fmt.Fprintln(&shown, strings.Join(row.cells, "\t"))
		}
	}
	for _, word := range words {
		if !strings.Contains(shown.String(), word) {
			t.Fatalf("%s is lost; what is left:\n%s", word, shown.String())
		}
	}
}

// latticePage is a page with one table: the bits of walls say which sides of its cells have rules, each byte of cells how
// many lines of how many words stand in a cell and how far from its top.
func latticePage(rows, columns int, walls, cells []byte) (drawn pdftext.Drawn, lines []pdftext.Line, words []string) {
	const width, height, glyph, size, leading = 100.0, 50.0, 4, 8, 10
	bit := 0
	wall := func() bool {
		bit++
		return bit > 8*len(walls) || walls[(bit-1)/8]>>((bit-1)%8)&1 == 0
	}
	place := func(r, k int) (x, y float64) { return float64(k) * width, float64(rows-r) * height }
	for r := range rows + 1 {
		for k := range columns {
			if x, y := place(r, k); r == 0 || r == rows || wall() {
				drawn.Rules = append(drawn.Rules, pdftext.Box{X0: x, Y0: y, X1: x + width, Y1: y})
			}
		}
	}
	for r := range rows {
		for k := range columns + 1 {
			if x, y := place(r, k); k == 0 || k == columns || wall() {
				drawn.Rules = append(drawn.Rules, pdftext.Box{X0: x, Y0: y - height, X1: x, Y1: y})
			}
		}
	}
	var b pdftext.Builder
	for r := range rows {
		for k := range columns {
			var fill byte = 5
			if at := r*columns + k; at < len(cells) {
				fill = cells[at]
			}
			x0, y := place(r, k)
			y -= leading + float64(fill>>4&1)*leading/2
			for range fill & 3 {
				x := x0 + 2
				for range fill >> 2 & 3 {
					word := fmt.Sprintf("w%dw", len(words))
					for _, c := range word {
						b.Glyph(string(c), size, 1, 0, [2]float64{x, y}, [2]float64{x + glyph, y}, false)
						x += glyph
					}
					x += glyph
					words = append(words, word)
				}
				y -= leading
			}
		}
	}
	return drawn, b.Lines(), words
}

func FuzzMergedCells(f *testing.F) {
	f.Add(byte(1), byte(0), []byte("\x16"), []byte("\x3a\x35\x37\x3a\x36\x3b"))
	f.Add(byte(3), byte(3), []byte{0}, []byte{5})
	f.Add(byte(2), byte(4), []byte{0x11, 0x80}, []byte{5, 6, 22, 9})
	f.Fuzz(func(t *testing.T, rows, columns byte, walls, cells []byte) {
		drawn, lines, words := latticePage(2+int(rows%5), 2+int(columns%5), walls, cells)
		checkGrids(t, drawn, lines, words)
	})
}
