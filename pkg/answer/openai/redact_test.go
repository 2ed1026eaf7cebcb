package openai

import (
	"errors"
	"strings"
	"testing"
)

func TestTheKeyIsTakenOutOfAnErrorBeforeItsTextIsCut(t *testing.T) {
	t.Parallel()
	const key = "sk-very-secret"
	p := &Provider{opts: Options{APIKey: key}}
	for before := 970; before <= 1010; before++ {
		text := p.redacted(errors.New(strings.Repeat("x", before) + key)).Error()
		if strings.Contains(text, key[:4]) {
			t.Fatalf("with %d characters before it, the key shows as %q", before, text[before:])
		}
	}
}
