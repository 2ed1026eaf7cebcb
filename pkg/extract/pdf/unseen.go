package pdf

import (
	"strings"

	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/pdf/pdftext"
)

// unseenPages collects pages with invisible text.
type unseenPages struct {
	hidden, outside, read []int // page numbers, from 1, by kind of text: in hidden layers, outside the page, other
	sum                   pdftext.Unseen
}

func (u *unseenPages) add(number int, page pdftext.Unseen) {
	for _, c := range []struct {
		n     int
		pages *[]int
	}{{page.Hidden, &u.hidden}, {page.Outside, &u.outside}, {page.White + page.Tiny + page.Transparent + page.Ground + page.Covered + page.Clipped, &u.read}} {
		if c.n > 0 {
			*c.pages = append(*c.pages, number)
		}
	}
	u.sum.White += page.White
	u.sum.Tiny += page.Tiny
	u.sum.Transparent += page.Transparent
	u.sum.Ground += page.Ground
	u.sum.Covered += page.Covered
	u.sum.Clipped += page.Clipped
}

// warn warns about pages with invisible text and says whether that text was read or skipped.
func (u *unseenPages) warn(out *format.Sink) {
	if len(u.hidden) > 0 {
		out.Warn(pageNumbers(u.hidden) + ": text in hidden layers was skipped")
	}
	if len(u.outside) > 0 {
		out.Warn(pageNumbers(u.outside) + ": invisible text outside the page was skipped")
	}
	if len(u.read) == 0 {
		return
	}
	var causes []string
	for _, c := range []struct {
		n    int
		text string
	}{{u.sum.White, "white on white"}, {u.sum.Tiny, "too small to read"}, {u.sum.Transparent, "transparent, or invisible with no image underneath"},
		{u.sum.Ground, "in the same colour as its background"}, {u.sum.Covered, "covered by a filled box"}, {u.sum.Clipped, "outside the visible part of the page"}} {
		if c.n > 0 {
			causes = append(causes, c.text)
		}
	}
	out.Warn(pageNumbers(u.read) + ": invisible text (" + strings.Join(causes, "; ") + ") was read as well")
}

// inBoxes reports whether a point is in any of the boxes.
func inBoxes(boxes []pdftext.Box, x, y float64) bool {
	const slack = 1 // tolerance, in points
	for _, b := range boxes {
		if x >= b.X0-slack && x <= b.X1+slack && y >= b.Y0-slack && y <= b.Y1+slack {
			return true
		}
	}
	return false
}
