package transformer

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestSegmentsMakeUpTheTextAndKeepCharactersWhole(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"short":                     "the cat",
		"words":                     strings.Repeat("the cat é ", 5000),
		"no space":                  strings.Repeat("中", 200_000),
		"nothing but broken":        strings.Repeat("\x80", 600_000),
		"a space after much of one": strings.Repeat("é", 100_000) + " " + strings.Repeat("x", 10_000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var all strings.Builder
			for rest := text; rest != ""; {
				part, next := cutSegment(rest)
				if part == "" || len(part) > 65*segment {
					t.Fatalf("a segment of %d bytes", len(part))
				}
				if utf8.ValidString(text) && !utf8.ValidString(part) {
					t.Fatal("a character is cut")
				}
				all.WriteString(part)
				rest = next
			}
			if all.String() != text {
				t.Error("the segments do not make up the text")
			}
		})
	}
}

func TestTextsOfAnySizeAreTokenisedToTheLimit(t *testing.T) {
	t.Parallel()
	for name, m := range tinyModels {
		e := mustOpen(t, Config{}, m, nil)
		for _, text := range []string{strings.Repeat("the cat ", 200_000), strings.Repeat("a", 2_000_000), strings.Repeat("中", 500_000), strings.Repeat("\xe4", 1_000_000)} {
			if tokens := e.tokenizer.tokens(text, 10); len(tokens) > 10 || len(tokens) < e.tokenizer.special() {
				t.Errorf("%s: %d tokens of %.20q…", name, len(tokens), text)
			}
		}
	}
}
