package charset_test

import (
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/extract/readtest"
)

func TestForeignBytesAreNamedInAWarning(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("Größe und Höhe\n", 10_000) + "caf\xe9\n" + strings.Repeat("Größe und Höhe\n", 10_000)
	doc, err := readtest.Parse(t, "a.txt", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(doc.Warnings) != 1 || !strings.Contains(doc.Warnings[0], "except for 1 byte") {
		t.Errorf("warnings = %q", doc.Warnings)
	}
	if got := readtest.Lines(doc); !strings.Contains(got, "café") || strings.Count(got, "Größe und Höhe") != 20_000 {
		t.Errorf("read %.100q", got)
	}
}

func TestJSONIsUTF8(t *testing.T) {
	t.Parallel()
	doc, err := readtest.Parse(t, "a.json", []byte("[{\"name\":\"Jörg\"},{\"name\":\"Søren\",\"city\":\"K\xf6ln\"}]"))
	if err != nil {
		t.Fatal(err)
	}
	if got := readtest.Lines(doc); !strings.Contains(got, "Jörg") || !strings.Contains(got, "Köln") {
		t.Errorf("read %q", got)
	}
}
