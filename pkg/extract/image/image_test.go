package image_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"slices"
	"strings"
	"testing"

	"golang.org/x/image/tiff"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/readtest"
	"github.com/sluice/sluice/pkg/extract/scan"
)

// picture returns a grey picture with a dark top left corner.
func picture(width, height int) *image.Gray {
	g := image.NewGray(image.Rect(0, 0, width, height))
	for i := range g.Pix {
		g.Pix[i] = 220
	}
	for y := range height / 2 {
		for x := range width / 2 {
			g.SetGray(x, y, color.Gray{Y: 10})
		}
	}
	return g
}

// encoded returns the picture encoded in each format that Go can write, by file name.
func encoded(t testing.TB, g image.Image) map[string][]byte {
	t.Helper()
	var p, j, f bytes.Buffer
	if err := errors.Join(png.Encode(&p, g), jpeg.Encode(&j, g, nil), tiff.Encode(&f, g, nil)); err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{"a.png": p.Bytes(), "a.jpg": j.Bytes(), "a.tiff": f.Bytes()}
}

// twoPages returns a TIFF file with two pages: one of 40 × 20 pixels and one of 20 × 40 pixels.
func twoPages(t testing.TB) []byte {
	t.Helper()
	first, second := encoded(t, picture(40, 20))["a.tiff"], encoded(t, picture(20, 40))["a.tiff"]
	order := binary.LittleEndian
	at := len(first) + len(first)%2
	file := append(slices.Clone(first), make([]byte, len(first)%2)...)
	// All offsets in the second file shift by the first file's size.
	moved := slices.Clone(second)
	dir := int(order.Uint32(moved[4:]))
	count := int(order.Uint16(moved[dir:]))
	for k := range count {
		entry := moved[dir+2+12*k:]
		size := map[uint16]int{1: 1, 2: 1, 3: 2, 4: 4, 5: 8}[order.Uint16(entry[2:])] * int(order.Uint32(entry[4:]))
		if tag := order.Uint16(entry); tag == 273 || size > 4 { // the offset of the pixels, or values outside the entry
			order.PutUint32(entry[8:], order.Uint32(entry[8:])+uint32(at))
		}
	}
	file = append(file, moved...)
	firstDir := int(order.Uint32(file[4:]))
	next := firstDir + 2 + 12*int(order.Uint16(file[firstDir:]))
	order.PutUint32(file[next:], uint32(dir+at))
	return file
}

func source(data []byte, name string, scans format.Scans) format.Source {
	return format.Source{Data: bytes.NewReader(data), Size: int64(len(data)), Name: name, Scans: scans}
}

func registry(t testing.TB) *format.Registry {
	t.Helper()
	return format.NewRegistry(extract.Formats()...)
}

func TestAPictureWithoutRecognitionSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for name, data := range encoded(t, picture(20, 20)) {
		_, err := readtest.Parse(t, name, data)
		if format.KindOf(err) != format.NoText || !strings.Contains(err.Error(), "install Tesseract") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestThePagesOfAPictureAreToBeRecognised(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		data  []byte
		limit int
		pages []int
	}{
		"a.png": {encoded(t, picture(20, 20))["a.png"], 10, []int{1}},
		"b.tif": {twoPages(t), 10, []int{1, 2}},
		"c.tif": {twoPages(t), 1, []int{1}},
	} {
		_, err := extract.Parse(t.Context(), source(test.data, name, format.Scans{Report: true, Limit: test.limit}), format.Limits{})
		e, ok := errors.AsType[*format.Error](err)
		if !ok || e.Kind != format.Scanned || !slices.Equal(e.Pages, test.pages) {
			t.Errorf("%s: %+v", name, err)
		}
	}
}

// page returns a recognised page with one line.
func page(number int, text string, confidence float64) scan.Page {
	p := scan.Page{Number: number, Width: 2480, Height: 3508}
	x := 300.0
	l := scan.Line{Left: x, Base: 400, Size: 46}
	for word := range strings.FieldsSeq(text) {
		end := x + 24*float64(len(word))
		l.Words = append(l.Words, scan.Word{Text: word, X0: x, X1: end, Y0: 364, Y1: 410, Confidence: confidence})
		x = end + 14
	}
	p.Lines = []scan.Line{l}
	return p
}

