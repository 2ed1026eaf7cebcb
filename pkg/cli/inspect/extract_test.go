package inspect_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/app"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract"
)

const documents = "../../../testdata/documents"

func TestMain(m *testing.M) {
	extract.RunChildIfAsked()
	os.Exit(m.Run())
}

// extracted is the command's JSON output for one file.
type extracted struct {
	File string
	domain.Document
	Blocks []struct {
		Text   string
		Path   []string `json:"headings"`
		Offset int
	}
	Chunks []struct {
		Heading, Text, Context string
		Tokens                 int
	}
}

// ingestor runs one of the ingestor's commands.
func ingestor(args ...string) (out, faults string, code int) {
	var stdout, stderr strings.Builder
	code = app.Main(app.Ingestor, args, nil, &stdout, &stderr)
	return stdout.String(), stderr.String(), code
}

func TestExtractPrintsWhatIngestionReads(t *testing.T) {
	t.Parallel()
	page := filepath.Join(documents, "support.html")
	text, faults, code := ingestor("extract", page)
	if code != 0 || faults != "" || !strings.HasPrefix(text, "Support for Aurora pumps\n\n") || !strings.Contains(text, "Impeller seal kit\tNLX-2207\tsame day\n") {
		t.Fatalf("text: code %d, %q, %q", code, faults, text)
	}
	var blocks extracted
	out, _, code := ingestor("extract", "--format", "blocks", page)
	if err := json.Unmarshal([]byte(out), &blocks); err != nil || code != 0 {
		t.Fatalf("blocks: code %d, %v: %s", code, err, out)
	}
	if blocks.File != page || blocks.MIMEType != "text/html" || len(blocks.Chunks) > 0 {
		t.Errorf("blocks: %s", out)
	}
	at := 0 // expected offset of the next block in the document's text
	seen := false
	for _, b := range blocks.Blocks {
		if b.Offset != at {
			t.Fatalf("the block %q has offset %d, want %d", b.Text, b.Offset, at)
		}
		at += len(b.Text) + 2
		if seen = seen || strings.Contains(b.Text, "NLX-2207"); strings.Contains(b.Text, "NLX-2207") && strings.Join(b.Path, "/") != "Support for Aurora pumps/Spare parts" {
			t.Errorf("the table stands under %q", b.Path)
		}
	}
	if !seen {
		t.Errorf("the table is missing: %s", out)
	}
	var chunks extracted
	out, _, code = ingestor("extract", "--format", "chunks", page)
	if err := json.Unmarshal([]byte(out), &chunks); err != nil || code != 0 || len(chunks.Chunks) == 0 || len(chunks.Blocks) > 0 {
		t.Fatalf("chunks: code %d, %v: %s", code, err, out)
	}
	if c := chunks.Chunks[0]; c.Heading == "" || c.Tokens == 0 || c.Text == "" {
		t.Errorf("the first chunk is %+v", c)
	}
	note := filepath.Join(t.TempDir(), "note.txt")
	if err := os.WriteFile(note, []byte("It has no title of its own."), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _, code = ingestor("extract", "--format", "chunks", note)
	if err := json.Unmarshal([]byte(out), &chunks); err != nil || code != 0 {
		t.Fatalf("chunks: code %d, %v: %s", code, err, out)
	}
	if c := chunks.Chunks[0]; c.Context != "note.txt" {
		t.Errorf("the context of an untitled file's chunk is %q, want its name, as ingestion has it", c.Context)
	}
}

func TestExtractSaysWhyAFileCannotBeRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	empty, torn := filepath.Join(dir, "empty.txt"), filepath.Join(dir, "torn.docx")
	for file, content := range map[string]string{empty: "", torn: "PK\x03\x04 and no more"} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	note := filepath.Join(documents, "histoire.txt")
	for name, c := range map[string]struct {
		args   []string
		code   int
		faults string // standard error must contain each line
		out    string // standard output must contain this
	}{
		"an empty file":          {[]string{empty}, 1, "sluice ingestor: " + empty + ": the file is empty", ""},
		"a file that is nowhere": {[]string{dir + "/none.pdf"}, 1, "sluice ingestor: " + dir + "/none.pdf: no such file or directory", ""},
		"a folder":               {[]string{dir}, 1, "sluice ingestor: " + dir + ": not a regular file", ""},
		"one of two":             {[]string{empty, note}, 1, "sluice ingestor: " + empty + ": the file is empty\nsluice ingestor: 1 of 2 files could not be read", "==> " + note + " <=="},
		"no file":                {nil, 2, "sluice ingestor: specify a file", ""},
		"an unknown format":      {[]string{"--format", "html", note}, 2, `sluice ingestor: --format "html": must be text, blocks or chunks`, ""},
		"a chunk of no size":     {[]string{"--chunk-tokens", "7", note}, 2, "sluice ingestor: --chunk-tokens is 7; it must be between 32 and 2048", ""},
		"a type that it is not":  {[]string{"--mime", "application/x-unheard", torn}, 1, "sluice ingestor: " + torn + ": ", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, faults, code := ingestor(append([]string{"extract"}, c.args...)...)
			if code != c.code || !strings.HasPrefix(faults, c.faults) || !strings.Contains(out, c.out) {
				t.Errorf("code %d, %q, %q", code, faults, out)
			}
			if lines := strings.Count(strings.TrimSpace(faults), "\n"); code == 1 && lines != strings.Count(c.faults, "\n") {
				t.Errorf("the cause takes %d lines more than it should: %q", lines, faults)
			}
		})
	}
	if out, faults, code := ingestor("extract", "--help"); code != 0 || !strings.HasPrefix(out, "usage: sluice ingestor extract") || faults != "" {
		t.Errorf("--help: code %d, %q, %q", code, out, faults)
	}
}
