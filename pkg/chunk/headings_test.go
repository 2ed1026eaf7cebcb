package chunk

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
)

// TestHeadingsStayWithTheirText compares each chunk as "heading path | text".
func TestHeadingsStayWithTheirText(t *testing.T) {
	t.Parallel()
	inSheet := func(sheet, text string) domain.Block {
		return domain.Block{Kind: domain.BlockTableRow, Text: text, Sheet: sheet}
	}
	words := func(n int) string { return strings.TrimSpace(strings.Repeat("gate ", n)) }
	tests := map[string]struct {
		blocks []domain.Block
		want   []string
	}{
		"the name of a sheet goes with the sheet's rows": {
			[]domain.Block{heading(1, "Prices"), inSheet("Prices", "Tool\tPrice"), inSheet("Prices", "Spade\t12"),
				heading(1, "Discounts"), inSheet("Discounts", "Customer\tDiscount"), inSheet("Discounts", "Ann\t3")},
			[]string{"Prices | Prices\n\nTool\tPrice\nSpade\t12", "Discounts | Discounts\n\nCustomer\tDiscount\nAnn\t3"},
		},
		"a sentence that leaves no room for its heading is divided": {
			[]domain.Block{heading(1, "Opening"), para(words(199))},
			[]string{"Opening | Opening\n\n" + words(100), "Opening | " + words(99)},
		},
		"a row that leaves no room for its heading is divided": {
			[]domain.Block{heading(1, "Opening"), row("gates: " + words(198))},
			[]string{"Opening | Opening\n\ngates: " + words(98), "Opening | " + words(100)},
		},
		"a heading that ends the document stands with what comes before": {
			[]domain.Block{heading(1, "Opening"), para(words(60)), heading(1, "Closing"), heading(2, "By hand")},
			[]string{"Opening | Opening\n\n" + words(60) + "\n\nClosing\n\nBy hand"},
		},
		"a heading behind a small section moves on with a text that has no room there": {
			[]domain.Block{heading(1, "A"), para(words(20)), heading(1, "B"), heading(2, "C"), para(words(190))},
			[]string{"A | A\n\n" + words(20), "B > C | B\n\nC\n\n" + words(190)},
		},
		"a heading at the foot of a page moves on to the next page's text": {
			[]domain.Block{{Kind: domain.BlockParagraph, Text: words(20), Page: 1}, {Kind: domain.BlockHeading, Text: words(60), Level: 1, Page: 1},
				{Kind: domain.BlockParagraph, Text: "Open.", Page: 2}},
			[]string{" | " + words(20), words(40) + " | " + words(60) + "\n\nOpen."},
		},
		"a document of headings alone is kept": {
			[]domain.Block{heading(1, "Opening"), heading(1, "Closing")},
			[]string{"Closing | Opening\n\nClosing"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := &domain.Document{Blocks: tt.blocks}
			chunks := mustChunk(t, doc)
			checkInvariants(t, Options{}, doc, chunks)
			var got []string
			for _, c := range chunks {
				got = append(got, fmt.Sprintf("%s | %s", c.Heading, c.Text))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("chunks (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNoChunkIsAHeadingAlone splits documents of many shapes, with sections of up to several chunks, one or two heading
// levels, and sheets, pages or neither.
func TestNoChunkIsAHeadingAlone(t *testing.T) {
	t.Parallel()
	for place := range 3 {
		for length := 1; length < 420; length += 7 {
			doc := &domain.Document{}
			for section := range 6 {
				body := domain.Block{Kind: []domain.BlockKind{domain.BlockParagraph, domain.BlockTableRow, domain.BlockCode}[section%3],
					Text: strings.TrimSpace(strings.Repeat("gate ", length+section*31%50))}
				head := heading(1, fmt.Sprintf("Heading %d", section))
				switch place {
				case 1:
					body.Sheet = head.Text
				case 2:
					head.Page, body.Page = section, section+1
				}
				doc.Blocks = append(doc.Blocks, head)
				if section%2 == 0 && place != 1 {
					doc.Blocks = append(doc.Blocks, heading(2, "Heading below"))
				}
				doc.Blocks = append(doc.Blocks, body)
			}
			chunks := mustChunk(t, doc)
			checkInvariants(t, Options{}, doc, chunks)
			for _, c := range chunks {
				if !strings.Contains(c.Text, "gate") {
					t.Errorf("place %d, length %d: chunk %d is %q", place, length, c.Ordinal, c.Text)
				}
				if lines := strings.Split(c.Text, "\n"); strings.HasPrefix(lines[len(lines)-1], "Heading") {
					t.Errorf("place %d, length %d: chunk %d ends with a heading: %q", place, length, c.Ordinal, c.Text)
				}
			}
		}
	}
}

func TestChunksHaveTheAnchorOfTheirHeading(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("Some words that fill a chunk of their own. ", 12)
	heading := func(level int, text, anchor string) domain.Block {
		return domain.Block{Kind: domain.BlockHeading, Level: level, Text: text, Anchor: anchor}
	}
	chunks, err := New(Options{}).Chunks(&domain.Document{Blocks: []domain.Block{
		{Kind: domain.BlockParagraph, Text: text},
		heading(1, "All", "all"), {Kind: domain.BlockParagraph, Text: text},
		heading(2, "Same", "first"), {Kind: domain.BlockParagraph, Text: text},
		heading(2, "Same", "second"), {Kind: domain.BlockParagraph, Text: text},
		heading(2, "None", ""), {Kind: domain.BlockParagraph, Text: text},
		heading(2, "Terms", "terms"), {Kind: domain.BlockParagraph, Text: "Before."}, {Kind: domain.BlockParagraph, Text: text, Anchor: "term"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range chunks {
		if at := c.Heading + "#" + c.Anchor; len(got) == 0 || got[len(got)-1] != at {
			got = append(got, at)
		}
	}
	if diff := cmp.Diff([]string{"#", "All#all", "All > Same#first", "All > Same#second", "All > None#", "All > Terms#term"}, got); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
}
