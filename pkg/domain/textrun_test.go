package domain

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A chunk that repeats a table's header, and the document containing the table.
const (
	tableText     = "Part\tPrice\nSeal\t4\nValve\t9"
	tableDocument = "Prices\n\nPart\tPrice\n\nPump\t90\n\nSeal\t4\n\nValve\t9"
)

func tableRuns() TextRuns {
	var r TextRuns
	r.Add(0, 8)   // the header
	r.Add(11, 29) // the row for Seal
	r.Add(18, 37) // the row for Valve
	return r.End(len(tableText))
}

func TestTextIsLocatedInTheDocument(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		in   TextRange
		want []string
	}{
		"the header":           {TextRange{0, 10}, []string{"Part\tPrice"}},
		"a row":                {TextRange{11, 17}, []string{"Seal\t4"}},
		"adjacent rows":        {TextRange{11, 25}, []string{"Seal\t4\n\nValve\t9"}},
		"a header and its row": {TextRange{5, 16}, []string{"Price", "Seal"}},
		"only a line break":    {TextRange{10, 11}, nil},
		"more than there is":   {TextRange{18, 99}, []string{"Valve\t9"}},
		"nothing":              {TextRange{3, 3}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, l := range tableRuns().Locate(tableText, test.in) {
				got = append(got, tableDocument[l.Document.Start:l.Document.End])
				if l.Text != got[len(got)-1] {
					t.Errorf("the text is %q, the document has %q", l.Text, got[len(got)-1])
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("located at %q, want %q", got, test.want)
			}
		})
	}
	if got := (TextRuns)(nil).Locate(tableText, TextRange{0, 5}); got != nil {
		t.Errorf("text without runs is located at %v", got)
	}
}

func TestRunsAreStoredAsText(t *testing.T) {
	t.Parallel()
	runs := tableRuns()
	encoded := runs.Encode(29)
	if diff := cmp.Diff(runs, DecodeTextRuns(encoded, 29, len(tableText))); diff != "" {
		t.Errorf("%q: %s", encoded, diff)
	}
	if got := (TextRuns)(nil).Encode(5); got != "" || DecodeTextRuns("", 5, 9) != nil {
		t.Errorf("unknown runs are stored as %q", got)
	}
	var many TextRuns
	for i := range 100_000 {
		many.Add(2*i, 3*i)
	}
	if got := many.End(200_000).Encode(0); got != "" {
		t.Errorf("too many runs are stored in %d bytes", len(got))
	}
}

func FuzzDecodeTextRuns(f *testing.F) {
	f.Add("0 a,1 7", 29, 25)
	f.Add("0,-l b,a 7", 29, 25)
	f.Add("zzzzzz,zzzzzzzzzzzz", math.MaxInt, 5)
	f.Fuzz(func(t *testing.T, encoded string, offset, length int) {
		length = min(max(length, 0), MaxChunkBytes)
		at := 0
		for _, r := range DecodeTextRuns(encoded, max(offset, 0), length) {
			if r.Text < at || r.Length <= 0 || r.Text+r.Length > length || r.Document < 0 {
				t.Fatalf("the run %+v of %q is outside the text of %d bytes", r, encoded, length)
			}
			at = r.Text + r.Length
		}
	})
}
