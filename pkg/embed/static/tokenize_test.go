package static

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// testdata/tokens.json contains the tokens that Hugging Face's tokenizer for all-MiniLM-L6-v2 returns for each text.
func TestTokensAreThoseOfTheReferenceTokeniser(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/tokens.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name, Text string
		Tokens     []string
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	entries := entriesOf(t)
	v := tableOf(t).words
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			got := make([]string, 0, len(c.Tokens))
			for _, p := range v.appendPieces(nil, c.Text, maxTokens) {
				if p.id == unknown {
					got = append(got, "[UNK]")
				} else {
					got = append(got, entries[p.id])
				}
			}
			if diff := cmp.Diff(c.Tokens, got); diff != "" {
				t.Errorf("tokens of %q (-reference +ours):\n%s", c.Text, diff)
			}
		})
	}
}

func TestNamesOfSpecialTokensAreOnlyText(t *testing.T) {
	t.Parallel()
	entries := entriesOf(t)
	for _, p := range tableOf(t).words.appendPieces(nil, "[CLS] [SEP] [MASK] [PAD] [UNK] <|endoftext|>", maxTokens) {
		if p.id != unknown && isSpecial(entries[p.id]) {
			t.Errorf("text became the special token %q", entries[p.id])
		}
	}
}

func TestTextsAreCutAtTheLimitOfTokens(t *testing.T) {
	t.Parallel()
	v := tableOf(t).words
	if got := len(v.appendPieces(nil, strings.Repeat("hyperparameters ", 50), 7)); got != 7 {
		t.Errorf("got %d tokens, want 7", got)
	}
	// maxTextBytes falls in the middle of a three-byte character.
	long := "x" + strings.Repeat("中", maxTextBytes)
	for _, p := range v.appendPieces(nil, long, maxTextBytes)[1:] {
		if p.runes != 1 {
			t.Fatalf("a piece of %d characters, want 1", p.runes)
		}
	}
}

func FuzzTokenise(f *testing.F) {
	for _, seed := range []string{"", "The quick brown fox", "Café 中文 한국어", "\xff\xfe", strings.Repeat("a", 101), "e\u0301\u0301"} {
		f.Add(seed)
	}
	t, err := load()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(test *testing.T, text string) {
		const limit = 64
		pieces := t.words.appendPieces(nil, text, limit)
		if len(pieces) > limit {
			test.Fatalf("%d pieces, limit %d", len(pieces), limit)
		}
		for i, p := range pieces {
			if p.id != unknown && (p.id < 0 || int(p.id) >= len(t.weights)) {
				test.Fatalf("piece %d has id %d", i, p.id)
			}
			if p.runes <= 0 || p.id != unknown && p.runes > maxWordRunes {
				test.Fatalf("piece %d stands for %d characters", i, p.runes)
			}
			if i == 0 && p.continues {
				test.Fatal("the first piece continues a word")
			}
		}
		if again := t.words.appendPieces(nil, text, limit); !cmp.Equal(pieces, again, cmp.AllowUnexported(piece{})) {
			test.Fatal("the same text gave other pieces")
		}
		if !utf8.ValidString(text) {
			return
		}
		// White space around a text must not change its tokens.
		if padded := t.words.appendPieces(nil, " "+text+"\n", limit); !cmp.Equal(pieces, padded, cmp.AllowUnexported(piece{})) {
			test.Fatal("blanks around the text gave other pieces")
		}
	})
}
