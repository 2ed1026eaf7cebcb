package followup

import (
	"testing"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/retrieve"
)

func result(texts ...string) retrieve.Result {
	var r retrieve.Result
	for _, text := range texts {
		r.Fragments = append(r.Fragments, domain.Fragment{Text: text})
	}
	return r
}

func TestTheOldSubjectIsKeptOnlyIfTheQuestionNeedsIt(t *testing.T) {
	t.Parallel()
	const (
		pump     = "The Aurora X2 pump has a warranty of seven years. It weighs 14 kilograms."
		jit      = "Trace-based compilation, or a tracing JIT, compiles the paths that a program takes often."
		ferry    = "The ferry carries bicycles. A ticket for a bicycle costs four euros."
		hall     = "A hall may be rented on weekdays; renting the hall costs 90 euros."
		pumpe    = "Die Pumpe Aurora hat sieben Jahre Garantie. Sie wiegt 14 Kilogramm."
		faehre   = "Die Fähre fährt im Winter nur am Wochenende. Fahrräder kosten vier Euro."
		lave     = "Le programme Éco dure trois heures et consomme 9 litres d'eau."
		musee    = "Le musée de la Marine ouvre à dix heures. L'entrée coûte huit euros."
		puerto   = "La toma eléctrica de 16 A cuesta 5,20 euros al día; la toma eléctrica de 32 A cuesta 9,60 euros."
		taller   = "El taller repara motores fuera de borda. La reparación tarda dos semanas."
		cauzione = "La cauzione è di 5.000 euro ed è restituita entro 45 giorni."
		foro     = "Per ogni controversia è competente il Tribunale di Arezzo."
		agua     = "A dureza da água é de 210 mg/l em Coruche e de 164 mg/l em Benavente."
		balcao   = "O balcão de Salvaterra abre às quintas, das 14 às 17 horas."
		huur     = "De kale huur bedraagt 742 euro en de servicekosten bedragen 58 euro."
		dieren   = "De huurder houdt ten hoogste twee huisdieren."
		rosa     = "Прибор «Роса-3» имеет гарантийный срок три года и массу 310 граммов."
		sadik    = "Детский сад открыт с семи часов. Оплата за питание составляет 2000 рублей."
		zha      = "水闸早上六点打开，晚上十点关闭。"
		guan     = "博物馆的门票价格是二十元。"
	)
	for name, test := range map[string]struct {
		before, asked    string
		alone, inContext []string
		want             bool
	}{
		"a pronoun":                         {"How long is the warranty of the Aurora X2?", "How much does it weigh?", []string{"A bag may weigh 20 kilograms.", pump}, []string{pump}, true},
		"a pronoun, and another word":       {"How long is the warranty of the Aurora X2?", "How loud is it?", []string{"The party was loud."}, []string{pump}, true},
		"a pronoun that stands for nothing": {"How long is the warranty of the Aurora X2?", "Is it possible to rent the hall on weekdays?", []string{hall}, []string{pump}, false},
		"a new subject after and":           {"How long is the warranty of the Aurora X2?", "And what does tracing JIT mean?", []string{jit}, []string{pump, jit}, false},
		"a new subject without and":         {"How long is the warranty of the Aurora X2?", "Does the ferry carry bicycles?", []string{ferry}, []string{pump, ferry}, false},
		"the same subject without and":      {"Does the ferry carry bicycles?", "What does a ticket cost?", []string{hall, ferry}, []string{ferry}, true},
		"no subject, no verb":               {"Does the ferry run on Sundays?", "And in winter?", []string{"Winter tyres are compulsory."}, []string{ferry}, true},
		"no word of its own":                {"Does the ferry carry bicycles?", "And why?", nil, []string{ferry}, true},
		"nothing is found in context":       {"Does the ferry run on Sundays?", "What does a hall cost?", []string{hall}, nil, false},
		"German, same subject":              {"Wie lange gilt die Garantie der Pumpe Aurora?", "Und was wiegt die Aurora?", []string{pumpe}, []string{pumpe}, true},
		"German, new subject":               {"Wie lange gilt die Garantie der Pumpe?", "Und was kosten Fahrräder?", []string{faehre}, []string{pumpe, faehre}, false},
		"French, same subject":              {"Combien d'eau consomme le programme Éco ?", "Et combien de temps dure-t-il ?", []string{musee, lave}, []string{lave}, true},
		"French, new subject":               {"Combien d'eau consomme le programme Éco ?", "Et combien coûte l'entrée ?", []string{musee}, []string{lave, musee}, false},
		"Spanish, same subject":             {"¿Cuánto cuesta la toma eléctrica de 16 A?", "¿Y la de 32 A?", []string{"Ardoises 32 x 22", puerto}, []string{puerto}, true},
		"Spanish, new subject":              {"¿Cuánto cuesta la toma eléctrica de 16 A?", "¿Y cuánto tarda la reparación?", []string{taller}, []string{puerto, taller}, false},
		"Italian, same subject":             {"A quanto ammonta la cauzione?", "E quando è restituita?", []string{foro, cauzione}, []string{cauzione}, true},
		"Italian, new subject":              {"A quanto ammonta la cauzione?", "E quale tribunale è competente?", []string{foro}, []string{cauzione, foro}, false},
		"Portuguese, same subject":          {"Qual é a dureza da água em Coruche?", "E em Benavente?", []string{"Benavente, Largo do Município 3", agua}, []string{agua}, true},
		"Portuguese, new subject":           {"Qual é a dureza da água em Coruche?", "E quando abre o balcão?", []string{balcao}, []string{agua, balcao}, false},
		"Dutch, same subject":               {"Hoeveel bedraagt de kale huur?", "En de servicekosten?", []string{huur}, []string{huur}, true},
		"Dutch, new subject":                {"Hoeveel bedraagt de kale huur?", "En hoeveel huisdieren zijn toegestaan?", []string{dieren}, []string{huur, dieren}, false},
		"Russian, same subject":             {"Какой гарантийный срок у прибора «Роса-3»?", "А какая у него масса?", []string{rosa}, []string{rosa}, true},
		"Russian, new subject":              {"Какой гарантийный срок у прибора?", "А сколько составляет оплата за питание?", []string{sadik}, []string{rosa, sadik}, false},
		"Chinese, same subject":             {"水闸什么时候打开？", "它什么时候关闭？", []string{zha}, []string{zha}, true},
		"Chinese, new subject":              {"水闸什么时候打开？", "博物馆的门票价格是多少？", []string{guan}, []string{zha, guan}, false},
	} {
		q := New(test.asked, []chat.Turn{{Role: domain.RoleUser, Text: test.before}, {Role: domain.RoleAssistant, Text: "An answer."}})
		if q.InContext == "" {
			t.Errorf("%s: %q is not searched in context", name, test.asked)
			continue
		}
		if got := q.PrefersContext(result(test.alone...), result(test.inContext...)); got != test.want {
			t.Errorf("%s: the result for %q is preferred to that for %q: %v, want %v", name, q.InContext, q.Alone, got, test.want)
		}
	}
}

func TestAQuestionThatStandsAloneIsSearchedAlone(t *testing.T) {
	t.Parallel()
	history := []chat.Turn{{Role: domain.RoleUser, Text: "How long is the warranty of the pump?"}, {Role: domain.RoleAssistant, Text: "Seven years."}}
	for _, asked := range []string{
		"What does Marie Curie write about radium?",
		"Which of the many gates of the upper canal did the engineers of the second phase build before the flood?",
	} {
		if q := New(asked, history); q.InContext != "" {
			t.Errorf("%q is also searched for as %q", asked, q.InContext)
		}
	}
	if q := New("And when does it close?", nil); q.InContext != "" {
		t.Errorf("without a conversation, a question is searched for as %q", q.InContext)
	}
}
