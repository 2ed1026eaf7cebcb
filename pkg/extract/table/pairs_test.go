package table

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/charset"
	"github.com/sluice/sluice/pkg/extract/format"
)

func TestRowsWithoutCellsAreNoPairs(t *testing.T) {
	t.Parallel()
	for _, rows := range [][][]string{nil, {nil, nil}, {{"", ""}, {""}, nil}} {
		if _, ok := PairsOf(rows); ok || FindPairColumns(rows) != nil {
			t.Errorf("%q are taken for pairs", rows)
		}
	}
}

// FuzzRows writes tables with every way of finding the header and the pairs. Tabs separate cells, newlines separate
// rows, and an empty line is a gap. Whatever the writer makes of a row, no cell may be lost.
func FuzzRows(f *testing.F) {
	for _, s := range []string{"Colour\tred\nWeight\t3 kg\nBuilt\t1998\nTel.\t+49 30 1\n", "name\tage\nAnn\t31\n\nBen\t7\n", "\tx\ny\n\t\tz: :\n", "a：\tb\nc：\t\nd：\te; f"} {
		f.Add(s, false)
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, text string, marked bool) {
		var lines []string
		w := &Writer{IsHeader: marked, Out: &format.Sink{Left: 1 << 30, Max: 1 << 30, Emit: func(b domain.Block) error {
			lines = append(lines, b.Text)
			return nil
		}}}
		var rows [][]string
		for line := range strings.Lines(text) {
			row := Row{Cells: strings.Split(strings.TrimSuffix(line, "\n"), "\t")}
			add := func() error { return w.Add(row) }
			if Filled(row.Cells) == 0 {
				add = w.EmptyRow
			} else {
				rows = append(rows, row.Cells)
			}
			if len(row.Cells) > format.MaxColumns || len(line) > format.MaxBlockBytes/8 {
				return // cells are dropped, or words are split
			}
			if err := add(); err != nil {
				return // the text does not fit into a block
			}
		}
		if err := w.Flush(); err != nil {
			return
		}
		shown := strings.Join(lines, "\n")
		for _, cell := range slices.Concat(rows...) {
			for word := range strings.FieldsFuncSeq(cell, func(r rune) bool { return !charset.WordRune(r) }) {
				if !strings.Contains(shown, word) {
					t.Fatalf("%q of the rows %q is lost in %q", word, rows, lines)
				}
			}
		}
	})
}
