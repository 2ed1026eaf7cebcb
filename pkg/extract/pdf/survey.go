package pdf

import (
	"cmp"
	"math"
	"slices"

	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/pdf/pdftext"
)

// surveyPages is the number of pages to sample for the survey. Documents with at most this many pages are read only
// once.
const surveyPages = 64

// survey holds properties of the whole document that must be known before the first block is written.
type survey struct {
	weight   map[float64]int  // bytes of text by font size
	edges    map[string]tally // lines at the top or bottom of pages, by masked text
	pages    int              // sampled pages with more than maxPlainLines lines
	body     float64          // size of body text, in points
	levels   []float64        // sizes of headings, largest first
	repeated map[string]bool  // headers and footers, by masked text
}

// tally counts pages with the same text at the same height.
type tally struct {
	y     float64
	pages int
}

// survey determines the document's properties from runs of consecutive pages sampled throughout it.
func (s *source) survey() (*survey, error) {
	sample := samplePages(s.pages)
	type read struct {
		page  page
		doubt doubt
	}
	first := make([]read, len(sample))
	letters := 0
	for n, i := range sample {
		if err := s.p.Ctx.Err(); err != nil {
			return nil, err
		}
		first[n].page, first[n].doubt = s.readOwn(i)
		letters += first[n].page.letters
	}
	s.poor = letters < 20*len(sample) && letters < 200
	v := &survey{weight: map[float64]int{}, edges: map[string]tally{}}
	for n, i := range sample {
		r := &first[n]
		if s.poor && r.doubt.why == "" && r.page.letters < 20 {
			r.doubt = doubtOf(pdftext.Stats{}, pdftext.Stats{}, r.page, true)
		}
		page, err := s.readBetter(i, r.page, r.doubt)
		if err != nil {
			return nil, err
		}
		page = s.recognised(i, page)
		v.add(page.lines)
		if s.pages <= surveyPages {
			s.pageCache[i] = page
		}
		*r = read{}
	}
	v.conclude()
	return v, nil
}

// samplePages returns the 0-based indexes of the pages to survey.
func samplePages(n int) []int {
	var sample []int
	if n <= surveyPages {
		for i := range n {
			sample = append(sample, i)
		}
		return sample
	}
	const stretch = 4
	for k := range surveyPages / stretch {
		from := k * (n - stretch) / (surveyPages/stretch - 1)
		for i := from; i < from+stretch; i++ {
			if len(sample) == 0 || i > sample[len(sample)-1] {
				sample = append(sample, i)
			}
		}
	}
	return sample
}

// Pages with at most this many lines aren't searched for headers and footers.
const maxPlainLines = 6

func (v *survey) add(lines []pdftext.Line) {
	const most = 1000 // maximum number of distinct sizes
	for _, line := range lines {
		if format.CountLetters(line.Text()) < 2 {
			continue // possibly a drop cap, whose size says nothing about headings
		}
		if _, known := v.weight[line.Size]; known || len(v.weight) < most {
			v.weight[line.Size] += len(line.Text())
		}
	}
	if len(lines) <= maxPlainLines {
		return
	}
	v.pages++
	onPage := map[string]bool{}
	for _, line := range edgeLines(lines) {
		text := maskNumbers(line.Text())
		t, known := v.edges[text]
		if !known {
			t.y = line.Y
		}
		if !onPage[text] && math.Abs(t.y-line.Y) < sameHeight {
			onPage[text] = true
			t.pages++
			v.edges[text] = t
		}
	}
}

func (v *survey) conclude() {
	most := 0
	for size, w := range v.weight {
		if w > most || w == most && size < v.body {
			v.body, most = size, w
		}
	}
	for size := range v.weight {
		if size >= v.body*largerThanBody {
			v.levels = append(v.levels, size)
		}
	}
	slices.SortFunc(v.levels, func(a, b float64) int { return cmp.Compare(b, a) })
	v.repeated = map[string]bool{}
	const atLeast = 3
	for text, t := range v.edges {
		// Two fifths of the pages are enough, because left-hand and right-hand pages may differ.
		if t.pages >= atLeast && t.pages*5 >= v.pages*2 && isFurniture(text) {
			v.repeated[text] = true
		}
	}
	v.weight, v.edges = nil, nil
}

// mainTurn returns the writing direction of most text on a page.
func mainTurn(lines []pdftext.Line) int {
	var size [4]int
	for _, l := range lines {
		for _, c := range l.Cells {
			size[l.Turn&3] += len(c.Text)
		}
	}
	most := 0
	for turn, n := range size {
		if n > size[most] {
			most = turn
		}
	}
	return most
}
