package chunk

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
)

func TestCaptionsOfTables(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before [2]string
		want   string
	}{
		"the end of an introduction": {[2]string{"", "We grew again. Revenue by region was as follows (in millions):"}, "Revenue by region was as follows (in millions)"},
		"a numbered caption":         {[2]string{"Text.", "Table 3. Sales by region, audited."}, "Table 3. Sales by region, audited."},
		"a title":                    {[2]string{"Text.", "Consolidated balance sheets"}, "Consolidated balance sheets"},
		"a title and its unit":       {[2]string{"Consolidated balance sheets", "(in thousands, except per share data)"}, "Consolidated balance sheets > (in thousands, except per share data)"},
		"a unit alone":               {[2]string{"This is text.", "(in Mio. €)"}, "(in Mio. €)"},
		"a Chinese caption":          {[2]string{"", "表 2 各地区收入"}, "表 2 各地区收入"},
		"no caption after a text":    {[2]string{"", "We sold the business in May."}, ""},
		"no caption at all":          {[2]string{"", ""}, ""},
		"no long paragraph":          {[2]string{"", strings.Repeat("word ", 200)}, ""},
	} {
		if got := captionOf(test.before); got != test.want {
			t.Errorf("%s: the caption is %q, want %q", name, got, test.want)
		}
	}
}

// clause returns a paragraph whose last sentence nearly fills a chunk.
func clause(start string) string {
	return start + strings.Repeat(" and the parties do in good time what it asks of them", 9) + "."
}

func TestEveryChunkOfATableHasItsCaptionAndGroup(t *testing.T) {
	t.Parallel()
	doc := &domain.Document{Title: "Report", Blocks: []domain.Block{heading(1, "Note 4"), para("Assets at the end of the year (in millions):"), row("Item\t2021\t2020"), row("Current assets:")}}
	for i := range 30 {
		doc.Blocks = append(doc.Blocks, row(fmt.Sprintf("Item: Account number %d; 2021: $1,234; 2020: (5,678)", i)))
	}
	doc.Blocks = append(doc.Blocks, row("Fixed assets:"))
	for i := range 30 {
		doc.Blocks = append(doc.Blocks, row(fmt.Sprintf("Item: Building %d; 2021: $1,234; 2020: (5,678)", i)))
	}
	doc.Blocks = append(doc.Blocks, para(clause("We own the buildings")))
	chunks := mustChunk(t, doc)
	checkInvariants(t, Options{}, doc, chunks)
	const section, caption = "Report > Note 4", "\nAssets at the end of the year (in millions)"
	groups := map[string]int{}
	for _, c := range chunks {
		if strings.Contains(c.Text, "We own") {
			continue
		}
		want := section + caption
		if strings.Contains(c.Text, "Assets at") { // the text already has the caption
			want = section
		}
		group, ok := strings.CutPrefix(c.Context, want)
		if !ok || strings.Contains(c.Text, "Fixed assets:") && group == " > Fixed assets" {
			t.Errorf("a chunk of the table has context %q", c.Context)
		}
		groups[group]++
		if c.Heading != "Note 4" {
			t.Errorf("a chunk of the table has heading %q", c.Heading)
		}
	}
	if len(chunks) < 8 || groups[" > Current assets"] < 2 || groups[" > Fixed assets"] < 2 {
		t.Errorf("%d chunks have groups %v", len(chunks), groups)
	}
	if last := chunks[len(chunks)-1]; last.Context != "Report > Note 4" {
		t.Errorf("the text after the table has context %q", last.Context)
	}
}

func TestTwoTablesHaveTheirOwnCaptions(t *testing.T) {
	t.Parallel()
	var c tableCaption
	var paths []string
	table := false
	for _, b := range []domain.Block{
		para("Sales:"), row("Region: North; Sales: 1"), row("Retail"), row("Region: South; Sales: 2"), para("Sales fell."),
		row("Region: North; Costs: 3"), para("Costs:"), row("(in millions)"), row("Region: South; Costs: 4"),
	} {
		isRow := b.Kind == domain.BlockTableRow
		c.enter(b, isRow && !table)
		table = isRow
		paths = append(paths, c.path)
	}
	want := []string{"", "Sales", "Sales > Retail", "Sales > Retail", "", "", "", "Costs > (in millions)", "Costs > (in millions)"}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Error(diff)
	}
}
