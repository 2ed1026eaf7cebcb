package extract

import (
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
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := parseBytes(t, "fuzz"+suffix, data)
		if err != nil {
			if KindOf(err) == "" {
				t.Fatalf("error = %v, want an *Error", err)
			}
			if strings.Contains(err.Error(), "panic") {
				t.Fatalf("the parser panics: %v", err)
			}
			return
		}
		checkBlocks(t, doc)
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
func FuzzHTML(f *testing.F) {
	fuzzFormat(f, ".html", "<table><tr><td><table><tr><td>x", "<ol><li>a<pre>b</ol><svg><p>")
}
func FuzzDocx(f *testing.F) { fuzzFormat(f, ".docx") }
func FuzzPptx(f *testing.F) { fuzzFormat(f, ".pptx") }
func FuzzXlsx(f *testing.F) { fuzzFormat(f, ".xlsx") }
func FuzzDetectType(f *testing.F) {
	f.Add([]byte("%PDF-1.7"), "a.txt", "text/plain; charset=utf-8")
	f.Add([]byte("PK\x03\x04word/"), "", "")
	f.Fuzz(func(t *testing.T, head []byte, name, declared string) {
		if got := DetectType(head, name, declared); got == "" || strings.Contains(got, ";") {
			t.Errorf("DetectType = %q, want a MIME type without parameters", got)
		}
	})
}
