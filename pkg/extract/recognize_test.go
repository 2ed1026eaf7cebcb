package extract_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/extracttest/paper"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

// newScanReader returns an extractor with Tesseract, or skips the test if it isn't installed.
func newScanReader(t *testing.T, change func(*extract.Options)) *extract.Extractor {
	t.Helper()
	if testing.Short() {
		t.Skip("recognising text takes seconds")
	}
	if _, err := exec.LookPath("tesseract"); err != nil {
		t.Skip("Tesseract is not installed: apt-get install tesseract-ocr")
	}
	o := extract.Options{Concurrency: 2, CacheDir: extracttest.Compiled, TempDir: t.TempDir(), Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&o)
	}
	x := extract.New(o)
	t.Cleanup(func() { _ = x.Close() }) // Close returns no error
	if r, err := x.Recognises(); err != nil {
		t.Skipf("Tesseract does not work: %v", err)
	} else if !strings.Contains(strings.Join(r.Languages, " "), "eng") {
		t.Skip("Tesseract's language eng is not installed: apt-get install tesseract-ocr-eng")
	}
	return x
}

var inspection = paper.Page{
	Heading: "Inspection of the boiler house",
	Paragraphs: []string{
		"The feed pumps were checked on Monday, and both of them held the pressure of six bar for an hour. The valve on the north side leaks; it was ordered with the number 4711 and will be replaced in March.",
		"Nobody may enter the house before the gas detector has been tested. Its last test was 14 days ago.",
	},
}

// scanned returns a PDF whose only page is a picture.
func scanned(t *testing.T, p paper.Page, s paper.Scan) []byte {
	t.Helper()
	g, _, err := p.Draw()
	if err != nil {
		t.Fatal(err)
	}
	if g, err = s.Apply(g); err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := jpeg.Encode(&file, g, &jpeg.Options{Quality: 85}); err != nil {
		t.Fatal(err)
	}
	size := g.Rect.Size()
	w, h := float64(size.X)*72/300, float64(size.Y)*72/300
	return extracttest.PDF("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %g %g] /Contents 4 0 R /Resources << /XObject << /I 5 0 R >> >> >>", w, h),
		extracttest.Stream("", fmt.Sprintf("%g 0 0 %g 0 0 cm /I Do", w, h)),
		extracttest.Stream(fmt.Sprintf("/Type /XObject /Subtype /Image /Width %d /Height %d /ColorSpace /DeviceGray /BitsPerComponent 8 /Filter /DCTDecode", size.X, size.Y), file.String()))
}

func TestScansAreRead(t *testing.T) {
	t.Parallel()
	x := newScanReader(t, nil)
	for name, s := range map[string]paper.Scan{"clean": {}, "skewed and noisy": {Skew: -4, Noise: 0.01, Fade: 30, Quality: 40}, "turned": {Turn: 1}, "upside down": {Turn: 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := x.Extract(t.Context(), extract.Request{Reader: bytes.NewReader(scanned(t, inspection, s)), Name: "a.pdf", Languages: []string{"eng"}})
			if err != nil {
				t.Fatal(err)
			}
			if f1 := paper.F1(inspection.Text(), readtest.Text(doc)); f1 < 0.95 {
				t.Errorf("the F1 is %.3f:\n%s", f1, readtest.Lines(doc))
			}
			if b := doc.Blocks[0]; b.Kind != "heading" || b.Page != 1 || doc.Recognised[1] < 0.8 {
				t.Errorf("the first block is %+v; recognised: %v", b, doc.Recognised)
			}
		})
	}
}

func TestATextWaitsForNoScan(t *testing.T) {
	t.Parallel()
	x := newScanReader(t, func(o *extract.Options) { o.Concurrency, o.Recognisers = 1, 1 })
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	begun := make(chan bool, 8)
	file := scanned(t, inspection, paper.Scan{})
	for range cap(begun) {
		all.Go(func() {
			_, err := x.Extract(ctx, extract.Request{Workspace: "scans", Reader: bytes.NewReader(file), Name: "a.pdf", Progress: func(int, int) { begun <- true }})
			if err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		})
	}
	for range cap(begun) {
		select {
		case <-begun: // the document has been examined and is waiting for recognition or its turn
		case <-time.After(5 * time.Minute):
			t.Fatal("the scans were not examined")
		}
	}
	// The scans wait in the OCR queue and don't hold the only slot for reading documents, so that slot is free.
	doc, err := x.Extract(t.Context(), extract.Request{Workspace: "scans", Reader: strings.NewReader("# A text\n\nIt is read at once.\n"), Name: "a.md"})
	if err != nil || len(doc.Blocks) != 2 {
		t.Errorf("the text: %v", err)
	}
}

