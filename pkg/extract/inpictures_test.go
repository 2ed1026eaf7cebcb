package extract_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/jpeg"
	"image/png"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/extracttest/paper"
	"github.com/sluice/sluice/pkg/extract/format"
)

// screenshot returns a PNG file that shows lines of text.
func screenshot(t *testing.T, lines ...string) string {
	t.Helper()
	g, err := paper.Screen(lines...)
	if err != nil {
		t.Fatal(err)
	}
	return encodePNG(t, g)
}

func encodePNG(t *testing.T, g image.Image) string {
	t.Helper()
	var file bytes.Buffer
	if err := png.Encode(&file, g); err != nil {
		t.Fatal(err)
	}
	return file.String()
}

// withPictures describes how to write a document in one format with pictures between two paragraphs.
type withPictures struct {
	name  string
	write func(t *testing.T, alt string, pictures ...string) []byte
}

// documentsWithPictures lists the formats to test. Each document has the text "Before the pictures stands this." before
// the pictures and "After the pictures stands that." after them.
var documentsWithPictures = []withPictures{
	{"a.docx", func(t *testing.T, alt string, pictures ...string) []byte {
		t.Helper()
		body := extracttest.WordPara("", "Before the pictures stands this.")
		var rels []string
		var parts []extracttest.Part
		for i, p := range pictures {
			rels = append(rels, fmt.Sprintf("rId%d image media/image%d.png", i+1, i+1))
			parts = append(parts, extracttest.Part{fmt.Sprintf("word/media/image%d.png", i+1), p})
			body += fmt.Sprintf(`<w:p><w:r><w:drawing><wp:inline><wp:docPr id="1" descr="%s"/><a:graphic><a:graphicData><pic:pic xmlns:pic="pic"><pic:blipFill><a:blip r:embed="rId%d"/></pic:blipFill></pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing></w:r></w:p>`, alt, i+1)
		}
		body += extracttest.WordPara("", "After the pictures stands that.")
		return extracttest.Word(t, body, append(parts, extracttest.Rels("word/document.xml", rels...))...)
	}},
	{"a.pptx", func(t *testing.T, alt string, pictures ...string) []byte {
		t.Helper()
		shapes := extracttest.Shape("", extracttest.Drawn("", "Before the pictures stands this."))
		var rels []string
		var parts []extracttest.Part
		for i, p := range pictures {
			rels = append(rels, fmt.Sprintf("rId%d image ../media/image%d.png", i+1, i+1))
			parts = append(parts, extracttest.Part{fmt.Sprintf("ppt/media/image%d.png", i+1), p})
			shapes += fmt.Sprintf(`<p:pic><p:nvPicPr><p:cNvPr id="1" name="Picture" descr="%s"/></p:nvPicPr><p:blipFill><a:blip r:embed="rId%d"/></p:blipFill></p:pic>`, alt, i+1)
		}
		shapes += extracttest.Shape("", extracttest.Drawn("", "After the pictures stands that."))
		return extracttest.Slides(t, []string{"|" + shapes}, append(parts, extracttest.Rels("ppt/slides/slide1.xml", rels...))...)
	}},
	{"a.odt", func(t *testing.T, alt string, pictures ...string) []byte {
		t.Helper()
		return openDocument(t, "text", "<text:p>%s</text:p>", "<text:p>Before the pictures stands this.</text:p>", "<text:p>After the pictures stands that.</text:p>", alt, pictures)
	}},
	{"a.odp", func(t *testing.T, alt string, pictures ...string) []byte {
		t.Helper()
		const box = "<draw:frame><draw:text-box><text:p>%s the pictures stands %s.</text:p></draw:text-box></draw:frame>"
		return openDocument(t, "presentation", "%s", "<draw:page>"+fmt.Sprintf(box, "Before", "this"), fmt.Sprintf(box, "After", "that")+"</draw:page>", alt, pictures)
	}},
	{"a.html", func(t *testing.T, alt string, pictures ...string) []byte {
		t.Helper()
		page := `<html><body><main><p>Before the pictures stands this.</p>`
		for _, p := range pictures {
			page += `<p><img alt="` + alt + `" src="data:image/png;base64,` + base64.StdEncoding.EncodeToString([]byte(p)) + `"></p>`
		}
		return []byte(page + `<p><img src="https://example.invalid/a.png">After the pictures stands that.</p></main></body></html>`)
	}},
}

