package html_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

// renderPage writes a page for a golden file: its metadata, warnings, blocks and links.
func renderPage(doc *domain.Document) string {
	var b strings.Builder
	fmt.Fprintf(&b, "title: %s\nlanguage: %s\nroute: %s\n", doc.Title, doc.Language, doc.Route)
	for _, k := range slices.Sorted(maps.Keys(doc.Metadata)) {
		fmt.Fprintf(&b, "%s: %s\n", k, doc.Metadata[k])
	}
	for _, w := range doc.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	for _, bl := range doc.Blocks {
		fmt.Fprintf(&b, "\n[%s", bl.Kind)
		if bl.Level > 0 {
			fmt.Fprintf(&b, " %d", bl.Level)
		}
		fmt.Fprintf(&b, "] %s\n", bl.Text)
		for _, l := range bl.Links {
			fmt.Fprintf(&b, "    -> %s: %s\n", l.Text, l.URL)
		}
	}
	return b.String()
}

// TestPages compares extracted pages with golden files. The pages use the markup of the software behind most
// documentation, shops, forums, wikis and news sites.
func TestPages(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/html/*.html")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d pages, error %v", len(files), err)
	}
	// Boilerplate that must not be in the result.
	surroundings := []string{
		"Accept all", "Skip to", "Edit this page", "Subscribe to", "ll rights reserved", "Copy", "Share", "cookie", "Log in", "Previous", "Jump to",
		"You may also like", "Related", "Most read", "Breaking", "[edit]", "[source]", "¶", "§", "Powered by", "Permanent link", "Categories",
		"Random article", "Inhaltsverzeichnis", "hilfreich", "よくある質問", "関連記事", "شارك", "ذات صلة", "Articles récents", "Suivant", "Imprint", "2 Likes",
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			name := filepath.Base(file)
			doc, err := extract.Parse(context.Background(), format.Source{
				Data: bytes.NewReader(data), Size: int64(len(data)), Name: name, URL: "https://site.example/pages/" + name,
			}, format.Limits{})
			if err != nil {
				t.Fatalf("Parse: %v", err)
			}
			readtest.Blocks(t, doc)
			got := renderPage(doc)
			for _, b := range doc.Blocks {
				for _, s := range surroundings {
					if strings.Contains(b.Text, s) {
						t.Errorf("%q surrounds the content and was read: %s", s, b.Text)
					}
				}
			}
			golden := strings.TrimSuffix(file, ".html") + ".golden"
			if *readtest.Update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("the page is read differently (-want +got):\n%s", diff)
			}
		})
	}
}
