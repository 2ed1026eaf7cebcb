package analysis_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/sluice/sluice/pkg/analysis"
)

func TestNormalLength(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"":                          0,
		"harbour":                   7,
		"\uFDFA":                    18,
		"\uFB01x":                   3, // the fi ligature
		"e\u0301":                   1,
		strings.Repeat("\u3300", 3): 12,
	} {
		if got := analysis.NormalLength(text, 1000); got != want || got != utf8.RuneCountInString(norm.NFKC.String(text)) {
			t.Errorf("%q has %d characters, want %d", text, got, want)
		}
		if got := analysis.NormalPrefix(text, want); got != text {
			t.Errorf("%q is cut to %q", text, got)
		}
	}
	for text, want := range map[string]string{"harbour": "harb", "\uFDFAx": "", "ab\u2474c": "ab", "ab\uFB01c": "ab\uFB01"} {
		if got := analysis.NormalPrefix(text, 4); got != want {
			t.Errorf("%q is cut to %q, want %q", text, got, want)
		}
	}
}

// TestEveryCharacterThatGrowsIsCounted tries every character that normalisation lengthens.
func TestEveryCharacterThatGrowsIsCounted(t *testing.T) {
	t.Parallel()
	growing := 0
	for r := range unicode.MaxRune + 1 {
		if !utf8.ValidRune(r) {
			continue
		}
		n := utf8.RuneCountInString(norm.NFKC.String(string(r)))
		if n == 1 {
			continue
		}
		growing++
		if got := analysis.NormalLength(strings.Repeat(string(r), 5), 10_000); got != 5*n {
			t.Errorf("%U five times has %d characters, want %d", r, got, 5*n)
		}
	}
	if growing < 500 {
		t.Errorf("%d characters grow", growing)
	}
}

func TestASuperscriptIsNoPartOfItsNumber(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"12.5²":    "12|5|12.5|2",
		"10⁶":      "10|6",
		"1,234⁽²⁾": "1|234|1234|2",
		"7ᵃ":       "7|a",
		"m²":       "m2",
		"x³y²":     "x3y2",
		"²":        "2",
	} {
		got := analysis.Terms(text, analysis.English)
		batch := new(analysis.Analyzer).Batch()
		_, _, counts := batch.Count(analysis.Part{Text: text, Weight: 1})
		var counted []string
		for _, c := range counts {
			counted = append(counted, batch.Terms()[c.Term])
		}
		if strings.Join(got, "|") != want || strings.Join(counted, "|") != want {
			t.Errorf("%s has terms %q and, in a batch, %q, want %q", text, got, counted, want)
		}
	}
}
