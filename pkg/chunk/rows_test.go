package chunk_test

import (
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/domain"
)

func TestAChunkOfSubtitlesIsLocatedByItsTime(t *testing.T) {
	t.Parallel()
	words := strings.Repeat("many words are said here. ", 8)
	doc := &domain.Document{Title: "Talk", Blocks: []domain.Block{
		{Kind: domain.BlockParagraph, Text: words, Time: "00:00:00"},
		{Kind: domain.BlockParagraph, Text: words, Time: "00:12:31"},
		{Kind: domain.BlockParagraph, Text: "The end.", Time: "00:12:50"},
	}}
	chunks, err := chunk.New(chunk.Options{TargetTokens: 55, MaxTokens: 80}).Chunks(doc)
	if err != nil {
		t.Fatal(err)
	}
	if len(chunks) != 2 {
		t.Fatalf("%d chunks, want 2: %+v", len(chunks), chunks)
	}
	for i, want := range []string{"00:00:00", "00:12:31"} {
		if chunks[i].Heading != want || chunks[i].Anchor != "t="+want || chunks[i].Context != "Talk" {
			t.Errorf("chunk %d has heading %q, anchor %q, context %q, want time %s", i, chunks[i].Heading, chunks[i].Anchor, chunks[i].Context, want)
		}
	}
}
