package scan_test

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"math"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/extract/extracttest/paper"
	"github.com/sluice/sluice/pkg/extract/scan"
)

const hocrPage = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">
<html xmlns="http://www.w3.org/1999/xhtml"><head><meta charset="utf-8"/></head><body>
<div class='ocr_page' title='image "stdin"; bbox 0 0 1000 800; ppageno 0'>
 <div class='ocr_carea' title="bbox 100 100 500 200"><p class='ocr_par'>
  <span class='ocr_line' title="bbox 100 100 500 140; baseline 0.01 -8; x_size 40; x_descenders 8; x_ascenders 9">
   <span class='ocrx_word' title='bbox 100 100 280 140; x_wconf 96'>Fish &amp; <strong>chips</strong></span>
   <span class='ocrx_word' title='bbox 300 100 500 138; x_wconf 50'>cost</span>
  </span>
 </p></div>
 <div class='ocr_carea' title="bbox 600 100 900 200"><p><span class='ocr_header' title="bbox 600 100 900 150">
   <span class='ocrx_word' title='bbox 600 100 900 150; x_wconf 20'>~</span>
   <span class='ocrx_word' title='bbox 9 9 1 1; x_wconf 90'>inside out</span>
   <span class='ocrx_word' title='x_wconf 90'>nowhere</span>
 </span></p></div>
