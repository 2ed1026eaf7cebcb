package pdf

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/pdf/pdfgarbled"
	"github.com/sluice/sluice/pkg/extract/pdf/pdftext"
	"github.com/sluice/sluice/pkg/extract/scan"
)

// Thresholds for deciding whether a page needs OCR.
const (
	minPicture   = 0.1  // minimum share of the page covered by pictures if the page has no text
	maxCaption   = 80   // maximum number of letters in a stamp or running title on a scanned page
	minCovering  = 0.6  // minimum share of the page covered by pictures if there is no more text than that
	minOutlines  = 60   // minimum number of curved shapes on a page whose text may be drawn as shapes
	minReplacing = 0.5  // minimum confidence for replacing text in a font without a usable character map
	minJudging   = 0.8  // minimum confidence of recognised text for comparing a text layer with it
	minJudged    = 50   // minimum number of letters to compare
	minAgreement = 0.6  // minimum F1 of the words if a text layer belongs to its picture
	lowScan      = 0.75 // mean confidence below which recognised text is uncertain
	sampledScans = 3    // pages with a text layer to compare with their pictures
)

// scanNeed is the reason why a page needs OCR.
type scanNeed int

const (
	needNone    scanNeed = iota
	needText             // the page has no text, but pictures or shapes
	needMore             // a picture covers the page, which has little other text
	needDecoded          // the font for much of the page's text has no usable character map, or a wrong one
	needCheck            // the page's text is an invisible layer over its picture
)

// needOf returns the reason why a page needs OCR, or needNone.
func needOf(p page) scanNeed {
	switch {
	case p.letters == 0 && (p.drawn.pictured >= minPicture || p.drawn.shapes >= minOutlines || p.byPDFium != "" && p.image):
		return needText
	case p.letters == 0:
		return needNone
	case p.unknown.IsLarge(), p.substituted:
		return needDecoded
	case p.drawn.layered:
		return needCheck
	case p.letters <= maxCaption && p.drawn.pictured >= minCovering:
		return needMore
	}
	return needNone
}

// scannedPages tracks which pages need OCR, and the OCR results.
type scannedPages struct {
	wanted     []int // pages to recognise, by number
	layered    []int // pages with a text layer over a picture
	compared   int   // pages whose text layer was compared with recognised text
	wrong      int   // compared pages with a different text layer
	replaced   []int // pages whose text layer was replaced
	recognised []int // all pages with recognised text
	letters    int   // letters on the recognised pages
	confidence float64
	unsure     []int // pages with uncertain text
	failed     []int
	failure    string
	textless   []int // pages on which no text was found
	skipped    []int // pages skipped because of the limit
}

// recognised replaces the text of page i, counted from 0, with the OCR text if that is better.
func (s *source) recognised(i int, p page) page {
	p.substituted = !p.unknown.IsSignificant() && pdfgarbled.HasSubstitutedLetters(p.lines)
	p.need = needOf(p)
	found, ok := s.p.Src.Scans.Pages[i+1]
	if !ok || p.need == needNone {
		return p
	}
	p.tried = true
	if found.Failed != "" {
		p.failure = found.Failed
		return p
	}
	found = found.WithoutNoise()
	n, confidence := found.Letters(), found.Confidence()
	if n == 0 {
		return p
	}
	switch p.need {
	case needMore:
		if n <= 2*p.letters {
			return p
		}
	case needDecoded:
		if confidence < minReplacing || n*2 < p.letters {
			return p
		}
	case needCheck:
		if confidence < minJudging || n < minJudged {
			return p
		}
		p.compared = true
		if agreement(p.lines, found) >= minAgreement {
			return p
		}
		p.disagrees = true
	}
	width, height := s.size(i)
	if found.Turn%2 != 0 {
		width, height = height, width
	}
	p.lines, p.letters, p.confidence = scannedLines(found.Straight(), width, height), n, confidence
	p.grids, p.image, p.broken, p.skipped = nil, false, false, skipNone
	p.unseen, p.unknown, p.substituted = pdftext.Unseen{}, pdfgarbled.Unknown{}, false
	return p
}

// size returns a page's width and height in points, as displayed.
func (s *source) size(i int) (width, height float64) {
	if s.own != nil {
		return s.own.Frame(i).Size()
	}
	return s.pdfium.size(i)
}