func TestRecognisedPagesBecomeBlocks(t *testing.T) {
	t.Parallel()
	scans := format.Scans{Limit: 10, Pages: map[int]scan.Page{1: page(1, "The first page has a sentence.", 0.9), 2: page(2, "The second one is hard to read.", 0.6)}}
	var blocks []domain.Block
	doc, err := extract.Stream(t.Context(), source(twoPages(t), "a.tif", scans), format.Limits{}, func(b domain.Block) error {
		blocks = append(blocks, b)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	doc.Blocks = blocks
	want := "paragraph on 1: The first page has a sentence.\nparagraph on 2: The second one is hard to read."
	if got := readtest.Lines(doc); got != want {
		t.Errorf("the blocks are\n%s", got)
	}
	if doc.Pages != 2 || len(doc.Recognised) != 2 || len(doc.Warnings) != 1 || !strings.HasPrefix(doc.Warnings[0], "page 2: the recognised text is uncertain") {
		t.Errorf("%+v", doc)
	}
}

func TestPicturesAreMadeForRecognition(t *testing.T) {
	t.Parallel()
	r := registry(t)
	for name, data := range encoded(t, picture(400, 200)) {
		g, err := r.Scan(t.Context(), source(data, name, format.Scans{}), format.Limits{}, 1, 0)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if g.Rect != image.Rect(0, 0, 800, 400) || g.GrayAt(10, 10).Y > 60 || g.GrayAt(700, 300).Y < 180 {
			t.Errorf("%s: the picture has %v", name, g.Rect)
		}
		turned, err := r.Scan(t.Context(), source(data, name, format.Scans{}), format.Limits{}, 1, 1)
		if err != nil || turned.Rect != image.Rect(0, 0, 400, 800) || turned.GrayAt(390, 10).Y > 60 || turned.GrayAt(10, 10).Y < 180 {
			t.Errorf("%s: turned clockwise, the picture is wrong: %v", name, err)
		}
		if _, err := r.Scan(t.Context(), source(data, name, format.Scans{}), format.Limits{}, 2, 0); format.KindOf(err) != format.NoPage {
			t.Errorf("%s: page 2: %v", name, err)
		}
	}
	second, err := r.Scan(t.Context(), source(twoPages(t), "a.tif", format.Scans{}), format.Limits{}, 2, 0)
	if err != nil || second.Rect != image.Rect(0, 0, 40, 80) {
		t.Errorf("the second page: %v", err)
	}
}

// TestHostilePicturesAreRefused reads pictures that claim to be huge, are truncated, or refer to themselves.
func TestHostilePicturesAreRefused(t *testing.T) {
	t.Parallel()
	r := registry(t)
	small := encoded(t, picture(20, 20))
	huge := slices.Clone(small["a.png"])
	binary.BigEndian.PutUint32(huge[16:], 60_000)
	binary.BigEndian.PutUint32(huge[20:], 60_000)
	loop := slices.Clone(small["a.tiff"])
	dir := int(binary.LittleEndian.Uint32(loop[4:]))
	binary.LittleEndian.PutUint32(loop[dir+2+12*int(binary.LittleEndian.Uint16(loop[dir:])):], uint32(dir))
	for name, data := range map[string][]byte{
		"huge.png": huge, "cut.png": small["a.png"][:60], "cut.jpg": small["a.jpg"][:100], "cut.tiff": small["a.tiff"][:20],
		"only.webp": []byte("RIFF\x10\x00\x00\x00WEBPVP8 \xff\xff\xff\xff"),
	} {
		if _, err := r.Scan(t.Context(), source(data, name, format.Scans{}), format.Limits{}, 1, 0); format.KindOf(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := extract.Parse(t.Context(), source(loop, "loop.tiff", format.Scans{Report: true, Limit: 10}), format.Limits{})
	if e, ok := errors.AsType[*format.Error](err); !ok || len(e.Pages) != 1 {
		t.Errorf("a loop of pages: %v", err)
	}
}

func FuzzScan(f *testing.F) {
	for _, data := range encoded(f, picture(30, 20)) {
		f.Add(data, 1)
	}
	f.Add(twoPages(f), 2)
	f.Add([]byte("RIFF\x24\x00\x00\x00WEBPVP8L\x10\x00\x00\x00\x2f\x00\x00\x00\x00"), 1)
	f.Fuzz(func(t *testing.T, data []byte, page int) {
		r := registry(t)
		g, err := r.Scan(t.Context(), source(data, "", format.Scans{}), format.Limits{MaxInput: 1 << 20}, page, page)
		switch {
		case err == nil && (g.Rect.Empty() || g.Rect.Dx()*g.Rect.Dy() > format.MaxScanPixels):
			t.Errorf("the picture has %v", g.Rect)
		case err != nil && format.KindOf(err) == "":
			t.Errorf("the error has no kind: %v", err)
		}
	})
}
