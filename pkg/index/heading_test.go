package index

import "testing"

func TestHeadingAnchorAndRunsAreStoredAsOneText(t *testing.T) {
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
		"runs":                       {Row{Heading: "A", Runs: "0"}, "A\x1e0"},
		"an anchor and runs":         {Row{Heading: "A", Anchor: "b", Runs: "0 1a,2"}, "A\x1fb\x1e0 1a,2"},
		"an anchor with a separator": {Row{Heading: "A", Anchor: "b\x1ec"}, "A\x1fb\x1ec\x1e"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := StoredHeading(&test.row); got != test.stored {
				t.Errorf("stored as %q, want %q", got, test.stored)
			}
			var read Row
			read.SetHeading(test.stored)
			if read.Heading != test.row.Heading || read.Anchor != test.row.Anchor || read.Runs != test.row.Runs {
				t.Errorf("read as %q, %q and %q, want %q, %q and %q", read.Heading, read.Anchor, read.Runs, test.row.Heading, test.row.Anchor, test.row.Runs)
			}
		})
	}
}
