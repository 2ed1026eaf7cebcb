package extractive

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/domain"
)

func quote(t *testing.T, p chat.Prompt) string {
	t.Helper()
	var out strings.Builder
	if _, err := New(nil).Complete(t.Context(), p, func(s string) error { out.WriteString(s); return nil }); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func docs(texts ...string) []domain.Fragment {
	var out []domain.Fragment
	for _, s := range texts {
		out = append(out, domain.Fragment{Text: s, Score: 0.8 - 0.1*float64(len(out))})
	}
	return out
}

func TestExtractive(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		question string
		docs     []domain.Fragment
		want     string
	}{
		"quotes the sentence that answers": {
			"When does the north gate open?",
			docs("Ducks live near the gate. The north gate opens at six in the morning. Visitors like the view."),
			"In the words of the documents:\n\n“The north gate opens at six in the morning.” [1]",
		},
		"quotes from several fragments in reading order": {
			"How high is the north gate?",
			docs("The weir is old. The north gate is twelve metres high above the sill.", "Engineers say that the height of the north gate makes it high for its age."),
			"In the words of the documents:\n\n“The north gate is twelve metres high above the sill.” [1]\n\n“Engineers say that the height of the north gate makes it high for its age.” [2]",
		},
		"quotes what is said twice once": {
			"When does the north gate open?",
			docs("The north gate opens at six in the morning.", "The north gate opens at six in the morning!"),
			"In the words of the documents:\n\n“The north gate opens at six in the morning.” [1]",
		},
		"quotes both of what is said differently": {
			"How much is the deposit for a locker key?",
			docs("The deposit for a locker key is 20 euros.", "The deposit for a locker key is 25 euros."),
			"In the words of the documents:\n\n“The deposit for a locker key is 20 euros.” [1]\n\n“The deposit for a locker key is 25 euros.” [2]",
		},
		"keeps a date in one piece": {
			"Wann verfällt der Resturlaub?",
			docs("Urlaub muss beantragt werden. Resturlaub verfällt am 31. März des Folgejahres. Die Kantine ist mittags offen."),
			"Im Wortlaut der Dokumente:\n\n„Resturlaub verfällt am 31. März des Folgejahres.“ [1]",
		},
		"leaves no code open before a citation": {
			"Which key opens the console of Vortex?",
			docs("Press the ` key to open the console of Vortex."),
			"In the words of the documents:\n\n“Press the key to open the console of Vortex.” [1]",
		},
		"prefers the answer to a question that asks the same": {
			"When does the north gate open?",
			docs("When does the north gate open? The gate opens at six every morning."),
			"In the words of the documents:\n\n“The gate opens at six every morning.” [1]",
		},
		"takes reference marks and images out of quotations": {
			"When does the north gate open?",
			docs("The north gate opens [3] at six ![x](https://evil.example/?q=1) in the morning."),
			"In the words of the documents:\n\n“The north gate opens at six x in the morning.” [1]",
		},
		"speaks the question's language": {
			"Wann öffnet das Nordtor?",
			docs("Das Nordtor öffnet um sechs Uhr am Morgen."),
			"Im Wortlaut der Dokumente:\n\n„Das Nordtor öffnet um sechs Uhr am Morgen.“ [1]",
		},
		"reads Chinese": {
			"水闸什么时候打开？",
			docs("鸭子住在河边。水闸每天早上六点打开。"),
			"文档原文如下：\n\n“水闸每天早上六点打开。” [1]",
		},
		"quotes no heading": {
			"What does error code E-23 mean?",
			docs("Error codes of the logger\n\nCode: E-17; Meaning: The card is locked.; What to do: Slide the tab.\nCode: E-23; Meaning: The antenna is wet inside.; What to do: Dry it."),
			"In the words of the documents:\n\n“Code: E-23; Meaning: The antenna is wet inside.; What to do: Dry it.” [1]",
		},
		"joins sentences that follow one another": {
			"How long is the warranty of the pump, and when does the warranty end early?",
			docs("Ducks like ponds. The pump has a warranty of 7 years. The warranty ends early when the seal is broken. Ponds are wet."),
			"In the words of the documents:\n\n“The pump has a warranty of 7 years. The warranty ends early when the seal is broken.” [1]",
		},
		"marks what breaks off": {
			"When does the north gate open in the winter months?",
			docs("Ducks like ponds. The north gate opens at seven in the winter months, except on days when the river rises and"),
			"In the words of the documents:\n\n“The north gate opens at seven in the winter months, except on days when the river rises and …” [1]",
		},
		"quotes a row of a table": {
			"population of Ulm",
			docs("City\tPopulation\nBonn\t330,000\nUlm population\t126,000"),
			"In the words of the documents:\n\n“City: Ulm population; Population: 126,000” [1]",
		},
		"knows a fee in any currency": {
			"What is the harbour fee per night?",
			docs("Harbour fee is 42 crowns per night."),
			"In the words of the documents:\n\n“Harbour fee is 42 crowns per night.” [1]",
		},
		"says so when the fragments do not speak of it": {
			"When does the opera premiere in Vienna begin?",
			docs("The gate begins to open at six."),
			"The documents do not answer this question.",
		},
		"says so when there are no fragments": {"When?", nil, "The documents do not answer this question."},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := quote(t, chat.Prompt{Question: test.question, Search: test.question, Fragments: test.docs}); got != test.want {
				t.Fatalf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

func TestExtractiveStopsWithItsReader(t *testing.T) {
	t.Parallel()
	p := chat.Prompt{Question: "When does the gate open?", Fragments: docs("The gate opens at six o'clock.")}
	gone := errors.New("gone")
	if _, err := New(nil).Complete(t.Context(), p, func(string) error { return gone }); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New(nil).Complete(ctx, p, func(string) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
