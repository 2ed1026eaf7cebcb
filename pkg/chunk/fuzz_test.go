package chunk

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/domain"
)

// FuzzChunks splits documents made from the input: each run of bytes between \x1e is a block, whose first letter is its
// kind.
func FuzzChunks(f *testing.F) {
	f.Add("p"+prose(40)+"\x1eh2 Heading\x1etName\tAge\x1etBob\t3", 128, 200)
	f.Add("p"+strings.Repeat("水闸控制河水的流量。", 30), 16, 20)
	f.Add("c    if x {\n\n\n    }\n"+strings.Repeat("y\n", 300), 32, 32)
	f.Add("p👨‍👩‍👧‍👦é"+strings.Repeat("\u0301", 20_000)+strings.Repeat("é", 900), 10, 10)
	f.Add("lone\x1eltwo\x1el"+strings.Repeat("w", 3000)+"\x1ep   \x1ep"+strings.Repeat(" ", 20_000)+"x", 1, 1)
	f.Add("pOne."+strings.Repeat(")", 9000)+"\u0600two. Three.", 4, 4)
	f.Add("tA\tB\x1et"+strings.Repeat("1\t", 500)+"\x1etC\tD", 8, 9)
	f.Fuzz(func(t *testing.T, src string, target, limit int) {
		if !utf8.ValidString(src) || len(src) > 200_000 || target < 1 || target > 1000 || limit > 2000 {
			t.Skip()
		}
		doc := &domain.Document{Title: "T"}
		for line := range strings.SplitSeq(src, "\x1e") {
			if len(line) < 2 || line[0] >= utf8.RuneSelf || strings.TrimSpace(line[1:]) == "" {
				continue
			}
			b := domain.Block{Kind: domain.BlockParagraph, Text: line[1:]}
			switch line[0] {
			case 'h':
				b.Kind, b.Level = domain.BlockHeading, int(line[1]-'0')
			case 't':
				b.Kind = domain.BlockTableRow
			case 'c':
				b.Kind = domain.BlockCode
			case 'l':
				b.Kind = domain.BlockListItem
			}
			doc.Blocks = append(doc.Blocks, b)
		}
		opts := Options{TargetTokens: target, MaxTokens: limit}
		chunks, err := New(opts).Chunks(doc)
		if err != nil {
			t.Fatal(err)
		}
		checkInvariants(t, opts, doc, chunks)
	})
}
