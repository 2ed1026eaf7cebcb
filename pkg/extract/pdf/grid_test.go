package pdf_test

import (
	"fmt"
	"testing"

	"github.com/sluice/sluice/pkg/extract/pdf"
	"github.com/sluice/sluice/pkg/extract/pdf/pdftext"
)

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
		drawn, lines, words := pdf.GridPage(data)
		pdf.CheckGrids(t, drawn, lines, words)
	})
}

// latticePage returns a page with one table. Each bit of `walls` says whether an inner side of a cell has a rule. Each
// byte of `cells` determines the number of lines in a cell, the number of words per line, and the distance from the
// cell's top.
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
		pdf.CheckGrids(t, drawn, lines, words)
	})
}