// openDocument returns an OpenDocument file that contains `before`, the pictures and `after`, in this order. `around`
// is the format string for the XML that surrounds each picture's frame.
func openDocument(t *testing.T, kind, around, before, after, alt string, pictures []string) []byte {
	t.Helper()
	parts := []extracttest.Part{{"mimetype", "application/vnd.oasis.opendocument." + kind}}
	for i, p := range pictures {
		name := fmt.Sprintf("Pictures/%d.png", i+1)
		parts = append(parts, extracttest.Part{name, p})
		before += fmt.Sprintf(around, `<draw:frame><draw:image xlink:href="`+name+`"/><svg:desc>`+alt+`</svg:desc></draw:frame>`)
	}
	return extracttest.Office(t, append(parts, extracttest.Part{"content.xml", `<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:text="t" xmlns:draw="d" xmlns:svg="v" xmlns:xlink="x"><office:body><office:` + kind + `>` + before + after + `</office:` + kind + `></office:body></office:document-content>`})...)
}

// pictureReader returns an extractor that reads up to ten pictures per document.
func pictureReader(t *testing.T, change func(*extract.Options)) *extract.Extractor {
	t.Helper()
	return newScanReader(t, func(o *extract.Options) {
		o.MaxPictures = 10
		if change != nil {
			change(o)
		}
	})
}

func readPictures(t *testing.T, x *extract.Extractor, name string, data []byte) *domain.Document {
	t.Helper()
	doc, err := x.Extract(t.Context(), extract.Request{Reader: bytes.NewReader(data), Name: name, Languages: []string{"eng"}})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return doc
}

// blockTexts returns the text of each block in a document, with line breaks replaced by spaces.
func blockTexts(doc *domain.Document) []string {
	var texts []string
	for _, b := range doc.Blocks {
		texts = append(texts, strings.Join(strings.Fields(b.Text), " "))
	}
	return texts
}

func TestTextInPicturesIsReadWhereThePictureStands(t *testing.T) {
	t.Parallel()
	x := pictureReader(t, nil)
	picture := screenshot(t, "Error 4711: the pump has lost its prime", "Open the valve on the north side and restart the pump")
	const alt = "The message of the control panel"
	for _, d := range documentsWithPictures {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			doc := readPictures(t, x, d.name, d.write(t, alt, picture))
			want := []string{"Before the pictures stands this.", alt, "Error 4711: the pump has lost its prime Open the valve on the north side and restart the pump", "After the pictures stands that."}
			if got := blockTexts(doc); !slices.Equal(got, want) {
				t.Fatalf("got %q, want %q", got, want)
			}
			for i, b := range doc.Blocks {
				if recognised := i == 2; (b.Confidence > 0.8) != recognised || !recognised && b.Confidence != 0 {
					t.Errorf("block %d has the confidence %g", i, b.Confidence)
				}
			}
			if len(doc.Unread)+len(doc.Warnings) > 0 {
				t.Errorf("unread: %v; warnings: %q", doc.Unread, doc.Warnings)
			}
			info := doc.Info()
			if c, ok := info.Confidence(0, nil, doc.Blocks[2].Offset, 10); !ok || c < 0.8 {
				t.Errorf("the recognised text has the confidence %g, %t", c, ok)
			}
			if _, ok := info.Confidence(0, nil, 0, len(doc.Blocks[0].Text)); ok {
				t.Error("the paragraph above the picture counts as recognised")
			}
		})
	}
}

func TestADescriptionIsNotRepeated(t *testing.T) {
	t.Parallel()
	x := pictureReader(t, nil)
	for _, d := range documentsWithPictures {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			doc := readPictures(t, x, d.name, d.write(t, "Open the valve, and restart the pump.", screenshot(t, "Open the valve and restart the pump")))
			want := []string{"Before the pictures stands this.", "Open the valve, and restart the pump.", "After the pictures stands that."}
			if got := blockTexts(doc); !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestPicturesWithoutUsefulTextAreSkipped(t *testing.T) {
	t.Parallel()
	x := pictureReader(t, nil)
	var photo bytes.Buffer
	if err := jpeg.Encode(&photo, paper.Photograph(1200, 800, 1), nil); err != nil {
		t.Fatal(err)
	}
	logo, text := screenshot(t, "North Side Pumps Inc. of Leeds"), screenshot(t, "The feed pumps hold the pressure of six bar")
	icon, err := paper.Screen("OK 12345")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range documentsWithPictures {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			doc := readPictures(t, x, d.name, d.write(t, "", logo, photo.String(), logo, text, text, logo, encodePNG(t, icon), logo, "not a picture", "\x89PNG\r\n\x1a\n"))
			want := []string{"Before the pictures stands this.", "The feed pumps hold the pressure of six bar", "After the pictures stands that."}
			if got := blockTexts(doc); !slices.Equal(got, want) || len(doc.Warnings) > 0 {
				t.Errorf("got %q, want %q; warnings: %q", got, want, doc.Warnings)
			}
		})
	}
}

