package followup

import (
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/domain"
)

func TestSearchQuery(t *testing.T) {
	t.Parallel()
	history := []chat.Turn{{Role: domain.RoleUser, Text: "old question"}, {Role: domain.RoleAssistant, Text: "old answer"}, {Role: domain.RoleUser, Text: "Tell me about the north gate"}, {Role: domain.RoleAssistant, Text: "It is a gate."}}
	named := []chat.Turn{{Role: domain.RoleUser, Text: "How long is the warranty of the Aurora X2?"}, {Role: domain.RoleAssistant, Text: "7 years."}}
	tests := map[string]struct {
		question string
		history  []chat.Turn
		want     string
	}{
		"without history a question stands alone":                     {"And when does it close?", nil, "And when does it close?"},
		"a pronoun points back":                                       {"When does it close?", history, "Tell me about the north gate When does it close?"},
		"a beginning points back":                                     {"And in winter?", history, "Tell me about the north gate And in winter?"},
		"a complete question stands alone":                            {"When does the south gate close?", history, "When does the south gate close?"},
		"a long question stands alone":                                {"Which of the many gates of the upper canal did the engineers of the second phase build before it rained?", history, "Which of the many gates of the upper canal did the engineers of the second phase build before it rained?"},
		"a beginning with a subject of its own stands alone":          {"And what does trace-based compilation mean?", history, "And what does trace-based compilation mean?"},
		"German points back":                                          {"Und wie hoch ist es?", history, "Tell me about the north gate Und wie hoch ist es?"},
		"Chinese points back":                                         {"它多高？", history, "Tell me about the north gate 它多高？"},
		"a pronoun stands for what was named, not for what was asked": {"How much does it weigh?", named, "Aurora X2 How much does it weigh?"},
		"another name takes the place of the old one":                 {"And of the Borealis 40?", named, "How long is the warranty of the And of the Borealis 40?"},
		"a count of what was named":                                   {"How many are in stock?", []chat.Turn{{Role: domain.RoleUser, Text: "What does BX-4471-K cost?"}, {Role: domain.RoleAssistant, Text: "184 euros."}}, "BX-4471-K How many are in stock?"},
		"a count of what was named, in German":                        {"Wie viele sind auf Lager?", []chat.Turn{{Role: domain.RoleUser, Text: "Was kostet BX-4471-K?"}, {Role: domain.RoleAssistant, Text: "184 Euro."}}, "BX-4471-K Wie viele sind auf Lager?"},
		"a count of something else stands alone":                      {"How many rooms are in the hotel?", named, "How many rooms are in the hotel?"},
		"a price of something else stands alone":                      {"Wie viel kostet der Versand?", named, "Wie viel kostet der Versand?"},
		"a chain over a count keeps its subject":                      {"And what is its lead time?", []chat.Turn{{Role: domain.RoleUser, Text: "What does BX-4471-K cost?"}, {Role: domain.RoleAssistant, Text: "184 euros."}, {Role: domain.RoleUser, Text: "How many are in stock?"}, {Role: domain.RoleAssistant, Text: "37."}}, "BX-4471-K And what is its lead time?"},
		"a question that names nothing":                               {"What should I do?", []chat.Turn{{Role: domain.RoleUser, Text: "What does E205 mean?"}, {Role: domain.RoleAssistant, Text: "Too heavy."}}, "What does E205 mean? What should I do?"},
		"a chain without names goes back to its subject":              {"Und auf Lager?", []chat.Turn{{Role: domain.RoleUser, Text: "Was kostet der Mäher?"}, {Role: domain.RoleAssistant, Text: "9 Euro."}, {Role: domain.RoleUser, Text: "Und wie lange dauert die Lieferung?"}, {Role: domain.RoleAssistant, Text: "Eine Woche."}}, "Was kostet der Mäher? Und wie lange dauert die Lieferung? Und auf Lager?"},
		"a chain of follow-ups keeps its subject":                     {"How loud is it?", append(named[:2:2], chat.Turn{Role: domain.RoleUser, Text: "How much does it weigh?"}), "Aurora X2 How loud is it?"},
		"together they stay within what may be asked":                 {"And it?", []chat.Turn{{Role: domain.RoleUser, Text: strings.Repeat("x", 8000)}}, strings.Repeat("x", 7992) + " And it?"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := bySyntax(test.question, test.history); got != test.want {
				t.Fatalf("got %q, want %q", got, test.want)
			}
		})
	}
}

// bySyntax returns the query chosen from a question's syntax alone.
func bySyntax(question string, history []chat.Turn) string {
	if q := New(question, history); q.refers {
		return q.InContext
	}
	return question
}

func TestAStandaloneQuestionIsNotChanged(t *testing.T) {
	t.Parallel()
	history := []chat.Turn{{Role: domain.RoleUser, Text: "When does the North Gate open?"}, {Role: domain.RoleAssistant, Text: "At six."}}
	for question, alone := range map[string]bool{
		"What is the name of the stadium that the teams played in?": true,
		"Is there an influenza vaccine?":                            true,
		"Dove si mescola l'acqua fredda con il vapore?":             true,
		"Un hôtelier peut-il copier ma pièce d'identité ?":          true,
		"Que signifie la lettre e ?":                                true,
		"Who made that?":                                            false,
		"That one?":                                                 false,
		"What is there to see?":                                     true,
		"Who lives there?":                                          false,
		"Quand ouvre-t-elle ?":                                      false,
		"E quando chiude?":                                          false,
		"Und wann schließt sie?":                                    false,
	} {
		if got := bySyntax(question, history); (got == question) != alone {
			t.Errorf("%q is searched for as %q", question, got)
		}
	}
}
