// Package paper renders printed pages and makes them look like scans. Tests, the demo and the OCR benchmark use such
// pages because the text on them is known.
package paper

import (
	"bytes"
	"fmt"
	"image"
	"image/draw"
	"image/jpeg"
	"math"
	"math/rand/v2"
	"strings"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// Size of a page in pixels: A4 at 300 dots per inch.
const (
	Width  = 2480
	Height = 3508
)

const (
	margin   = 250
	bodySize = 46 // 11 points
	bodyLine = 64 // distance between lines
	headSize = 75
	headLine = 105
	gutter   = 120 // between columns
)

// Page is the content of a printed page.
type Page struct {
	Heading    string
	Paragraphs []string
	Columns    int // 1 or 2
}

// Text returns the page's words in reading order.
func (p Page) Text() string { return strings.Join(append([]string{p.Heading}, p.Paragraphs...), "\n") }

// Draw renders the page and leaves out text that doesn't fit. It also returns the number of paragraphs rendered
// completely.
func (p Page) Draw() (*image.Gray, int, error) {
	g := image.NewGray(image.Rect(0, 0, Width, Height))
	draw.Draw(g, g.Rect, image.White, image.Point{}, draw.Src)
	head, err := face(gobold.TTF, headSize)
	if err != nil {
		return nil, 0, err
	}
	body, err := face(goregular.TTF, bodySize)
	if err != nil {
		return nil, 0, err
	}
	columns := max(p.Columns, 1)
	width := (Width - 2*margin - (columns-1)*gutter) / columns
	pen := font.Drawer{Dst: g, Src: image.Black, Face: head}
	top := margin
	if p.Heading != "" {
		for _, line := range lines(head, p.Heading, Width-2*margin) {
			pen.Dot = fixed.P(margin, top+headSize)
			pen.DrawString(line)
			top += headLine
		}
		top += bodySize
	}
	pen.Face = body
	column, y := 0, top
	for n, paragraph := range p.Paragraphs {
		for _, line := range lines(body, paragraph, width) {
			if y += bodyLine; y > Height-margin {
				if column++; column == columns {
					return g, n, nil
				}
				y = top + bodyLine
			}
			pen.Dot = fixed.P(margin+column*(width+gutter), y)
			pen.DrawString(line)
		}
		y += bodySize
	}
	return g, len(p.Paragraphs), nil
}

func face(ttf []byte, size float64) (font.Face, error) {
	parsed, err := opentype.Parse(ttf)
	if err != nil {
		return nil, fmt.Errorf("reading the font: %w", err)
	}
	f, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: size, DPI: 72, Hinting: font.HintingNone})
	if err != nil {
		return nil, fmt.Errorf("scaling the font: %w", err)
	}
	return f, nil
}

// lines wraps a text to the given width in pixels.
func lines(f font.Face, text string, width int) []string {
	var out []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		next := strings.TrimSpace(line + " " + word)
		if line != "" && font.MeasureString(f, next).Ceil() > width {
			out = append(out, line)
			next = word
		}
		line = next
	}
	return append(out, line)
}

// Scan describes a scan's flaws.
type Scan struct {
	Skew    float64 // degrees, counterclockwise
	Turn    int     // clockwise quarter turns
	Noise   float64 // share of pixels that are specks
	Fade    int     // how much brightness ink gains and paper loses, from 0 to 100
	Quality int     // JPEG quality from 1 to 100; 0 means no JPEG
	Seed    uint64
}

// Apply returns the page as scanned with these flaws.
func (s Scan) Apply(page *image.Gray) (*image.Gray, error) {
	g := rotated(page, s.Skew)
	random := rand.New(rand.NewPCG(s.Seed, 1))
	for i, v := range g.Pix {
		if s.Fade > 0 {
			v = uint8(s.Fade + int(v)*(255-2*s.Fade)/255)
		}
		if s.Noise > 0 && random.Float64() < s.Noise {
			v = uint8(random.IntN(256))
		}
		g.Pix[i] = v
	}
	if s.Quality > 0 {
		var file bytes.Buffer
		if err := jpeg.Encode(&file, g, &jpeg.Options{Quality: s.Quality}); err != nil {
			return nil, fmt.Errorf("compressing the scan: %w", err)
		}
		decoded, err := jpeg.Decode(&file)
		if err != nil {
			return nil, fmt.Errorf("reading the compressed scan: %w", err)
		}
		draw.Draw(g, g.Rect, decoded, decoded.Bounds().Min, draw.Src)
	}
	for range s.Turn {
		g = quarterTurn(g)
	}
	return g, nil
}