func TestTextInPicturesCanBeLeftForLater(t *testing.T) {
	t.Parallel()
	x := pictureReader(t, nil)
	picture := screenshot(t, "The feed pumps hold the pressure of six bar")
	for _, d := range documentsWithPictures {
		doc, err := x.Extract(t.Context(), extract.Request{Reader: bytes.NewReader(d.write(t, "", picture, picture)), Name: d.name, Defer: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := blockTexts(doc); len(got) != 2 || len(doc.Unread) != 1 || doc.Unread[0].Places != 2 {
			t.Errorf("%s: got %q; unread: %v", d.name, got, doc.Unread)
		}
	}
	alone := extracttest.Slides(t, []string{`|<p:pic><p:nvPicPr><p:cNvPr id="1"/></p:nvPicPr><p:blipFill><a:blip r:embed="rId1"/></p:blipFill></p:pic>`},
		extracttest.Part{"ppt/media/image1.png", picture}, extracttest.Rels("ppt/slides/slide1.xml", "rId1 image ../media/image1.png"))
	if _, err := x.Extract(t.Context(), extract.Request{Reader: bytes.NewReader(alone), Name: "a.pptx", Defer: true}); extract.KindOf(err) != extract.Scanned {
		t.Errorf("a presentation of pictures: %v", err)
	}
	if got := blockTexts(readPictures(t, x, "a.pptx", alone)); !slices.Equal(got, []string{"The feed pumps hold the pressure of six bar"}) {
		t.Errorf("a presentation of pictures: got %q", got)
	}
}

func TestPicturesAreReadOnlyIfTheSettingAllowsIt(t *testing.T) {
	t.Parallel()
	picture := screenshot(t, "The feed pumps hold the pressure of six bar")
	for name, change := range map[string]func(*extract.Options){
		"turned off":        func(o *extract.Options) { o.MaxPictures = 0 },
		"without Tesseract": func(o *extract.Options) { o.Tesseract = "off" },
	} {
		o := extract.Options{Concurrency: 1, MaxPictures: 10, TempDir: t.TempDir()}
		change(&o)
		x := extract.New(o)
		for _, d := range documentsWithPictures {
			doc := readPictures(t, x, d.name, d.write(t, "", picture))
			if len(doc.Blocks) != 2 || len(doc.Unread)+len(doc.Warnings) > 0 {
				t.Errorf("%s, %s: got %q; unread: %v; warnings: %q", name, d.name, blockTexts(doc), doc.Unread, doc.Warnings)
			}
		}
		_ = x.Close() // returns no error
	}
}

// hugePNG returns a PNG file with 60,000 × 60,000 pixels that is only a few bytes long.
func hugePNG() string {
	chunk := func(kind string, data []byte) []byte {
		out := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
		out = append(append(out, kind...), data...)
		return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[4:]))
	}
	header := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 60_000), 60_000)
	return "\x89PNG\r\n\x1a\n" + string(chunk("IHDR", append(header, 8, 0, 0, 0, 0))) + string(chunk("IDAT", nil))
}

func TestSkippedPicturesGiveAWarning(t *testing.T) {
	t.Parallel()
	first, second := screenshot(t, "The feed pumps hold the pressure of six bar"), screenshot(t, "Nobody may enter the boiler house before noon")
	broken := first[:len(first)/2]
	const readFirst = "The feed pumps hold the pressure of six bar"
	for name, test := range map[string]struct {
		change   func(*extract.Options)
		pictures []string
		warning  string
	}{
		"too many":    {func(o *extract.Options) { o.MaxPictures = 1 }, []string{first, second}, "the text in 1 picture was not read: OCR reads at most 1 pictures per document"},
		"no time":     {func(o *extract.Options) { o.PictureTime = time.Nanosecond }, []string{first, second}, "the text in 1 picture was not read: OCR reached its time limit of"},
		"too large":   {nil, []string{first, hugePNG(), "\x89PNG" + strings.Repeat(" ", 17<<20)}, "the text in 2 pictures was not read: a picture may have at most 16 MiB and 64 million pixels"},
		"half a file": {nil, []string{first, broken}, "the text in 1 picture was not read: the picture is damaged"},
	} {
		x := pictureReader(t, test.change)
		for _, d := range documentsWithPictures {
			t.Run(name+" "+d.name, func(t *testing.T) {
				t.Parallel()
				doc := readPictures(t, x, d.name, d.write(t, "", test.pictures...))
				if got := blockTexts(doc); len(got) != 3 || got[1] != readFirst {
					t.Errorf("got %q", got)
				}
				if len(doc.Warnings) != 1 || !strings.HasPrefix(strings.Replace(doc.Warnings[0], "pictures were", "pictures was", 1), test.warning) {
					t.Errorf("got the warnings %q, want %q", doc.Warnings, test.warning)
				}
			})
		}
	}
}

