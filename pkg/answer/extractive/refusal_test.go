package extractive

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/embed"
)

// pumps returns fragments as retrieval would.
func pumps() []domain.Fragment {
	return []domain.Fragment{
		{Text: "Warranty\n\nThe Aurora X2 pump has a warranty of 7 years. It ends early when the seal is broken.", Heading: "Warranty", DatasourceName: "manual.pdf", Score: 0.8},
		{Text: "The pump ships on a pallet and weighs 184 kg.", Heading: "Installing the Aurora X2", Score: 0.6},
		{Text: "Write to help@pumps.example or call +47 55 00 17 29.", Heading: "Support for Aurora pumps > How to reach us", Score: 0.5},
		{Text: "Part: Bearing cartridge; Number: NLX-2311; Delivery: two days\nPart: Seal kit; Number: NLX-2207; Delivery: same day", Heading: "Support for Aurora pumps > Spare parts", Score: 0.5},
		{Text: "pump model: Borealis 40; station: Porto Lume; output: 21900\npump model: Aurora X1; station: Tallinn; output: 4020", Score: 0.4},
		{Text: "Customer group: Fire brigades; Discount: 18\nCustomer group: Resellers; Discount: 25", Heading: "Discounts", Score: 0.4},
		{Text: "1. Open the suction valve completely.\n2. Vent the housing.", Heading: "First start", Score: 0.3},
	}
}

// kindred is a WordVectors that groups similar words.
type kindred [][]string

func (k kindred) Embed(_ context.Context, texts []string, _ embed.Purpose) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		out[i] = make([]float32, len(k))
		for j, group := range k {
			for _, w := range group {
				if w == text {
					out[i][j] = 1
				}
			}
		}
	}
	return out, nil
}

var alike = kindred{{"phone", "call"}, {"heavy", "weighs", "weigh"}, {"aurora", "borealis"}, {"cost", "price"}}

func TestExtractiveQuotesWhatHoldsTheNamesAndTheRarestWord(t *testing.T) {
	t.Parallel()
	weights := map[string]float64{"number": 1, "support": 1, "pump": 0.5, "phone": 2, "warranti": 2, "aurora": 1, "discount": 1, "open": 2, "hour": 2}
	const nothing = "The documents do not answer this question."
	tests := map[string]struct {
		question string
		search   string // search query; "" means the question
		want     []string
	}{
		"the subject is named":                       {"How long is the warranty of the Aurora X2?", "", []string{"The Aurora X2 pump has a warranty of 7 years."}},
		"the heading names the subject":              {"How much does the Aurora X2 weigh?", "", []string{"The pump ships on a pallet and weighs 184 kg."}},
		"a kindred word answers":                     {"What is the support phone number?", "", []string{"Write to help@pumps.example or call +47 55 00 17 29."}},
		"a row answers":                              {"How long is the delivery of a bearing cartridge?", "", []string{"Part: Bearing cartridge; Number: NLX-2311; Delivery: two days"}},
		"a follow-up asks for another aspect":        {"How heavy is it?", "Aurora X2 How heavy is it?", []string{"The pump ships on a pallet and weighs 184 kg."}},
		"another product's warranty is no answer":    {"How long is the warranty of the Borealis 40?", "", nil},
		"names have no kindred words":                {"What is the output of the Aurora station at Porto Lume?", "", nil},
		"another group's discount is no answer":      {"Is there a discount for schools?", "", nil},
		"a delivery time is no price":                {"How much does a bearing cartridge cost?", "", nil},
		"a word in another sense alone is no answer": {"What are the opening hours of support?", "", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			search := test.search
			if search == "" {
				search = test.question
			}
			var out strings.Builder
			done, err := New(alike).Complete(t.Context(), chat.Prompt{Question: test.question, Search: search, Fragments: pumps(), TermWeights: weights},
				func(s string) error { out.WriteString(s); return nil })
			if err != nil {
				t.Fatal(err)
			}
			got := out.String()
			if done.NoAnswer != (test.want == nil) || done.NoAnswer != (got == nothing) {
				t.Fatalf("unanswered is %v for %q", done.NoAnswer, got)
			}
			if quotes := strings.Count(got, "“"); quotes != len(test.want) {
				t.Errorf("%d quotations in %q, want %d", quotes, got, len(test.want))
			}
			for _, w := range test.want {
				if !strings.Contains(got, "“"+w+"”") {
					t.Errorf("got %q, want %q in it", got, w)
				}
			}
		})
	}
}