func quarterTurn(g *image.Gray) *image.Gray {
	w, h := g.Rect.Dx(), g.Rect.Dy()
	out := image.NewGray(image.Rect(0, 0, h, w))
	for y := range h {
		for x := range w {
			out.Pix[x*out.Stride+h-1-y] = g.Pix[y*g.Stride+x]
		}
	}
	return out
}

// rotated returns a copy of a picture rotated around its centre by an angle in degrees.
func rotated(g *image.Gray, angle float64) *image.Gray {
	out := image.NewGray(g.Rect)
	if angle == 0 {
		copy(out.Pix, g.Pix)
		return out
	}
	sin, cos := math.Sincos(angle * math.Pi / 180)
	w, h := g.Rect.Dx(), g.Rect.Dy()
	cx, cy := float64(w)/2, float64(h)/2
	at := func(x, y int) float64 {
		if x < 0 || y < 0 || x >= w || y >= h {
			return 255
		}
		return float64(g.Pix[y*g.Stride+x])
	}
	for y := range h {
		for x := range w {
			dx, dy := float64(x)-cx, float64(y)-cy
			sx, sy := cx+dx*cos-dy*sin, cy+dx*sin+dy*cos
			x0, y0 := int(math.Floor(sx)), int(math.Floor(sy))
			fx, fy := sx-float64(x0), sy-float64(y0)
			top, bottom := at(x0, y0)*(1-fx)+at(x0+1, y0)*fx, at(x0, y0+1)*(1-fx)+at(x0+1, y0+1)*fx
			out.Pix[y*out.Stride+x] = uint8(top*(1-fy) + bottom*fy)
		}
	}
	return out
}

// F1 returns how well the words in two texts match, from 0 to 1. Word order does not matter.
func F1(want, got string) float64 {
	count := map[string]int{}
	words, found, both := 0, 0, 0
	for w := range strings.FieldsSeq(want) {
		count[w]++
		words++
	}
	for w := range strings.FieldsSeq(got) {
		if found++; count[w] > 0 {
			count[w]--
			both++
		}
	}
	if words+found == 0 {
		return 1
	}
	return 2 * float64(both) / float64(words+found)
}

// Screen renders lines of text like a screenshot: small letters, black on white, with narrow borders.
func Screen(text ...string) (*image.Gray, error) {
	const size, step, border = 18, 30, 24 // pixels
	f, err := face(goregular.TTF, size)
	if err != nil {
		return nil, err
	}
	width := 0
	for _, line := range text {
		width = max(width, font.MeasureString(f, line).Ceil())
	}
	g := image.NewGray(image.Rect(0, 0, width+2*border, len(text)*step+2*border))
	draw.Draw(g, g.Rect, image.White, image.Point{}, draw.Src)
	pen := font.Drawer{Dst: g, Src: image.Black, Face: f}
	for i, line := range text {
		pen.Dot = fixed.P(border, border+i*step+size)
		pen.DrawString(line)
	}
	return g, nil
}

// Photograph renders a picture without text: soft shapes in front of a sky, with camera noise.
func Photograph(width, height int, seed uint64) *image.Gray {
	random := rand.New(rand.NewPCG(seed, 2))
	g := image.NewGray(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			u, v := float64(x)/float64(width), float64(y)/float64(height)
			shade := 120 + 50*math.Sin(5*u+3*v) + 40*math.Cos(7*v*u+float64(seed)) + 8*random.NormFloat64()
			if math.Hypot(u-0.5, v-0.6) < 0.2 { // a ball with a sharp edge
				shade = 40 + 60*v
			}
			g.Pix[y*g.Stride+x] = uint8(min(max(shade, 0), 255))
		}
	}
	return g
}