func TestScansCanBeLeftForLater(t *testing.T) {
	t.Parallel()
	x := newScanReader(t, nil)
	_, err := x.Extract(t.Context(), extract.Request{Reader: bytes.NewReader(scanned(t, inspection, paper.Scan{})), Name: "a.pdf", Defer: true})
	if extract.KindOf(err) != extract.Scanned {
		t.Errorf("the error is %v", err)
	}
}

func TestWithoutTesseractAScanSaysHowToInstallIt(t *testing.T) {
	t.Parallel()
	file := scanned(t, inspection, paper.Scan{})
	for setting, want := range map[string]string{"off": "turned off", filepath.Join(t.TempDir(), "none"): "Tesseract was not found at"} {
		x := extract.New(extract.Options{Concurrency: 1, Tesseract: setting, CacheDir: extracttest.Compiled, TempDir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
		_, err := x.Extract(t.Context(), extract.Request{Reader: bytes.NewReader(file), Name: "a.pdf", Defer: true})
		if extract.KindOf(err) != extract.NoText || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", setting, err)
		}
		if _, err := x.Recognises(); err == nil {
			t.Errorf("%s: it recognises text", setting)
		}
		_ = x.Close() // returns no error
	}
	broken := filepath.Join(t.TempDir(), "tesseract")
	if err := os.WriteFile(broken, []byte("not a program"), 0o755); err != nil {
		t.Fatal(err)
	}
	x := extract.New(extract.Options{Concurrency: 1, Tesseract: broken, CacheDir: extracttest.Compiled, TempDir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	defer x.Close()
	_, err := x.Extract(t.Context(), extract.Request{Reader: bytes.NewReader(file), Name: "a.pdf"})
	if extract.KindOf(err) != extract.NoText || !strings.Contains(err.Error(), "does not work") {
		t.Errorf("with a broken program: %v", err)
	}
}

// TestHostilePicturesDoNoHarm passes damaged and random pictures to Tesseract.
func TestHostilePicturesDoNoHarm(t *testing.T) {
	t.Parallel()
	x := newScanReader(t, nil)
	g, _, err := paper.Page{Heading: "A title"}.Draw()
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := png.Encode(&file, g.SubImage(image.Rect(200, 200, 1000, 500))); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 12 {
		data := bytes.Clone(file.Bytes())
		for range 1 + random.IntN(4) {
			data[random.IntN(len(data))] ^= 1 << random.IntN(8)
		}
		doc, err := x.Extract(t.Context(), extract.Request{Reader: bytes.NewReader(data[:len(data)-random.IntN(len(data)/2)]), Name: "a.png"})
		if err != nil && extract.KindOf(err) == "" {
			t.Errorf("an error without a kind: %v", err)
		}
		if err == nil && len(doc.Blocks) == 0 {
			t.Error("a document without text")
		}
	}
}

func TestPassagesOnScannedPagesAreLocated(t *testing.T) {
	t.Parallel()
	x := newScanReader(t, nil)
	text := inspection.Heading + "\n\n" + inspection.Paragraphs[0]
	passages := []extract.Passage{{Text: text, Page: 1, Spans: [][2]int{{0, len("Inspection")}, {0, len(text)}}}}
	for name, s := range map[string]paper.Scan{"clean": {}, "skewed": {Skew: -4}, "turned": {Turn: 1}, "turned and skewed": {Turn: 3, Skew: 3}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Compute the middle of the first word, in pixels from the page centre, and the position to which the
			// simulated scan moves it.
			dx, dy := 400-paper.Width/2.0, 300-paper.Height/2.0
			sin, cos := math.Sincos(s.Skew * math.Pi / 180)
			at, w, h := [2]float64{paper.Width/2 + dx*cos + dy*sin, paper.Height/2 - dx*sin + dy*cos}, float64(paper.Width), float64(paper.Height)
			for range s.Turn {
				at, w, h = [2]float64{h - at[1], at[0]}, h, w
			}
			req := extract.Request{Reader: bytes.NewReader(scanned(t, inspection, s)), Name: "a.pdf", Key: name, Languages: []string{"eng"}}
			found, err := x.Locate(t.Context(), req, passages)
			if err != nil {
				t.Fatal(err)
			}
			word, all := found[0][0], found[0][1]
			if len(word) != 1 || len(all) < 4 {
				t.Fatalf("the first word has %d rectangles, the passage %d", len(word), len(all))
			}
			const points = 72.0 / 300
			r, left, top := word[0], at[0]*points, at[1]*points
			if r.Page != 1 || left < r.X || left > r.X+r.Width || top < r.Y || top > r.Y+r.Height || r.Width*r.Height > 120*60 {
				t.Errorf("the first word is around (%.0f, %.0f), but was found in %+v", left, top, r)
			}
		})
	}
	found, err := x.Locate(t.Context(), extract.Request{Reader: bytes.NewReader(scanned(t, inspection, paper.Scan{})), Name: "a.pdf"}, passages)
	if err != nil || len(found[0][0]) > 0 {
		t.Errorf("without a key, the rectangles are %v, %v", found, err)
	}
}
