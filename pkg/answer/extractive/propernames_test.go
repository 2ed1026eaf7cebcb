package extractive

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/answer/language"
	"github.com/sluice/sluice/pkg/domain"
)

func TestWhatSpeaksOfAnotherPlaceOrPersonIsNoAnswer(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		question, name, text string
		want                 bool
	}{
		"a date of another city":                 {"When does the Munich office move?", "moves.md", "The Hamburg office moves on 3 May 2026. The new office has two floors.", false},
		"the date of the city":                   {"When does the Hamburg office move?", "moves.md", "The Hamburg office moves on 3 May 2026. The new office has two floors.", true},
		"a list of other cities":                 {"hotel limit in New York?", "travel.md", "The new hotel limit per night is:\n\n- London: 220 euros\n- Paris: 200 euros", false},
		"a city of two words":                    {"hotel limit in New York?", "travel.md", "The hotel limit in New York is 300 euros.", true},
		"the city that the datasource is of":     {"When does the Munich office move?", "Munich.md", "The office moves on 3 May 2026.", true},
		"a word made of the name":                {"How large is the Californian office?", "offices.md", "The office in California is as large as a hall.", true},
		"a slip of the finger":                   {"How many paintings did John Sheeshanks give to the museum?", "museum.md", "In 1857 John Sheepshanks did give 233 paintings to the museum.", true},
		"an abbreviation may be written out":     {"How many days of PTO do I get in a year?", "leave.md", "You get 30 days of paid leave in a year.", true},
		"a day is no name":                       {"When is the office open on Monday?", "offices.md", "The office is open every day from 9:00.", true},
		"a sentence begins with a capital":       {"Hello there. Does the office move?", "offices.md", "The office moves in spring.", true},
		"nouns may have capitals":                {"Tagegeld Ausland", "reisen.md", "Das Tagegeld für Auslandsreisen und die Reisen im Inland ist 40 Euro.", true},
		"one of several names will do":           {"When does the Hamburg office of Smith move?", "moves.md", "The Hamburg office moves on 3 May 2026.", true},
		"another language spells it differently": {"When does the Munich office move?", "umzug.md", "Das office in München wird am 3. Mai 2026 umziehen (move), und das ist für alle.", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := domain.Fragment{Text: test.text, DatasourceName: test.name, Score: 0.6}
			got := quote(t, chat.Prompt{Question: test.question, Fragments: []domain.Fragment{f}})
			if answered := !strings.Contains(got, language.PhrasesFor("", nil, nil).NoAnswer); answered != test.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestTheQuoteThatHasTheNameGoesBeforeOthers(t *testing.T) {
	t.Parallel()
	const want = "In the words of the documents:\n\n“In Munich we move to another office on 4 June 2026.” [2]"
	p := chat.Prompt{Question: "When does the Munich office move?", Fragments: docs("The Hamburg office moves on 3 May 2026.", "In Munich we move to another office on 4 June 2026.")}
	if got := quote(t, p); got != want {
		t.Errorf("got %q", got)
	}
}

func TestADatasourceThatHasTheNameElsewhereIsNoStranger(t *testing.T) {
	t.Parallel()
	named := domain.Fragment{DatasourceID: "a", Text: "The study of Smith is about the water of the river."}
	same := domain.Fragment{DatasourceID: "a", Text: "The water is measured at the weir, and the study is long."}
	other := domain.Fragment{DatasourceID: "b", Text: "The water is measured at the gate, and the study is short."}
	fragments := []domain.Fragment{same, other, named}
	q := newQuestion(chat.Prompt{Question: "Where is the water measured in the study of Smith?"}, fragments)
	if want := []bool{false, true, false}; !slices.Equal(q.strange, want) {
		t.Errorf("strangers are %v, want %v", q.strange, want)
	}
}

func TestWordsOneCharacterApart(t *testing.T) {
	t.Parallel()
	for words, want := range map[[2]string]bool{
		{"sheepshanks", "sheeshanks"}:  true,
		{"sheepshanks", "sheephsanks"}: false,
		{"hamburg", "hamborg"}:         true,
		{"hamburg", "hamburg"}:         true,
		{"hamburg", "homborg"}:         false,
		{"hamburgs", "hamburg"}:        true,
		{"a", ""}:                      true,
		{"", ""}:                       true,
	} {
		if got := oneApart([]rune(words[0]), []rune(words[1])); got != want {
			t.Errorf("%v: %v", words, got)
		}
	}
}
