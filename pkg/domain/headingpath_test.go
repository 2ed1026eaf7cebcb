package domain

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHeadingPathAnchor(t *testing.T) {
	t.Parallel()
	heading := func(level int, anchor string) Block {
		return Block{Kind: BlockHeading, Level: level, Text: "heading", Anchor: anchor}
	}
	for name, test := range map[string]struct {
		blocks []Block
		want   string
	}{
		"none without headings":                     {nil, ""},
		"that of the innermost heading":             {[]Block{heading(1, "a"), heading(2, "b")}, "b"},
		"else that of the heading around it":        {[]Block{heading(1, "a"), heading(2, "b"), heading(3, "")}, "b"},
		"not that of the title around it":           {[]Block{heading(1, "a"), heading(2, "")}, ""},
		"that of the title below which text stands": {[]Block{heading(1, "a")}, "a"},
		"not that of a heading that has ended":      {[]Block{heading(1, "a"), heading(2, "b"), heading(2, "")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var p HeadingPath
			for _, b := range test.blocks {
				p.Enter(b)
			}
			if got := p.Anchor(); got != test.want {
				t.Errorf("the anchor is %q, want %q", got, test.want)
			}
		})
	}
}

func TestHeadingPath(t *testing.T) {
	t.Parallel()
	heading := func(level int, text string) Block { return Block{Kind: BlockHeading, Level: level, Text: text} }
	text := Block{Kind: BlockParagraph, Text: "text"}
	for name, test := range map[string]struct {
		blocks []Block
		path   []string
		above  []string
	}{
		"text without headings has no path":                    {blocks: []Block{text}},
		"text stands below the headings before it":             {[]Block{heading(1, "a"), heading(2, "b"), text}, []string{"a", "b"}, []string{"a", "b"}},
		"a heading stands below those above it":                {[]Block{heading(1, "a"), heading(2, "b")}, []string{"a", "b"}, []string{"a"}},
		"a heading ends deeper ones and its own level":         {[]Block{heading(1, "a"), heading(3, "b"), heading(2, "c"), text}, []string{"a", "c"}, []string{"a", "c"}},
		"levels out of range are the nearest in range":         {[]Block{heading(0, "a"), heading(9, "b"), text}, []string{"a", "b"}, []string{"a", "b"}},
		"another sheet begins anew, and leads its path":        {[]Block{heading(1, "a"), {Kind: BlockTableRow, Sheet: "S", Text: "r"}}, []string{"S"}, []string{"S"}},
		"a heading that is the sheet's name is not told twice": {[]Block{{Kind: BlockHeading, Level: 1, Sheet: "S", Text: "S"}, {Kind: BlockTableRow, Sheet: "S", Text: "r"}}, []string{"S"}, []string{"S"}},
		"a block apart stands below no heading before it":      {[]Block{heading(1, "a"), {Kind: BlockParagraph, Text: "b", Apart: true}}, nil, nil},
		"text after a block apart stands as it does":           {[]Block{heading(1, "a"), {Kind: BlockParagraph, Text: "b", Apart: true}, text}, nil, nil},
		"a first heading on a sheet stands below the sheet":    {[]Block{{Kind: BlockHeading, Level: 1, Sheet: "S", Text: "h"}}, []string{"S", "h"}, []string{"S"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var p HeadingPath
			for _, b := range test.blocks {
				p.Enter(b)
			}
			if diff := cmp.Diff(test.path, p.Path()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.above, p.Parents(test.blocks[len(test.blocks)-1])); diff != "" {
				t.Error(diff)
			}
		})
	}
}
