package extract_test

import (
	"bytes"
	"fmt"
	"image/png"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/extracttest"
)

// page returns a PDF with one page. `box` is the page size, `extra` holds additional entries for the page dictionary,
// and `more` holds further objects, numbered from 5.
func page(box, extra, content string, more ...string) []byte {
	return extracttest.PDF(append([]string{
		"<< /Type /Catalog /Pages 2 0 R /OpenAction << /S /JavaScript /JS (app.alert\\(1\\)) >> >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [" + box + "] /Contents 4 0 R " + extra + " >>",
		extracttest.Stream("", content),
	}, more...)...)
}

// TestPagesAreDrawnInAChildProcess renders pages from ordinary and hostile files, with the service's limits.
func TestPagesAreDrawnInAChildProcess(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiling PDFium takes seconds")
	}
	manual, err := os.ReadFile(filepath.Join(extracttest.Documents, "aurora-x2-manual.pdf"))
	if err != nil {
		t.Fatal(err)
	}
	x := extract.New(extract.Options{Concurrency: 1, MaxMemory: extract.DrawMemory, Timeout: extract.DrawTimeout, CacheDir: extracttest.Compiled, TempDir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	defer x.Close()
	square := "0 0 1 rg 0 0 %d %d re f"
	for name, test := range map[string]struct {
		file []byte
		page int
		kind extract.Kind // "" means that the page is drawn
		dark bool         // the picture has dark areas
	}{
		"the first page":        {file: manual, page: 1, dark: true},
		"the last page":         {file: manual, page: 2, dark: true},
		"no such page":          {file: manual, page: 3, kind: extract.NoPage},
		"no page 0":             {file: manual, page: 0, kind: extract.NoPage},
		"a tiny page":           {file: page("0 0 1 1", "", fmt.Sprintf(square, 1, 1)), page: 1, dark: true},
		"a page like a ribbon":  {file: page("0 0 1000000 1", "", fmt.Sprintf(square, 1000000, 1)), page: 1, dark: true},
		"a page like a tower":   {file: page("0 0 1 1000000", "", fmt.Sprintf(square, 1, 1000000)), page: 1, dark: true},
		"a page without size":   {file: page("0 0 0 0", "", fmt.Sprintf(square, 100, 100)), page: 1, dark: true}, // PDFium assumes Letter
		"an empty page":         {file: page("0 0 100 100", "", ""), page: 1},
		"a transparent page":    {file: page("0 0 100 100", "/Group << /S /Transparency >> /Resources << /ExtGState << /G << /ca 0.5 >> >> >>", "/G gs"), page: 1},
		"no PDF":                {file: []byte("<html>"), page: 1, kind: extract.Damaged},
		"a form within itself":  {file: page("0 0 100 100", "/Resources << /XObject << /X 5 0 R >> >>", "/X Do", extracttest.Stream("/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 5 0 R >> >>", "/X Do")), page: 1},
		"a picture of 4 Gpixel": {file: page("0 0 100 100", "/Resources << /XObject << /X 5 0 R >> >>", "100 0 0 100 0 0 cm /X Do", extracttest.Stream("/Type /XObject /Subtype /Image /Width 65000 /Height 65000 /ColorSpace /DeviceRGB /BitsPerComponent 8", "x")), page: 1},
		"a thousand curves":     {file: page("0 0 1000 1000", "", strings.Repeat("0 0 m 900 100 100 900 1000 1000 c S\n", 1000)), page: 1, dark: true},
	} {
		began := time.Now()
		picture, err := x.Draw(t.Context(), extract.Request{Reader: bytes.NewReader(test.file)}, test.page)
		t.Logf("%s: %d bytes, %v, %v", name, len(picture), time.Since(began).Round(time.Millisecond), err)
		if extract.KindOf(err) != test.kind || (err != nil) != (test.kind != "") {
			t.Errorf("%s: the error is %v, want the kind %q", name, err, test.kind)
			continue
		}
		if err != nil {
			continue
		}
		drawn, err := png.Decode(bytes.NewReader(picture))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		dark := false
		box := drawn.Bounds()
		for y := box.Min.Y; y < box.Max.Y; y++ {
			for x := box.Min.X; x < box.Max.X; x++ {
				red, _, _, alpha := drawn.At(x, y).RGBA()
				dark = dark || red < 0x8000
				if alpha != 0xffff {
					t.Fatalf("%s: the picture is transparent", name)
				}
			}
		}
		if box.Dx() > 1600 || box.Dy() > 1600 || dark != test.dark {
			t.Errorf("%s: the picture has %v, dark parts: %t", name, box, dark)
		}
	}
}