// account records whether page `number` needs OCR and, if OCR was tried, the result.
func (c *scannedPages) account(number int, p page) {
	switch p.need {
	case needNone:
		return
	case needCheck:
		c.layered = append(c.layered, number)
	default:
		if !p.tried {
			c.wanted = append(c.wanted, number)
		}
	}
	if p.compared {
		c.compared++
	}
	if p.disagrees {
		c.wrong++
		c.replaced = append(c.replaced, number)
	}
	switch {
	case p.failure != "":
		c.failed, c.failure = append(c.failed, number), p.failure
	case p.confidence > 0:
		c.recognised = append(c.recognised, number)
		c.letters += p.letters
		c.confidence += p.confidence * float64(p.letters)
		if p.confidence < lowScan {
			c.unsure = append(c.unsure, number)
		}
	case p.tried && p.letters == 0:
		c.textless = append(c.textless, number)
	}
}

// next returns the pages to recognise next: all pages that need OCR, plus a sample of the pages with a text layer. If
// the sampled text layers don't match the pictures, the remaining pages with a text layer are recognised, too.
func (c *scannedPages) next(scans format.Scans) []int {
	pages := c.wanted
	var layers []int // not compared yet
	for _, n := range c.layered {
		if _, done := scans.Pages[n]; !done {
			layers = append(layers, n)
		}
	}
	switch {
	case len(layers) == len(c.layered):
		for k := range min(sampledScans, len(layers)) {
			pages = append(pages, layers[k*(len(layers)-1)/max(min(sampledScans, len(layers))-1, 1)])
		}
	case c.wrong*2 > c.compared:
		pages = append(pages, layers...)
	}
	slices.Sort(pages)
	left := max(scans.Limit-len(scans.Pages), 0)
	if len(pages) > left && scans.Limit > 0 {
		c.skipped = pages[left:]
	}
	return pages[:min(len(pages), left)]
}

// agreement returns how well the words on two pages match: the F1 score over words with at least two letters.
func agreement(lines []pdftext.Line, found scan.Page) float64 {
	count := map[string]int{}
	here, there, both := 0, 0, 0
	words := func(text string, each func(word string)) {
		for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			if utf8.RuneCountInString(word) > 1 {
				each(word)
			}
		}
	}
	for _, l := range lines {
		for _, c := range l.Cells {
			words(c.Text, func(w string) { count[w]++; here++ })
		}
	}
	for _, l := range found.Lines {
		for _, w := range l.Words {
			words(w.Text, func(w string) {
				if there++; count[w] > 0 {
					count[w]--
					both++
				}
			})
		}
	}
	return 2 * float64(both) / float64(max(here+there, 1))
}

const (
	sizeStep = 0.5  // font sizes are rounded to a multiple of this, in points
	sameSize = 0.22 // deviation from a page's usual letter size that may be a measurement error
)

// scannedLines returns an OCR page's lines. `width` and `height` are the page size in points.
func scannedLines(p scan.Page, width, height float64) []pdftext.Line {
	perPixel := width / float64(p.Width)
	round := func(size float64) float64 { return max(math.Round(size/sizeStep)*sizeStep, sizeStep) }
	usual := round(usualSize(p) * perPixel)
	var out pdftext.Builder
	for _, l := range p.Lines {
		if len(l.Words) == 0 {
			continue
		}
		size := round(l.Size * perPixel)
		if math.Abs(size-usual) <= sameSize*usual {
			size = usual
		}
		middle := (l.Words[0].X0 + l.Words[len(l.Words)-1].X1) / 2
		base := height - (l.Base+l.Slope*(middle-l.Left))*perPixel
		last := rune(0)
		for _, w := range l.Words {
			first, _ := utf8.DecodeRuneInString(w.Text)
			if last != 0 && (!format.Spaceless(last) || !format.Spaceless(first)) {
				out.Blank()
			}
			out.Glyph(w.Text, size, 1, 0, [2]float64{w.X0 * perPixel, base}, [2]float64{w.X1 * perPixel, base}, false)
			last, _ = utf8.DecodeLastRuneInString(w.Text)
		}
	}
	return out.Lines()
}

// usualSize returns the size of most words on a page in pixels.
func usualSize(p scan.Page) float64 {
	var sizes []float64
	for _, l := range p.Lines {
		for range l.Words {
			sizes = append(sizes, l.Size)
		}
	}
	if len(sizes) == 0 {
		return 1
	}
	slices.Sort(sizes)
	return sizes[len(sizes)/2]
}
