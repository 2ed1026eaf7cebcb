// Package scan describes the text that OCR found on a page and reads the OCR program's output. Document readers turn
// this text into a page's lines.
package scan

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"unicode"
)

// Page is the recognised text of one page. Positions are in pixels from the picture's upper left corner.
type Page struct {
	Number int    `json:"n"`           // from 1
	Key    string `json:"k,omitempty"` // key of a picture within a document; "" for a page
	Width  int    `json:"w"`
	Height int    `json:"h"`
	// Turn is the number of clockwise quarter turns that made the picture upright. Width, Height and positions refer to
	// the upright picture.
	Turn int `json:"t,omitempty"`
	// Angle is the counterclockwise rotation in degrees, after Turn, that made the lines horizontal. Positions refer to
	// the rotated picture.
	Angle float64 `json:"a,omitempty"`
	Lines []Line  `json:"l,omitempty"`
	// Failed tells users why recognition failed. It is "" if recognition succeeded.
	Failed string `json:"f,omitempty"`
}

// Line is a line of recognised words.
type Line struct {
	Left   float64 `json:"x"`           // left edge
	Base   float64 `json:"b"`           // baseline height at the left edge
	Slope  float64 `json:"s,omitempty"` // baseline slope; positive if it goes down
	Size   float64 `json:"z"`           // height of letters with ascenders and descenders
	Column int     `json:"c"`           // number of the text area, from 1
	Words  []Word  `json:"w"`
}

// Word is a recognised word.
type Word struct {
	Text       string  `json:"t"`
	X0         float64 `json:"x0"`
	Y0         float64 `json:"y0"`
	X1         float64 `json:"x1"`
	Y1         float64 `json:"y1"`
	Confidence float64 `json:"c"` // 0 to 1
}

// letters counts a word's letters and digits.
func (w Word) letters() int {
	n := 0
	for _, r := range w.Text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n++
		}
	}
	return n
}

// Letters counts the letters and digits on the page.
func (p Page) Letters() int {
	n := 0
	for _, l := range p.Lines {
		for _, w := range l.Words {
			n += w.letters()
		}
	}
	return n
}

// Confidence returns the mean confidence over all letters and digits on the page, from 0 to 1, or 0 if there are none.
func (p Page) Confidence() float64 {
	letters, sum := 0, 0.0
	for _, l := range p.Lines {
		for _, w := range l.Words {
			n := w.letters()
			letters += n
			sum += float64(n) * w.Confidence
		}
	}
	if letters == 0 {
		return 0
	}
	return sum / float64(letters)
}

// Quality estimates how much of the page's text was recognised correctly. Of two results for a page, the one with the
// higher quality is better.
func (p Page) Quality() float64 {
	c := p.Confidence()
	return float64(p.Letters()) * c * c
}

// Minimum confidences. Anything below is probably not text but part of a picture, a pattern or dirt.
const (
	minPageConfidence = 0.4  // mean confidence of the letters on a page
	minLineConfidence = 0.3  // mean confidence of the letters on a line
	minSignConfidence = 0.55 // confidence of a word without letters and digits
)

// WithoutNoise returns the page without words that probably aren't real text.
func (p Page) WithoutNoise() Page {
	var kept []Line
	for _, l := range p.Lines {
		l.Words = slices.DeleteFunc(slices.Clone(l.Words), func(w Word) bool {
			return w.letters() == 0 && w.Confidence < minSignConfidence
		})
		line := Page{Lines: []Line{l}}
		if line.Letters() > 0 && line.Confidence() >= minLineConfidence {
			kept = append(kept, l)
		}
	}
	p.Lines = kept
	if p.Confidence() < minPageConfidence {
		p.Lines = nil
	}
	return p
}

// Limits for text in a picture within a document. The picture may be a photograph, in which OCR finds a few words with
// low confidence.
const (
	minPictureConfidence = 0.6
	minPictureLetters    = 8
	maxLogoPlaces        = 3  // times that a document may show a picture with little text that is not a logo
	maxLogoLetters       = 60 // letters on a logo
)

// InDocument returns the text of a picture that a document shows `places` times. The result has no text if the picture
// is a logo or probably contains no text.
func (p Page) InDocument(places int) Page {
	p = p.WithoutNoise()
	n := p.Letters()
	if n < minPictureLetters || p.Confidence() < minPictureConfidence || places > maxLogoPlaces && n <= maxLogoLetters {
		p.Lines = nil
	}
	return p
}

// minSlopeWidth is the minimum width of a line that counts towards the page's slope, as a multiple of the line's size.
// Slopes of shorter lines are too inaccurate.
const minSlopeWidth = 6

