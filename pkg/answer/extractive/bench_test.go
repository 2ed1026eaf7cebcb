package extractive

import (
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/embed/static"
)

func BenchmarkExtractive(b *testing.B) {
	words, err := static.New()
	if err != nil {
		b.Fatal(err)
	}
	found := pumps()
	for i := range found {
		found[i].Text += "\n\n" + strings.Repeat("The keeper of the weir writes down every morning how far the water rose. ", 20)
	}
	p := chat.Prompt{Question: "What is the support phone number?", Fragments: found}
	for b.Loop() {
		if _, err := New(words).Complete(b.Context(), p, func(string) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
