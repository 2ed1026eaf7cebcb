package ingest

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract"
)

var update = flag.Bool("update", false, "write golden files anew")

// pipelineFile records each stage's version and a checksum of its output for fixed input.
const pipelineFile = "testdata/pipeline.golden"

// TestAChangedStageHasANewVersion fails if a stage's output has changed but its version hasn't. Otherwise, unchanged
// content would keep the rows from an older version of the program.
func TestAChangedStageHasANewVersion(t *testing.T) {
	t.Parallel()
	extracted, err := filepath.Glob("../extract/testdata/golden/*")
	if err != nil || len(extracted) < 12 {
		t.Fatalf("found %d golden files of extraction, error %v", len(extracted), err)
	}
	var documents, chunks, terms strings.Builder
	for _, path := range extracted {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&documents, "%s\n%s\n", filepath.Base(path), data)
		doc := &domain.Document{Title: filepath.Base(path)}
		for i, p := range strings.Split(string(data), "\n\n") {
			if p = strings.TrimSpace(p); p != "" {
				doc.Blocks = append(doc.Blocks, domain.Block{Kind: kinds[i%len(kinds)], Text: p, Level: 1 + i%3, Page: 1 + i/9})
			}
		}
		cut, err := chunk.New(chunk.Options{}).Chunks(doc)
		if err != nil {
			t.Fatal(err)
		}
		var words analysis.Analyzer
		for _, c := range cut {
			line, err := json.Marshal(c)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&chunks, "%s\n", line)
			fmt.Fprintln(&terms, words.Terms(c.Text, analysis.Detect(c.Text)))
		}
	}
	got := fmt.Sprintf("extract %d %x\nchunk %d %x\nanalysis %d %x\n",
		extract.Version, sha256.Sum256([]byte(documents.String())),
		chunk.Version, sha256.Sum256([]byte(chunks.String())),
		analysis.Version, sha256.Sum256([]byte(terms.String())))
	if *update {
		if err := os.WriteFile(pipelineFile, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(pipelineFile)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf(`a stage makes something else of the same content, or has another version (-recorded +now):
-%s+%s
Where its code has changed, raise the constant Version of its package: content that has not changed is read again only
then. Where only the samples have changed, leave it. Then record it with go test ./pkg/ingest -run Stage -update.`, want, got)
	}
}

var kinds = []domain.BlockKind{
	domain.BlockHeading, domain.BlockParagraph, domain.BlockListItem, domain.BlockTableRow, domain.BlockTableRow, domain.BlockCode,
}