// Slope returns the median slope of the page's lines, weighted by their number of words. It is 0 if the page was
// straight on the scanner.
func (p Page) Slope() float64 {
	type weighted struct {
		slope float64
		n     int
	}
	var all []weighted
	total := 0
	for _, l := range p.Lines {
		if len(l.Words) == 0 || l.Words[len(l.Words)-1].X1-l.Words[0].X0 < minSlopeWidth*l.Size {
			continue
		}
		n := len(l.Words)
		all, total = append(all, weighted{l.Slope, n}), total+n
	}
	slices.SortFunc(all, func(a, b weighted) int {
		switch {
		case a.slope < b.slope:
			return -1
		case a.slope > b.slope:
			return 1
		}
		return 0
	})
	seen := 0
	for _, w := range all {
		if seen += w.n; seen*2 >= total {
			return w.slope
		}
	}
	return 0
}

// maxSlope is the largest slope that Straight corrects: about 11°. Steeper lines are not due to a skewed page.
const maxSlope = 0.2

// Straight returns the page with its words where they would be if the paper had been straight on the scanner. It
// rotates positions around the centre of the page.
func (p Page) Straight() Page {
	slope := p.Slope()
	if slope == 0 || math.Abs(slope) > maxSlope {
		return p
	}
	angle := -math.Atan(slope)
	sin, cos := math.Sincos(angle)
	cx, cy := float64(p.Width)/2, float64(p.Height)/2
	turn := func(x, y float64) (float64, float64) {
		x, y = x-cx, y-cy
		return cx + x*cos - y*sin, cy + x*sin + y*cos
	}
	lines := make([]Line, len(p.Lines))
	for i, l := range p.Lines {
		base := func(x float64) float64 { return l.Base + l.Slope*(x-l.Left) }
		words := make([]Word, len(l.Words))
		for k, w := range l.Words {
			// A skewed word's box is too large, so use only its width and baseline.
			height := w.Y1 - w.Y0
			x0, y := turn(w.X0, base(w.X0))
			x1, _ := turn(w.X1, base(w.X1))
			above := base(w.X0) - w.Y0
			w.X0, w.X1 = x0, x1
			w.Y0 = y - above
			w.Y1 = w.Y0 + height
			words[k] = w
		}
		l.Words = words
		l.Left, l.Base = turn(l.Left, l.Base)
		l.Slope = math.Tan(math.Atan(l.Slope) + angle)
		lines[i] = l
	}
	p.Lines = lines
	return p
}

// Write appends a page to a file that Read can read.
func Write(w io.Writer, p Page) error {
	if err := json.NewEncoder(w).Encode(p); err != nil {
		return fmt.Errorf("writing recognised text: %w", err)
	}
	return nil
}

// maxPageBytes is the maximum size of a page's recognised text in a file.
const maxPageBytes = 32 << 20

// Read reads a file written by Write and returns the pages by page number.
func Read(r io.Reader) (map[int]Page, error) {
	pages := map[int]Page{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxPageBytes)
	for lines.Scan() {
		var p Page
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			return nil, fmt.Errorf("reading recognised text: %w", err)
		}
		if p.Number < 1 || p.Width < 1 || p.Height < 1 {
			return nil, errors.New("reading recognised text: a page has no number or no size")
		}
		pages[p.Number] = p
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading recognised text: %w", err)
	}
	return pages, nil
}

// Original returns the smallest box around w's corners in the original picture, i.e. before turning and rotation.
// `width` is the width of the original picture in pixels.
func (p Page) Original(w Word) (x0, y0, x1, y1, width float64) {
	sin, cos := math.Sincos(p.Angle * math.Pi / 180)
	pw, ph := float64(p.Width), float64(p.Height)
	width = pw
	if p.Turn%2 != 0 {
		width = ph
	}
	x0, y0, x1, y1 = math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, corner := range [][2]float64{{w.X0, w.Y0}, {w.X1, w.Y0}, {w.X0, w.Y1}, {w.X1, w.Y1}} {
		dx, dy := corner[0]-pw/2, corner[1]-ph/2
		x, y := pw/2+dx*cos-dy*sin, ph/2+dx*sin+dy*cos
		switch p.Turn {
		case 1:
			x, y = y, pw-x
		case 2:
			x, y = pw-x, ph-y
		case 3:
			x, y = ph-y, x
		}
		x0, y0, x1, y1 = min(x0, x), min(y0, y), max(x1, x), max(y1, y)
	}
	return x0, y0, x1, y1, width
}