func TestExtractiveKeepsLinesOfCode(t *testing.T) {
	t.Parallel()
	got := quote(t, chat.Prompt{
		Question:  "How do I reset the controller?",
		Fragments: docs("When the display shows E-17, reset the controller with this command:\n\nauroractl reset --code E-17\nauroractl status"),
	})
	const want = "In the words of the documents:\n\n“When the display shows E-17, reset the controller with this command:” [1]\n\n```\nauroractl reset --code E-17\nauroractl status\n```"
	if got != want {
		t.Fatalf("got  %q\nwant %q", got, want)
	}
}

func TestExtractiveHeedsMaxTokens(t *testing.T) {
	t.Parallel()
	p := chat.Prompt{
		Question: "How high is the north gate?",
		Fragments: docs("The north gate is twelve metres high above the sill.",
			"Engineers say that the height of the north gate makes it high for its age."),
	}
	for most, want := range map[int]int{1: 1, 20: 1, 200: 2} {
		p.Params.MaxTokens = &most
		if got := strings.Count(quote(t, p), "“"); got != want {
			t.Errorf("%d quotations within %d tokens, want %d", got, most, want)
		}
	}
}

func TestExtractiveSaysThatThereAreNoDocuments(t *testing.T) {
	t.Parallel()
	for question, want := range map[string]string{
		"How heavy is it?":   "This agent has no documents yet.",
		"Wie schwer ist es?": "Dieser Agent hat noch keine Dokumente.",
	} {
		if got := quote(t, chat.Prompt{Question: question, NoDatastores: true}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// alien is a WordVectors that knows no words, so all vectors are the same.
type alien struct{}

func (alien) Embed(_ context.Context, texts []string, _ embed.Purpose) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i := range texts {
		out[i] = []float32{1}
	}
	return out, nil
}

func TestWordsThatTheVectorsDoNotKnowHaveNoKin(t *testing.T) {
	t.Parallel()
	fragments := docs("Шлюз открывается утром, а закрывается поздно вечером, когда последняя лодка уже прошла вверх по реке.")
	q := newQuestion(chat.Prompt{Question: "Сколько стоит билет?"}, fragments)
	if err := q.addKin(t.Context(), alien{}, "Сколько стоит билет?", fragments); err != nil {
		t.Fatal(err)
	}
	for i, kin := range q.kin {
		if q.matchDegree(wording{at: positions(analysis.Terms(fragments[0].Text, "ru"))}, i) > 0 {
			t.Errorf("%s has the kin %q", q.terms[i].Name, kin)
		}
	}
}

func TestWordsForOneConceptAreKindredAcrossLanguages(t *testing.T) {
	t.Parallel()
	fragments := docs("Artikel: GX-1; Bestand: 7; Lieferzeit: zwei Tage")
	for question, want := range map[string]bool{
		"How many are in stock?":               true,
		"Quels sont les délais de livraison ?": true,
		"What is the colour?":                  false,
	} {
		q := newQuestion(chat.Prompt{Question: question}, fragments)
		own := wording{at: positions(analysis.Terms(fragments[0].Text, analysis.Detect(fragments[0].Text)))}
		got := false
		for i := range q.terms {
			got = got || q.matchDegree(own, i) > 0
		}
		if got != want {
			t.Errorf("%q: kindred words are found: %v", question, got)
		}
	}
}

type broken struct{}

func (broken) Embed(context.Context, []string, embed.Purpose) ([][]float32, error) {
	return nil, errBroken
}

var errBroken = errors.New("broken")

func TestExtractiveFailsWithItsWordVectors(t *testing.T) {
	t.Parallel()
	_, err := New(broken{}).Complete(t.Context(), chat.Prompt{Question: "How heavy is the pump?", Fragments: pumps()},
		func(string) error { return nil })
	if !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
}
