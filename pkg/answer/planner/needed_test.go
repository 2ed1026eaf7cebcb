package planner

import (
	"testing"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/retrieve"
)

func TestAPlanIsNeededOnlyIfTheSearchCoversTheQuestionBadly(t *testing.T) {
	t.Parallel()
	const (
		pump  = "The Aurora pump has a warranty of seven years and weighs 14 kilograms."
		motor = "The Borealis motor has a warranty of two years."
		lock  = "The Halden lock was built by Berg & Sohn in 1902."
		berg  = "Berg & Sohn has its factory in the town of Skien."
		pumpe = "Die Pumpe Aurora hat eine Garantie von sieben Jahren und wiegt 14 Kilogramm."
	)
	for question, test := range map[string]struct {
		found []string
		want  domain.PlanReason
	}{
		// A fragment covers the question.
		"How long is the warranty of the Aurora pump?":                          {[]string{pump}, ""},
		"Which company built the Halden lock in 1902?":                          {[]string{lock, berg}, ""},
		"How long is the warranty of the pump that weighs 14 kilograms?":        {[]string{pump}, ""},
		"Wie lange gilt die Garantie der Pumpe Aurora, die 14 Kilogramm wiegt?": {[]string{pumpe}, ""},
		// The question's syntax splits it.
		"How long is the warranty of the Aurora pump, and who built the Halden lock?": {[]string{pump, lock}, ""},
		// The question is too simple for a plan.
		"Summarize the documents.":   {[]string{pump}, ""},
		"Are you sure?":              {[]string{pump}, ""},
		"What does the lock cost?":   {[]string{lock}, ""},
		"Who built the Halden lock?": {nil, ""},
		// The fragments are in another language, so words aren't compared.
		"Wie viele Einwohner hat die Stadt, in der die Schleuse gebaut wurde?": {[]string{lock}, ""},
		// No single fragment covers the question.
		"What is the difference between the warranty of the Aurora pump and the Borealis motor?":                {[]string{pump, motor}, domain.PlanComparison},
		"In which town is the factory of the company that built the Halden lock?":                               {[]string{berg, lock}, domain.PlanSteps},
		"How many fishermen protested against the closing of the southern canal?":                               {[]string{"The canal has a length of nine kilometres."}, domain.PlanCoverage},
		"How long is the warranty of the Aurora pump, and which fishermen protested against closing the canal?": {[]string{pump}, domain.PlanCoverage},
		"Was ist der Unterschied zwischen der Garantie der Pumpe Aurora und der des Motors Borealis?":           {[]string{pumpe}, domain.PlanComparison},
	} {
		var found retrieve.Result
		for _, text := range test.found {
			found.Fragments = append(found.Fragments, domain.Fragment{Text: text})
		}
		if got := Needed(question, found); got != test.want {
			t.Errorf("%q: the reason is %q, want %q", question, got, test.want)
		}
	}
}
