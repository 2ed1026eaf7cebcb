package readtest

import (
	"archive/zip"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/format"
)

// Format fuzzes a format's reader. The seeds are `more`, plus the sample documents whose names end in `suffix`. Any
// input must yield an *Error or valid blocks.
func Format(f *testing.F, suffix string, more ...string) {
	files, err := filepath.Glob(filepath.Join(extracttest.Documents, "*"+suffix))
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
	f.Fuzz(func(t *testing.T, data []byte) { Check(t, "fuzz"+suffix, data) })
}

// Check parses a document, which may be invalid, and checks the result.
func Check(t *testing.T, name string, data []byte) {
	t.Helper()
	doc, err := Parse(t, name, data)
	switch {
	case err == nil:
		Blocks(t, doc)
	case format.KindOf(err) == "":
		t.Fatalf("error = %v, want an *Error", err)
	case errors.Is(err, format.ErrPanic):
		t.Fatalf("the parser panics: %v", err)
	}
}

// Damaged reads damaged copies of a document. Each must yield valid blocks or an *Error.
func Damaged(t *testing.T, name string, data []byte) {
	t.Helper()
	damage := extracttest.Damage{Seed: 7, Truncations: 12, Flips: 6, Numbers: 6, Inside: 6}
	for what, damaged := range damage.Cases(name, data) {
		t.Run(what, func(t *testing.T) { Check(t, name, damaged) })
	}
}

// Golden reads a document and compares it with the golden file, which it rewrites first if the -update flag is set.
func Golden(t *testing.T, name string, data []byte, golden string) {
	t.Helper()
	got := Render(MustParse(t, name, data))
	if *Update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
}

// Parts fuzzes some parts of the first sample document whose name ends in `suffix`. Each fuzzed part is packed with the
// document's other parts. Fuzzing the packed file would be useless, because hardly any input would get past the
// checksums.
func Parts(f *testing.F, suffix string, names ...string) {
	files, err := filepath.Glob(filepath.Join(extracttest.Documents, "*"+suffix))
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
			f.Fatalf("sample %s has no part %s", files[0], name)
		}
		f.Add(byte(i), []byte(parts[name]))
	}
	f.Fuzz(func(t *testing.T, which byte, data []byte) {
		changed := maps.Clone(parts)
		changed[names[int(which)%len(names)]] = string(data)
		Check(t, "fuzz"+suffix, extracttest.Zip(t, changed, 1))
	})
}

// Blocks checks that all blocks obey the contract of domain.Block.
func Blocks(t *testing.T, doc *domain.Document) {
	t.Helper()
	for i, b := range doc.Blocks {
		if strings.TrimSpace(b.Text) == "" || !utf8.ValidString(b.Text) || strings.ContainsRune(b.Text, 0) || len(b.Text) > format.MaxBlockBytes {
			t.Fatalf("block %d of %d violates the contract of domain.Block: %.200q", i, len(doc.Blocks), b.Text)
		}
		if b.Kind == domain.BlockHeading && (b.Level < 1 || b.Level > 6) {
			t.Fatalf("heading %q has level %d", b.Text, b.Level)
		}
	}
}
