package language

import (
	"reflect"
	"testing"
)

func TestNounPhrasesLeaveOutVerbs(t *testing.T) {
	t.Parallel()
	for question, want := range map[string][]NounPhrase{
		"When do we have to settle the bar bill?":                {{Head: "bill", Modifiers: []string{"bar"}}},
		"What is the fee for filling in an insurance form?":      {{Head: "fee"}, {Head: "form", Modifiers: []string{"insurance"}}},
		"Welches Flurstück gehört zum Bauantrag?":                {{Head: "flurstück"}, {Head: "bauantrag"}},
		"Wie hoch ist der Tagespreis der Klasse G?":              {{Head: "tagespreis"}, {Head: "g", Modifiers: []string{"klasse"}}},
		"Quelle est la température de la pataugeoire ?":          {{Head: "température"}, {Head: "pataugeoire"}},
		"Quel est le plafond de la garantie juridique ?":         {{Head: "plafond"}, {Head: "garantie", Modifiers: []string{"juridique"}}},
		"¿Qué código hay que introducir para reservar una sala?": {{Head: "código"}, {Head: "sala"}},
	} {
		got, known := NounPhrases(question)
		if !known || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v, want %v", question, got, known, want)
		}
	}
}

func TestNounPhrasesOfAnUnknownLanguageAreUnknown(t *testing.T) {
	t.Parallel()
	if got, known := NounPhrases("Сколько стоит насос?"); known {
		t.Errorf("got %v", got)
	}
}
