package cl100k

import (
	"strings"
	"testing"
)

// The tokens in these tests were computed with tiktoken 0.14.

func TestTokensBecomeTheirText(t *testing.T) {
	t.Parallel()
	for text, tokens := range map[string][]int{
		"": nil,
		"The pump has a warranty of thirty months.": {791, 14155, 706, 264, 8642, 315, 27219, 4038, 13},
		"Größe 😀 ポンプの保証":                            {6600, 80040, 91416, 21370, 251, 16073, 57326, 16144, 33563, 29245, 120},
	} {
		got, err := Decode(tokens)
		if err != nil || got != text {
			t.Errorf("%v is %q, %v; want %q", tokens, got, err, text)
		}
	}
}

func TestIncompleteCharactersAreLeftOut(t *testing.T) {
	t.Parallel()
	got, err := Decode([]int{251, 791, 14155, 21370}) // the second half of a character, and the first half of another
	if err != nil || got != "The pump " && got != "The pump" {
		t.Errorf("text %q, error %v", got, err)
	}
}

func TestTokensThatDoNotExistAreRejected(t *testing.T) {
	t.Parallel()
	for _, token := range []int{-1, Size, 100_257, 1 << 40} {
		if _, err := Decode([]int{791, token}); err == nil || !strings.Contains(err.Error(), "the token at index 1 is ") {
			t.Errorf("token %d: error %v", token, err)
		}
	}
	if _, err := Decode([]int{0, Size - 1}); err != nil {
		t.Error(err)
	}
}
