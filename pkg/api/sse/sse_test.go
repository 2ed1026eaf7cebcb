package sse

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/answer/lineends"
)

// FuzzPieces splits a text at arbitrary positions. The client drops an event's first line if it is empty, but must
// still receive the whole text, with normalised line breaks.
func FuzzPieces(f *testing.F) {
	for _, text := range []string{"", "a\r\nb", "\n\na\n\n\nb\n", "日本\r語\ufeff", "[DONE]", "[ERROR] x", "\r\r\n\n a", "a\xff\xe6\x97"} {
		f.Add(text, uint8(1), uint8(2))
	}
	f.Fuzz(func(t *testing.T, text string, first, second uint8) {
		var clean lineends.Normalizer
		var got strings.Builder
		writer := TokenWriter{Buffer: true, Send: func(piece string) error {
			if piece == "" || piece[0] == '\n' || piece == "[DONE]" || strings.HasPrefix(piece, "[ERROR]") || strings.ContainsAny(piece, "\r\ufeff") || !utf8.ValidString(piece) {
				t.Errorf("a client would not give back %q", piece)
			}
			got.WriteString(piece)
			return nil
		}}
		rest := text
		for n := 0; rest != ""; n++ {
			size := int(first)
			if n%2 == 1 {
				size = int(second)
			}
			size = min(max(size, 1), len(rest))
			if err := writer.Write(clean.Next(rest[:size])); err != nil {
				t.Fatal(err)
			}
			rest = rest[size:]
		}
		if err := writer.Write(clean.Close()); err != nil {
			t.Fatal(err)
		}
		if err := writer.Close(); err != nil {
			t.Fatal(err)
		}
		if want := lineends.Normalize(text); got.String() != want {
			t.Errorf("%q, want %q", got.String(), want)
		}
	})
}
