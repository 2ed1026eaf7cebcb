package index

import "testing"

func TestHeadingAndAnchorAreStoredAsOneText(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		row    Row
		stored string
	}{
		"a heading without an anchor, as rows had it before": {Row{Heading: "A > B"}, "A > B"},
		"with an anchor":             {Row{Heading: "A > B", Anchor: "b"}, "A > B\x1fb"},
		"an anchor alone":            {Row{Anchor: "b"}, "\x1fb"},
		"neither":                    {Row{}, ""},
		"a heading with a separator": {Row{Heading: "A\x1fB"}, "A\x1fB\x1f"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := StoredHeading(&test.row); got != test.stored {
				t.Errorf("stored as %q, want %q", got, test.stored)
			}
			var read Row
			read.SetHeading(test.stored)
			if read.Heading != test.row.Heading || read.Anchor != test.row.Anchor {
				t.Errorf("read as %q and %q, want %q and %q", read.Heading, read.Anchor, test.row.Heading, test.row.Anchor)
			}
		})
	}
}
