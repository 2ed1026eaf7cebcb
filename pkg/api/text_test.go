package api_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/format"
)

// TestTheTextOfADatasourceIsThatOfItsDocument serves chunks from documents with tables, lists and long paragraphs.
// Ignoring white space between chunks, the text must equal the document's.
func TestTheTextOfADatasourceIsThatOfItsDocument(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"documents/price-list.xlsx", "documents/support.html", "documents/histoire.txt", "answers/tuning/vehicle-claim.pdf", "answers/tuning/staff-handbook.md", "answers/tuning/roof-estimate.txt"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join("../../testdata", name)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			doc, err := extract.Parse(t.Context(), format.Source{Data: bytes.NewReader(data), Size: int64(len(data)), Name: filepath.Base(path)}, format.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			var texts []string
			for _, b := range doc.Blocks {
				texts = append(texts, b.Text)
			}
			want := strings.Join(texts, domain.BlockSeparator)
			all, err := chunk.New(chunk.Options{TargetTokens: 6, MaxTokens: 20}).Chunks(doc)
			if err != nil {
				t.Fatal(err)
			}
			s := newScene(t)
			s.chunks.read = func(_ context.Context, _ domain.Datasource, from, limit int) ([]domain.Chunk, error) {
				return all[min(from, len(all)):min(from+limit, len(all))], nil
			}
			got := string(s.call("GET", "/datasources/"+s.datasource+"/text", nil).want(200).body)
			if len(got) != len(want) {
				t.Errorf("the text has %d bytes, want %d", len(got), len(want))
			}
			for i := range min(len(got), len(want)) {
				same := got[i] == want[i] || unicode.IsSpace(rune(got[i])) && unicode.IsSpace(rune(want[i]))
				if !same {
					t.Fatalf("at %d, the text is %.60q, want %.60q", i, got[i:], want[i:])
				}
			}
		})
	}
}
