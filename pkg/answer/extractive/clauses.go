package extractive

import (
	"regexp"
	"slices"

	"github.com/sluice/sluice/pkg/answer/language"
	"github.com/sluice/sluice/pkg/wordset"
)

// interrogatives are the words that begin a part of a question.
var interrogatives = wordset.Of(`what which who whom whose when where why how
	was wie wann wer wem wen wo wozu womit woher wohin warum welche welcher welches welchen welchem wieviel
	quel quelle quels quelles quand combien comment où qui quoi pourquoi
	qué cuál cuáles cuándo cuánto cuántos cuánta cuántas cómo quién quiénes dónde
	che chi quale quali quando quanto quanti quanta quante come dove cosa
	qual quais quantos quantas como quem onde
	wat welke wanneer hoeveel waar hoe waarom
	что какой какая какое какие каков какова когда сколько как кто где почему`)

// clauseBreak matches a place where a question may be divided: a comma, a conjunction, or both.
var clauseBreak = regexp.MustCompile(`(?i)\s*[,;]\s+(?:(?:and|und|et|y|e|en|и)\s+)?|\s+(?:and|und|et|y|e|en|и)\s+|[?？]\s+`)

const (
	maxClauses = 5 // of a question; a longer one is not divided
	leadWords  = 3 // words among which the interrogative of a clause is: "and within how many days"
)

// clausesOf divides a question into the parts that ask for one thing each. A part begins after a comma or conjunction
// and has an interrogative among its first words.
func clausesOf(question string) []string {
	var out []string
	begin := 0
	for _, at := range clauseBreak.FindAllStringIndex(question, -1) {
		if at[0] <= begin || !asks(question[begin:at[0]]) || !asks(question[at[1]:]) {
			continue
		}
		out = append(out, question[begin:at[0]])
		begin = at[1]
	}
	out = append(out, question[begin:])
	if len(out) > maxClauses {
		return []string{question}
	}
	return out
}

// asks reports whether a text has an interrogative among its first words.
func asks(text string) bool {
	words := language.Words(text)
	return slices.ContainsFunc(words[:min(leadWords, len(words))], func(w string) bool { return interrogatives[w] })
}