</div></body></html>`

func parse(t *testing.T, text string) scan.Page {
	t.Helper()
	p, err := scan.ParseHOCR(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestHOCRBecomesLinesOfWords(t *testing.T) {
	t.Parallel()
	p := parse(t, hocrPage)
	if p.Width != 1000 || p.Height != 800 || len(p.Lines) != 2 {
		t.Fatalf("the page is %+v", p)
	}
	l := p.Lines[0]
	if l.Base != 132 || l.Slope != 0.01 || l.Size != 40 || l.Column != 1 || p.Lines[1].Column != 2 {
		t.Errorf("the first line is %+v", l)
	}
	if len(l.Words) != 2 || l.Words[0].Text != "Fish & chips" || l.Words[1].Confidence != 0.5 {
		t.Errorf("its words are %+v", l.Words)
	}
	if len(p.Lines[1].Words) != 1 {
		t.Errorf("words without a place were kept: %+v", p.Lines[1].Words)
	}
	if got, want := p.Confidence(), (9*0.96+4*0.5)/13; math.Abs(got-want) > 1e-9 {
		t.Errorf("the confidence is %v, not %v", got, want)
	}
}

func TestNoiseIsLeftOut(t *testing.T) {
	t.Parallel()
	if clean := parse(t, hocrPage).WithoutNoise(); len(clean.Lines) != 1 || len(clean.Lines[0].Words) != 2 {
		t.Errorf("%+v is left", clean.Lines)
	}
	doubtful := strings.NewReplacer("x_wconf 96", "x_wconf 35", "x_wconf 50", "x_wconf 35").Replace(hocrPage)
	if clean := parse(t, doubtful).WithoutNoise(); len(clean.Lines) != 0 {
		t.Errorf("%+v is left of a page that is not writing", clean.Lines)
	}
}

func TestInvalidHOCRIsAnError(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nothing":        "",
		"no page":        "<html><body>text</body></html>",
		"no size":        "<div class='ocr_page' title='bbox 0 0 0 0'></div>",
		"deep":           "<div class='ocr_page' title='bbox 0 0 9 9'>" + strings.Repeat("<div>", 1000),
		"not a number":   "<div class='ocr_page' title='bbox 0 0 NaN 9'></div>",
		"beyond numbers": "<div class='ocr_page' title='bbox 0 0 1e300 9'></div>",
	} {
		if p, err := scan.ParseHOCR(strings.NewReader(text)); err == nil {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

func TestPagesAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	p := parse(t, hocrPage)
	for _, n := range []int{3, 7} {
		p.Number = n
		if err := scan.Write(&file, p); err != nil {
			t.Fatal(err)
		}
	}
	pages, err := scan.Read(&file)
	if err != nil || len(pages) != 2 || pages[7].Lines[0].Words[0] != p.Lines[0].Words[0] {
		t.Errorf("%+v, %v", pages, err)
	}
	if _, err := scan.Read(strings.NewReader(`{"n":0,"w":1,"h":1}`)); err == nil {
		t.Error("a page without a number was accepted")
	}
}

// TestStraightPutsALineOnOneHeight straightens a line that goes down to the right.
func TestStraightPutsALineOnOneHeight(t *testing.T) {
	t.Parallel()
	const slope = 0.05
	p := scan.Page{Width: 1000, Height: 1000}
	for y := 200.0; y < 800; y += 100 {
		l := scan.Line{Left: 100, Base: y, Slope: slope, Size: 20}
		for x := 100.0; x < 900; x += 100 {
			base := y + slope*(x-100)
			l.Words = append(l.Words, scan.Word{Text: "word", X0: x, X1: x + 80, Y0: base - 15, Y1: base + 4, Confidence: 1})
		}
		p.Lines = append(p.Lines, l)
	}
	straight := p.Straight()
	for _, l := range straight.Lines {
		first, last := l.Words[0], l.Words[len(l.Words)-1]
		if math.Abs(first.Y0-last.Y0) > 1 || math.Abs(l.Slope) > 1e-6 {
			t.Errorf("the line begins at %v and ends at %v", first.Y0, last.Y0)
		}
	}
	if a, b := straight.Lines[0].Base, straight.Lines[1].Base; math.Abs(b-a-100*math.Cos(math.Atan(slope))) > 1 {
		t.Errorf("lines are %v apart", b-a)
	}
}

// lines returns a picture of dark strokes, like lines of text, that slope down by the given number of degrees.
func lines(degrees float64) *image.Gray {
	g := image.NewGray(image.Rect(0, 0, 1200, 1600))
	draw.Draw(g, g.Rect, image.White, image.Point{}, draw.Src)
	slope := math.Tan(degrees * math.Pi / 180)
	for line := 200; line < 1400; line += 40 {
		for x := 150; x < 1050; x++ {
			if x/12%5 == 4 {
				continue // between words
			}
			for k := range 16 {
				g.SetGray(x, line+k+int(slope*float64(x-600)), color.Gray{Y: 30})
			}
		}
	}
	return g
}

// darkRows counts the rows that contain ink.
func darkRows(g *image.Gray) int {
	n := 0
	for y := range g.Rect.Dy() {
		if bytes.ContainsFunc(g.Pix[y*g.Stride:y*g.Stride+g.Rect.Dx()], func(r rune) bool { return r < 100 }) {
			n++
		}
	}
	return n
}

func TestASkewedPageIsStraightened(t *testing.T) {
	t.Parallel()
	straight := lines(0)
	if scan.Straightened(straight).Gray != straight {
		t.Error("a straight page was changed")
	}
	want := darkRows(straight)
	for _, degrees := range []float64{-5, -1.3, 0.7, 3, 5} {
		if got := darkRows(scan.Straightened(lines(degrees)).Gray); got > want*5/4 {
			t.Errorf("at %v degrees, %d rows have ink, not %d", degrees, got, want)
		}
	}
	blank := image.NewGray(image.Rect(0, 0, 10, 10))
	if scan.Straightened(blank).Gray != blank {
		t.Error("a page without text was changed")
	}
}

func FuzzParseHOCR(f *testing.F) {
	f.Add(hocrPage)
	f.Add("<div class='ocr_page' title='bbox 0 0 9 9'><span class='ocr_line' title='bbox 0 0 5 5; baseline 1e9 -1e9; x_size -1'><span class='ocrx_word' title='bbox 1 1 2 2; x_wconf 999'>\xff")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := scan.ParseHOCR(strings.NewReader(text))
		if err != nil {
			return
		}
		p.Number = 1
		for _, page := range []scan.Page{p, p.WithoutNoise(), p.Straight()} {
			if c := page.Confidence(); !(c >= 0 && c <= 1) {
				t.Errorf("the confidence is %v", c)
			}
			var file bytes.Buffer
			if err := scan.Write(&file, page); err != nil {
				t.Fatal(err)
			}
			if back, err := scan.Read(&file); err != nil || back[1].Letters() != page.Letters() {
				t.Errorf("%d letters were written, %d read: %v", page.Letters(), back[1].Letters(), err)
			}
		}
	})
}

func TestPicturesWithTextAreTold(t *testing.T) {
	t.Parallel()
	screen, err := paper.Screen("The feed pumps hold", "the pressure of six bar")
	if err != nil {
		t.Fatal(err)
	}
	inverted := image.NewGray(screen.Rect)
	for i, v := range screen.Pix {
		inverted.Pix[i] = 255 - v
	}
	page, _, err := paper.Page{Heading: "Pumps"}.Draw()
	if err != nil {
		t.Fatal(err)
	}
	pale, err := paper.Scan{Fade: 90}.Apply(screen)
	if err != nil {
		t.Fatal(err)
	}
	blown := image.NewGray(image.Rect(0, 0, 6*screen.Rect.Dx(), 6*screen.Rect.Dy()))
	for y := range blown.Rect.Dy() {
		for x := range blown.Rect.Dx() {
			blown.Pix[y*blown.Stride+x] = screen.GrayAt(x/6, y/6).Y
		}
	}
	for name, g := range map[string]*image.Gray{"a screenshot": screen, "white on black": inverted, "a page with a title": page, "pale": pale, "large letters": blown} {
		if !scan.HasText(g) {
			t.Errorf("%s: no text was found", name)
		}
	}
	for name, g := range map[string]*image.Gray{
		"a photograph": paper.Photograph(1200, 800, 1), "a small photograph": paper.Photograph(300, 200, 2),
		"an empty picture": image.NewGray(image.Rect(0, 0, 900, 900)), "a line": image.NewGray(image.Rect(0, 0, 900, 1)),
	} {
		if scan.HasText(g) {
			t.Errorf("%s: text was found", name)
		}
	}
}
