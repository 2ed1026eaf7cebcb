package extract

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/domain"
)

// fuzzFormat feeds mutations of the sample documents with the suffix to the parser that the name selects. Whatever
// comes in, the result is an *Error, or blocks that keep their contract.
func fuzzFormat(f *testing.F, suffix string, more ...string) {
	files, err := filepath.Glob(filepath.Join(documents, "*"+suffix))
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, s := range more {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkParsing(t, "fuzz"+suffix, data) })
}

// checkParsing parses a document that can be anything.
func checkParsing(t *testing.T, name string, data []byte) {
	t.Helper()
	doc, err := parseBytes(t, name, data)
	switch {
	case err == nil:
		checkBlocks(t, doc)
	case KindOf(err) == "":
		t.Fatalf("error = %v, want an *Error", err)
	case errors.Is(err, errPanic):
		t.Fatalf("the parser panics: %v", err)
	}
}

// fuzzParts feeds mutations of parts of the sample document with the suffix to the parser of its format: mutations of
// the packed file would seldom come to anything but the check of its sums.
func fuzzParts(f *testing.F, suffix string, names ...string) {
	files, err := filepath.Glob(filepath.Join(documents, "*"+suffix))
	if err != nil || len(files) == 0 {
		f.Fatalf("found %d samples, error %v", len(files), err)
	}
	z, err := zip.OpenReader(files[0])
	if err != nil {
		f.Fatal(err)
	}
	defer z.Close()
	parts := map[string]string{}
	for _, file := range z.File {
		r, err := file.Open()
		if err != nil {
			f.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err := errors.Join(err, r.Close()); err != nil {
			f.Fatal(err)
		}
		parts[file.Name] = string(data)
	}
	for i, name := range names {
		if parts[name] == "" {
			f.Fatalf("the sample %s has no part %s", files[0], name)
		}
		f.Add(byte(i), []byte(parts[name]))
	}
	f.Fuzz(func(t *testing.T, which byte, data []byte) {
		changed := maps.Clone(parts)
		changed[names[int(which)%len(names)]] = string(data)
		checkParsing(t, "fuzz"+suffix, zipOf(t, changed, 1))
	})
}

// checkBlocks verifies what domain.Block promises.
func checkBlocks(t *testing.T, doc *domain.Document) {
	t.Helper()
	for i, b := range doc.Blocks {
		if strings.TrimSpace(b.Text) == "" || !utf8.ValidString(b.Text) || strings.ContainsRune(b.Text, 0) || len(b.Text) > maxBlockBytes {
			t.Fatalf("block %d of %d breaks its contract: %.200q", i, len(doc.Blocks), b.Text)
		}
		if b.Kind == domain.BlockHeading && (b.Level < 1 || b.Level > 6) {
			t.Fatalf("heading %q has level %d", b.Text, b.Level)
		}
	}
}

func FuzzText(f *testing.F) { fuzzFormat(f, ".txt", "\xff\xfea\x00b\x00", "\x1b$B$3$l\x1b(B") }
func FuzzCSV(f *testing.F)  { fuzzFormat(f, ".csv", "a,b\n\"1,2\n3", "sep=;\na;b\n1;2\n") }
func FuzzJSON(f *testing.F) { fuzzFormat(f, ".json", `[[[{"a":[1,{"b":null}]}]]]`, "{}\n{}") }
func FuzzMarkdown(f *testing.F) {
	fuzzFormat(f, ".md", "+++\ntitle = \"x\"\n+++\n> - 1. a", "|a|\n|-|\n|")
}
func FuzzMail(f *testing.F) {
	fuzzFormat(f, ".eml", mailSample, strings.ReplaceAll(mailSample, "base64", "quoted-printable"), "From: a@a.example\nDate: x\nContent-Type: message/rfc822\n\nFrom: b@b.example\nSubject: x\n\ntext")
}
func FuzzMHTML(f *testing.F)   { fuzzFormat(f, ".mht", archiveSample) }
func FuzzFlatOPC(f *testing.F) { fuzzFormat(f, ".flat", flatSample) }
func FuzzHTML(f *testing.F) {
	fuzzFormat(f, ".html", "<table><tr><td><table><tr><td>x", "<ol><li>a<pre>b</ol><svg><p>")
}
func FuzzDocx(f *testing.F) { fuzzParts(f, ".docx", "word/document.xml", "word/styles.xml") }
func FuzzPptx(f *testing.F) {
	fuzzParts(f, ".pptx", "ppt/slides/slide1.xml", "ppt/presentation.xml", "ppt/_rels/presentation.xml.rels")
}
func FuzzXlsx(f *testing.F) {
	fuzzParts(f, ".xlsx", "xl/worksheets/sheet1.xml", "xl/workbook.xml")
}

// FuzzZip feeds mutations of containers as they are packed.
func FuzzZip(f *testing.F) {
	lie := documentWith(f, nil)
	binary.LittleEndian.PutUint32(lie[bytes.LastIndex(lie, []byte("PK\x01\x02"))+24:], 10) // how large its part is unpacked
	fuzzFormat(f, ".pptx", string(lie), string(nestedContainers(f)), string(climbingParts(f)), string(polyglotZip(f)), string(macros(f)),
		string(zipOf(f, map[string]string{"[Content_Types].xml": "<Types/>", "ppt/slides/slide1.xml": "<p:sld/>", "": "", "a/": "", "\xff\\..\\b": "c"}, 1)))
}

// FuzzPDF feeds mutations of whole files: structure, layout and the decision between readers.
func FuzzPDF(f *testing.F) {
	if testing.Short() {
		f.Skip("compiling PDFium takes seconds")
	}
	// Compiling takes longer than fuzzing lets one input take.
	if _, err := startPDFium(compiled); err != nil {
		f.Fatal(err)
	}
	const catalog, font = "<< /Type /Catalog /Pages 2 0 R >>", "/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
	fuzzFormat(f, ".pdf",
		string(pdfOf(catalog, "<< /Type /Pages /Kids [3 0 R] /Count 1 >>", "<< /Type /Page /Parent 2 0 R /Contents 4 0 R "+font+" >>",
			stream("", "BT /F1 12 Tf 72 700 Td (one) Tj 0 -14 Td [(t) -300 (wo)] TJ ET"))))
}

func FuzzDetectType(f *testing.F) {
	f.Add([]byte("%PDF-1.7"), "a.txt", "text/plain; charset=utf-8")
	f.Add([]byte("PK\x03\x04word/"), "", "")
	f.Fuzz(func(t *testing.T, head []byte, name, declared string) {
		if got := DetectType(head, name, declared); got == "" || strings.Contains(got, ";") {
			t.Errorf("DetectType = %q, want a MIME type without parameters", got)
		}
	})
}
