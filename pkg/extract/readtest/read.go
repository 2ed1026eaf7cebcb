// Package readtest reads documents in tests and checks the results. It imports package extract, so format packages can
// use it only in external test packages.
package readtest

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/lists"
)

// Lines returns a document's blocks, one per line: "heading 1 on 2 row 3 at 00:01:00: text <link=address>" gives the
// kind and level, page, row, time, text and links. Missing values are omitted.
func Lines(doc *domain.Document) string {
	var b strings.Builder
	for i, bl := range doc.Blocks {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(string(bl.Kind))
		if bl.Level > 0 {
			fmt.Fprintf(&b, " %d", bl.Level)
		}
		if bl.Page > 0 {
			fmt.Fprintf(&b, " on %d", bl.Page)
		}
		if bl.Row > 0 {
			fmt.Fprintf(&b, " row %d", bl.Row)
		}
		if bl.Time != "" {
			fmt.Fprintf(&b, " at %s", bl.Time)
		}
		fmt.Fprintf(&b, ": %s", bl.Text)
		for _, l := range bl.Links {
			fmt.Fprintf(&b, " <%s=%s>", l.Text, l.URL)
		}
	}
	return b.String()
}

// Update makes tests write golden files instead of comparing results with them.
var Update = flag.Bool("update", false, "write the golden files again")

// Render writes a document in a form that makes structural changes visible.
func Render(doc *domain.Document) string {
	var b strings.Builder
	fmt.Fprintf(&b, "title: %s\ntype: %s\nlanguage: %s\npages: %d\nroute: %s\n", doc.Title, doc.MIMEType, doc.Language, doc.Pages, doc.Route)
	for _, w := range doc.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	for _, bl := range doc.Blocks {
		fmt.Fprintf(&b, "\n[%s", bl.Kind)
		if bl.Level > 0 {
			fmt.Fprintf(&b, " %d", bl.Level)
		}
		if bl.Page > 0 {
			fmt.Fprintf(&b, " page %d", bl.Page)
		}
		if bl.Sheet != "" {
			fmt.Fprintf(&b, " sheet %s", bl.Sheet)
		}
		if bl.Time != "" {
			fmt.Fprintf(&b, " at %s", bl.Time)
		}
		fmt.Fprintf(&b, "] %s\n", bl.Text)
	}
	return b.String()
}

// Parse reads a document in the test's own process.
func Parse(t testing.TB, name string, data []byte) (*domain.Document, error) {
	t.Helper()
	return extract.Parse(context.Background(), format.Source{Data: bytes.NewReader(data), Size: int64(len(data)), Name: name}, format.Limits{CacheDir: extracttest.Compiled})
}

// Office returns a document's blocks in the form "kind level: text <link address>".
func Office(doc *domain.Document) []string {
	var lines []string
	for _, b := range doc.Blocks {
		line := string(b.Kind)
		if b.Level > 0 {
			line += fmt.Sprintf(" %d", b.Level)
		}
		line += ": " + b.Text
		for _, l := range b.Links {
			line += fmt.Sprintf(" <%s %s>", l.Text, l.URL)
		}
		lines = append(lines, line)
	}
	return lines
}

// MustParse reads a document and fails the test on an error.
func MustParse(t *testing.T, name string, data []byte) *domain.Document {
	t.Helper()
	doc, err := Parse(t, name, data)
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	return doc
}

// Text returns the texts of a document's blocks, joined by spaces.
func Text(doc *domain.Document) string {
	texts := lists.Map(doc.Blocks, func(b domain.Block) string { return b.Text })
	return strings.Join(texts, " ")
}
