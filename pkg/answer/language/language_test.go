package language

import (
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/domain"
)

func TestNamesIn(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"How long is the warranty of the Aurora X2?":       "Aurora X2",
		"What does error E-23 of Nimbus mean?":             "E-23 Nimbus",
		"Wie schwer ist die Pumpe Aurora X2?":              "Aurora X2",
		"Was kostet die Wartung bei Elektro Brandstetter?": "Elektro Brandstetter",
		"Wie hoch ist das Tagegeld im Ausland?":            "",
		"How Long Is The Warranty Here?":                   "",
		"Where am I?":                                      "",
		"契約期間は3年ですか？":                                      "",
	} {
		if got := strings.Join(Names(text), " "); got != want {
			t.Errorf("names in %q are %q, want %q", text, got, want)
		}
	}
}

func TestLanguageOfShortQuestions(t *testing.T) {
	t.Parallel()
	german := []domain.Fragment{{Text: "Flüge sind nur erlaubt, wenn die Fahrzeit mit der Bahn mehr als sieben Stunden beträgt."}}
	tests := map[string]struct {
		question  string
		history   []chat.Turn
		fragments []domain.Fragment
		want      analysis.Language
	}{
		"a German verb in front":                        {"Darf ich fliegen?", nil, nil, "de"},
		"German of three words":                         {"In welchem Raum?", nil, nil, "de"},
		"French function words":                         {"Est-ce que je peux voler ?", nil, nil, "fr"},
		"English of two words":                          {"May I?", nil, german, "en"},
		"what shows nothing speaks as the document":     {"Tagegeld Ausland", nil, german, "de"},
		"what shows nothing, without documents":         {"Tagegeld Ausland", nil, nil, "en"},
		"what shows nothing speaks as was asked before": {"BW-301", []chat.Turn{{Role: domain.RoleUser, Text: "Was kostet das Tor?"}, {Role: domain.RoleAssistant, Text: "The gate."}, {Role: domain.RoleUser, Text: "BW-300"}}, nil, "de"},
		"what shows something speaks so":                {"What is BW-301?", []chat.Turn{{Role: domain.RoleUser, Text: "Was kostet das Tor?"}}, german, "en"},
		"rows with a few words of a language are none":  {"BW-301", nil, []domain.Fragment{{Text: "sku: BW-301; product: Soupe de la Mer; stock: 4; shelf: 7; supplier: Nord; colour: red; size: 12; weight: 3; row: 9; note: fresh"}}, "en"},
		"rows speak as their document states":           {"BW-301", nil, []domain.Fragment{{Text: "Nr: BW-301; Bestand: 4", Metadata: domain.FragmentMetadata(nil, &domain.DocumentInfo{Language: "de-AT"})}}, "de"},
		"sentences go before what a document states":    {"BW-301", nil, []domain.Fragment{{Text: german[0].Text, Metadata: domain.FragmentMetadata(nil, &domain.DocumentInfo{Language: "en"})}}, "de"},
		"one that is undecided speaks English":          {"BW-301", nil, []domain.Fragment{german[0], {Text: "Nr: BW-301; Bestand: 4"}}, "en"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := PhrasesFor(test.question, test.history, test.fragments); got != phrasebook[test.want] {
				t.Errorf("speaks %q", got.NoAnswer)
			}
		})
	}
}

func TestAFragmentWithTheCodeOfTheQuestionIsRelevant(t *testing.T) {
	t.Parallel()
	for question, want := range map[string]bool{
		"What does BX-4471-K cost?":  true,
		"What does BX-4471 cost?":    true, // a prefix shared by the codes of all variants
		"What does BX-447 cost?":     false,
		"What does it cost in 2024?": false,
		"What does an X1 cost?":      false,
	} {
		if got := HoldsCode("SKU: BX-4471-K; Year: 2024; Kind: X1", Codes(question)); got != want {
			t.Errorf("%q: %v", question, got)
		}
	}
}
