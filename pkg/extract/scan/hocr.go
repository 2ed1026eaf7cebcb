package scan

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits on the text of a page. The densest printed pages have about 2,000 words.
const (
	maxWords      = 20_000
	maxWordBytes  = 1 << 10
	maxTitleBytes = 1 << 10
	maxPixels     = 1 << 20 // largest coordinate
)

// ParseHOCR reads one page's text from hOCR, an HTML format for recognised text with positions
// (http://kba.github.io/hocr-spec/1.2/). It drops words beyond maxWords.
func ParseHOCR(r io.Reader) (Page, error) {
	d := xml.NewDecoder(r)
	d.Strict, d.Entity, d.AutoClose = false, xml.HTMLEntity, xml.HTMLAutoClose
	var p Page
	var h hocr
	for words := 0; ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Page{}, fmt.Errorf("reading hOCR: %w", err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			if err := h.start(&p, t); err != nil {
				return Page{}, err
			}
		case xml.EndElement:
			if h.end(&p) {
				words++
			}
		case xml.CharData:
			if h.word != nil && len(h.text)+len(t) <= maxWordBytes {
				h.text = append(h.text, t...)
			}
		}
		if words >= maxWords {
			break
		}
	}
	if p.Width < 1 || p.Height < 1 {
		return Page{}, errors.New("reading hOCR: there is no page with a size")
	}
	return p, nil
}

// hocr holds ParseHOCR's state.
type hocr struct {
	depth  int
	word   *Word // the open word
	at     int   // depth of the open word
	text   []byte
	column int
}

func (h *hocr) start(p *Page, t xml.StartElement) error {
	const maxDepth = 64
	if h.depth++; h.depth > maxDepth {
		return errors.New("reading hOCR: the elements are nested too deeply")
	}
	var class, title string
	for _, a := range t.Attr {
		switch a.Name.Local {
		case "class":
			class = a.Value
		case "title":
			title = a.Value[:min(len(a.Value), maxTitleBytes)]
		}
	}
	props := properties(title)
	switch class {
	case "ocr_page":
		if box, ok := boxOf(props["bbox"]); ok && p.Width == 0 {
			p.Width, p.Height = int(box[2]-box[0]), int(box[3]-box[1])
		}
	case "ocr_carea":
		h.column++
	case "ocr_line", "ocr_header", "ocr_caption", "ocr_textfloat":
		if box, ok := boxOf(props["bbox"]); ok {
			p.Lines = append(p.Lines, lineOf(box, props, h.column))
		}
	case "ocrx_word":
		if box, ok := boxOf(props["bbox"]); ok && h.word == nil && len(p.Lines) > 0 {
			w := Word{X0: box[0], Y0: box[1], X1: box[2], Y1: box[3]}
			if c := numbers(props["x_wconf"]); len(c) == 1 {
				w.Confidence = min(max(c[0]/100, 0), 1)
			}
			h.word, h.at, h.text = &w, h.depth, h.text[:0]
		}
	}
	return nil
}

// end handles the end of an element. It reports whether the element was a word with text.
func (h *hocr) end(p *Page) bool {
	closes := h.word != nil && h.depth == h.at
	h.depth--
	if !closes {
		return false
	}
	w := *h.word
	h.word = nil
	w.Text = strings.Join(strings.Fields(string(h.text)), " ")
	if w.Text == "" || !utf8.ValidString(w.Text) {
		return false
	}
	line := &p.Lines[len(p.Lines)-1]
	line.Words = append(line.Words, w)
	return true
}

// lineOf returns a line without words. In hOCR, the baseline is relative to the lower left corner of the line's box.
func lineOf(box [4]float64, props map[string]string, column int) Line {
	const descent = 0.22 // share of a line's height below its baseline if hOCR does not state the baseline
	l := Line{Left: box[0], Size: box[3] - box[1], Column: column}
	if size := numbers(props["x_size"]); len(size) == 1 && size[0] > 0 && size[0] < maxPixels {
		l.Size = size[0]
	}
	l.Base = box[3] - descent*l.Size
	if b := numbers(props["baseline"]); len(b) == 2 && math.Abs(b[0]) <= 1 && math.Abs(b[1]) < maxPixels {
		l.Slope, l.Base = b[0], box[3]+b[1]
	}
	return l
}

// properties splits an hOCR element's title, such as "bbox 1 2 3 4; x_wconf 95", into its properties.
func properties(title string) map[string]string {
	props := map[string]string{}
	for part := range strings.SplitSeq(title, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), " ")
		props[name] = value
	}
	return props
}

// numbers returns the numbers in a property, or nil if it contains anything else.
func numbers(value string) []float64 {
	var out []float64
	for field := range strings.FieldsSeq(value) {
		n, err := strconv.ParseFloat(field, 64)
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
			return nil
		}
		out = append(out, n)
	}
	return out
}

// boxOf parses a box. It returns false if the box has no area or is too large.
func boxOf(value string) (box [4]float64, ok bool) {
	n := numbers(value)
	if len(n) != 4 || n[0] < 0 || n[1] < 0 || n[2] <= n[0] || n[3] <= n[1] || n[2] > maxPixels || n[3] > maxPixels {
		return box, false
	}
	return [4]float64(n), true
}
