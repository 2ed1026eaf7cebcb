package docs_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/extract"
)

// TestFormatsAreThoseOfTheRegistry checks that the table and the upload description list the formats that Sluice can
// read.
func TestFormatsAreThoseOfTheRegistry(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("extraction.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "## Formats")
	table, _, _ = strings.Cut(table, "\n\nThe office formats before 2007")
	api, err := os.ReadFile("../pkg/api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, upload, _ := strings.Cut(string(api), "the uploaded file:")
	upload, _, _ = strings.Cut(upload, "type: {")
	upload = strings.Join(strings.Fields(upload), " ")
	short := regexp.MustCompile(`\((\w+)\)`)
	for _, f := range extract.Formats() {
		name := f.Label
		if m := short.FindStringSubmatch(name); m != nil {
			name = m[1]
		}
		if !regexp.MustCompile(`(?mi)^\| [^|]*\b` + regexp.QuoteMeta(name) + `\b`).MatchString(table) {
			t.Errorf("docs/extraction.md has no row for %s", f.Label)
		}
		if !strings.Contains(upload, f.Label) {
			t.Errorf("openapi.yaml does not name %s among uploaded files: %s", f.Label, upload)
		}
	}
}
