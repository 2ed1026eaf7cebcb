package pdf

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/extract/pdf/pdftext"
)

func FuzzPDFOrder(f *testing.F) {
	f.Add([]byte("\x01\x05\x09\x02\x05\x08\x80\x10\x20\x01\x30\x40"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var lines []pdftext.Line
		for i := 0; i+2 < len(data) && len(lines) < 300; i += 3 {
			x := float64(data[i])
			lines = append(lines, pdftext.Line{Size: 10, Y: float64(data[i+1]) * 3, Turn: int(data[i+2] & 1),
				Cells: []pdftext.Cell{{Text: fmt.Sprint(i, strings.Repeat("x", int(data[i+2]>>3))), X0: x, X1: x + float64(data[i+2])}}})
		}
		got := readingOrder(lines)
		seen := map[string]int{}
		for _, l := range lines {
			seen[l.Text()]++
		}
		for _, l := range got {
			seen[l.Text()]--
		}
		for text, n := range seen {
			if n != 0 {
				t.Fatalf("line %q is there %d times too few", text, n)
			}
		}
	})
}
