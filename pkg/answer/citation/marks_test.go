package citation

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/domain"
)

func TestCodeOfDocumentsKeepsItsSubscripts(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"As shown in [7], the gate [1, 2] opens at dawn[3].": "As shown in (7), the gate (1, 2) opens at dawn(3).",
		"Read sys.argv[1] and m[1][2] or row[0] = 5.":        "Read sys.argv[1] and m[1][2] or row[0] = 5.",
		"Use `rows[1]` [2].":                                 "Use `rows[1]` (2).",
		"```\nprint([1])\n```\nSee [1].":                     "```\nprint([1])\n```\nSee (1).",
		"Example:\n\n    rows[1]\n\nSee rows [1].":           "Example:\n\n    rows[1]\n\nSee rows (1).",
		"The interval is [0,1] or [1, 2]. See pages [3-5].":  "The interval is [0,1] or (1, 2). See pages [3-5].",
		"Use items[1] after items[0], or v[i] and v[7] [8].": "Use items[1] after items[0], or v[i] and v[7] (8).",
		"By [document 2], [^3] and 【1†source】 at noon ［２］.":  "By (document 2), (^3) and (1†source) at noon (２).",
		"水闸【3】打开[4]。":                                        "水闸(3)打开(4)。",
	} {
		if got := Neutral(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func TestQuotationsLoseTheMarksOfDocuments(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"As shown in [7], the gate [1, 2] opens at dawn[3].": "As shown in, the gate opens at dawn.",
		"Use items[0] in the interval [0,1] of m[0][1].":     "Use items[0] in the interval [0,1] of m[0][1].",
		"a\t[3]\tb": "a\tb",
	} {
		if got := Remove(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func TestEarlierAnswersLoseOnlyTheirOwnCitations(t *testing.T) {
	t.Parallel()
	const in = "Use cells[5] of pages [3-5] at dawn [1]."
	if got, want := Without(in, 1), "Use cells[5] of pages [3-5] at dawn."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := Without("At dawn [7].", -1), "At dawn."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// textParts are building blocks for texts without citation markers, some of them with brackets.
var textParts = []string{
	" ", "  ", "\n", "\n\n    ", "\t", "a", "the gate", "At dawn.", "x", "pages", "=", "`", "```\n", "~~~\n", "*", "(", ")", "!", "#", "-",
	"[0,1]", "[0]", "items[0]", "m[0][0]", "[0-9]", "[a]", "[2024]", "[1.5]", "[-1]", "[x, 1]", "[ ]", "[[", "]]", "[", "]", "【", "】", "［", "］",
	"2", "17", "1999", ",", ";", "–", "^", "†", "document", "größe", "水闸", "🎉", "\xff", "\xe3\x80", "\r\n",
}

// maybeMark matches everything that could be a citation marker, and more.
var maybeMark = regexp.MustCompile(`(?s)[\[【［][^\[【［\]】］]{0,70}[0-9０-９][^\[【［\]】］]{0,70}[\]】］]`)

// notMarks matches the textParts that look like citation markers.
var notMarks = regexp.MustCompile(`\[(?:0,1|0|0-9|2024|1\.5|-1|x, 1)\]`)

func TestTextWithoutMarksPasses(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(31, 5))
	passed := 0
	for range 20_000 {
		var text strings.Builder
		for range 1 + random.IntN(30) {
			text.WriteString(textParts[random.IntN(len(textParts))])
		}
		in := text.String()
		if maybeMark.MatchString(notMarks.ReplaceAllString(in, "")) {
			continue
		}
		passed++
		checkUnchanged(t, in, random.IntN(12), func(rest string) int { return 1 + random.IntN(min(len(rest), 9)) })
	}
	if passed < 1000 {
		t.Fatalf("only %d texts without marks were tested", passed)
	}
}

func FuzzTextWithoutMarks(f *testing.F) {
	f.Add("The interval is [0,1], items[0] and `x[i]`", uint8(3), uint8(2))
	f.Add("pages [x-5] 【a】 \xff [", uint8(1), uint8(0))
	f.Fuzz(func(t *testing.T, in string, size, given uint8) {
		if maybeMark.MatchString(in) {
			return
		}
		checkUnchanged(t, in, int(given), func(rest string) int { return min(int(size)+1, len(rest)) })
	})
}

// checkUnchanged checks that text without citation markers passes unchanged through Neutral, Remove, and a Delivery
// that receives it piecemeal.
func checkUnchanged(t *testing.T, in string, given int, next func(rest string) int) {
	t.Helper()
	for name, got := range map[string]string{"Neutral": Neutral(in), "Remove": Remove(in)} {
		if got != in {
			t.Fatalf("%s: %q became %q", name, in, got)
		}
	}
	if got, want := Without(in, given), strings.TrimSpace(in); got != want {
		t.Fatalf("Without: %q became %q", want, got)
	}
	var streamed strings.Builder
	d := NewDelivery(chat.Prompt{Fragments: make([]domain.Fragment, given)}, func(piece string) error {
		streamed.WriteString(piece)
		return nil
	})
	if strings.ContainsAny(in, "<:/&%@.!") || strings.Contains(in, "](") {
		d.links = nil // the text may contain links, images or tags
	}
	for rest := in; rest != ""; {
		n := next(rest)
		if err := d.Write(rest[:n]); err != nil {
			t.Fatal(err)
		}
		rest = rest[n:]
	}
	if err := d.Finish(); err != nil {
		t.Fatal(err)
	}
	if streamed.String() != in || d.Text.String() != in {
		t.Fatalf("%q was streamed as %q, text %q", in, streamed.String(), d.Text.String())
	}
}