func TestTextInTablesPicturesFollowsTheTable(t *testing.T) {
	t.Parallel()
	x := pictureReader(t, nil)
	const text = "The feed pumps hold the pressure of six bar"
	picture := `<w:p><w:r><w:drawing><a:blip r:embed="rId1"/></w:drawing></w:r></w:p>`
	file := extracttest.Word(t, `<w:tbl>`+extracttest.WordRow("Pump", "State")+`<w:tr><w:tc>`+extracttest.WordPara("", "North")+`</w:tc><w:tc>`+extracttest.WordPara("", "works")+picture+`</w:tc></w:tr></w:tbl>`,
		extracttest.Part{"word/media/image1.png", screenshot(t, text)}, extracttest.Rels("word/document.xml", "rId1 image media/image1.png"))
	doc := readPictures(t, x, "a.docx", file)
	if got := blockTexts(doc); len(got) < 2 || got[len(got)-1] != text || doc.Blocks[len(got)-1].Confidence == 0 || !strings.Contains(got[len(got)-2], "works") {
		t.Errorf("got %q", got)
	}
}

func TestTextInAttachedPicturesIsRead(t *testing.T) {
	t.Parallel()
	x := pictureReader(t, nil)
	attached := func(name, kind string, content []byte) string {
		return fmt.Sprintf("--B\r\nContent-Type: %s; name=%q\r\nContent-Disposition: attachment; filename=%q\r\nContent-Transfer-Encoding: base64\r\n\r\n%s\r\n", kind, name, name, base64.StdEncoding.EncodeToString(content))
	}
	const inPicture, inReport = "The feed pumps hold the pressure of six bar", "Nobody may enter the boiler house before noon"
	mail := "Subject: Pumps\r\nContent-Type: multipart/mixed; boundary=B\r\n\r\n--B\r\nContent-Type: text/plain\r\n\r\nSee the pictures.\r\n" +
		attached("a.png", "image/png", []byte(screenshot(t, inPicture))) +
		attached("b.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", documentsWithPictures[0].write(t, "", screenshot(t, inReport))) + "--B--\r\n"
	doc := readPictures(t, x, "a.eml", []byte(mail))
	want := []string{"Pumps", "See the pictures.", "a.png", inPicture, "b.docx", "Before the pictures stands this.", inReport, "After the pictures stands that."}
	if got := blockTexts(doc); !slices.Equal(got, want) || len(doc.Warnings) > 0 {
		t.Errorf("got %q, want %q; warnings: %q", got, want, doc.Warnings)
	}
}

// TestDamagedPicturesDoNoHarm prepares damaged pictures, and pictures in damaged documents, for OCR.
func TestDamagedPicturesDoNoHarm(t *testing.T) {
	t.Parallel()
	picture := screenshot(t, "The feed pumps hold the pressure")
	var photo bytes.Buffer
	if err := jpeg.Encode(&photo, paper.Photograph(300, 200, 1), nil); err != nil {
		t.Fatal(err)
	}
	damage := extracttest.Damage{Seed: 3, Truncations: 6, Flips: 10, Numbers: 6, Inside: 6}
	prepared := 0
	for _, d := range documentsWithPictures {
		var files [][]byte
		for name, whole := range map[string]string{"a.png": picture, "a.jpg": photo.String()} {
			for _, damaged := range damage.Cases(name, []byte(whole)) {
				files = append(files, d.write(t, "", string(damaged)))
			}
		}
		for _, damaged := range damage.Cases(d.name, d.write(t, "", picture, photo.String())) {
			files = append(files, bytes.Clone(damaged))
		}
		for i, file := range files {
			src := format.Source{Data: bytes.NewReader(file), Size: int64(len(file)), Name: d.name, Scans: format.Scans{Report: true, Pictures: 10}}
			doc, err := extract.Parse(t.Context(), src, format.DefaultLimits())
			if err != nil && (extract.KindOf(err) == "" || errors.Is(err, format.ErrPanic)) {
				t.Errorf("%s, damage %d: %v", d.name, i, err)
			}
			if err != nil {
				continue
			}
			for _, p := range doc.Unread {
				g, err := extract.ChildTasks().Scan(t.Context(), src, format.DefaultLimits(), p.Number, 0)
				if err != nil && (extract.KindOf(err) == "" || errors.Is(err, format.ErrPanic)) {
					t.Errorf("%s, damage %d, picture %d: %v", d.name, i, p.Number, err)
				}
				if err == nil && (g.Rect.Empty() || g.Rect.Dx()*g.Rect.Dy() > format.MaxScanPixels) {
					t.Errorf("%s, damage %d, picture %d has %v", d.name, i, p.Number, g.Rect)
				}
				if err == nil {
					prepared++
				}
			}
		}
	}
	if prepared == 0 {
		t.Error("no damaged picture could be decoded, so the damage is too great")
	}
}
