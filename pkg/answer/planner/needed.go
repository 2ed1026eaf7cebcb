package planner

import (
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/answer/coverage"
	"github.com/sluice/sluice/pkg/answer/language"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/question"
	"github.com/sluice/sluice/pkg/retrieve"
	"github.com/sluice/sluice/pkg/wordset"
)

// A question needs no plan if the best fragment covers a large enough weighted fraction of its content words. How large
// depends on the kind of question.
const (
	minWords      = 3    // questions with fewer content words are not planned
	coversCompare = 0.9  // for a comparison
	coversSteps   = 0.75 // for a question with a relative clause
	coversPlain   = 0.34 // for any other question or part of a question
)

// Needed returns why the model should plan the searches for a question, or "" if it shouldn't. found is the result of
// the search for the question. If the question's syntax splits it into parts, that search covered the parts as well.
//
// Most questions need no plan, because a single fragment contains all their words or their syntax splits them into
// parts. A question in a different language from the documents gets no plan either, because its words can't be compared
// with theirs.
func Needed(asked string, found retrieve.Result) domain.PlanReason {
	page := coverage.Read(found)
	words := page.Words(asked, nil)
	if page.Empty() || words.Len() < minWords {
		return ""
	}
	lang := language.Detect(asked)
	if langs := page.Languages(); lang != analysis.Unknown && len(langs) > 0 && !slices.Contains(langs, lang) {
		return ""
	}
	if parts := question.Parts(asked); parts != nil {
		for _, p := range parts {
			if w := page.Words(p.Query, nil); w.Len() > 1 && !page.Covers(w, coversPlain) {
				return domain.PlanCoverage
			}
		}
		return ""
	}
	reason, share := domain.PlanCoverage, coversPlain
	switch {
	case asksForComparison(asked):
		reason, share = domain.PlanComparison, coversCompare
	case hasRelativeClause(asked, lang):
		reason, share = domain.PlanSteps, coversSteps
	}
	if page.Covers(words, share) {
		return ""
	}
	return reason
}

func asksForComparison(asked string) bool {
	return slices.ContainsFunc(language.Words(asked), func(w string) bool { return comparisons[w] }) ||
		slices.ContainsFunc(unspacedComparisons, func(w string) bool { return strings.Contains(asked, w) })
}

var comparisons = wordset.Of(`
	compare compared comparison difference differences differ versus vs
	vergleiche vergleich unterschied unterschiede unterscheiden unterscheidet
	compare comparer comparez différence différences
	compara comparar diferencia diferencias
	confronta confronto differenza differenze
	comparação diferença diferenças
	vergelijk verschil verschillen
	сравни сравните разница отличается отличаются
`)

var unspacedComparisons = []string{"比较", "区别", "差异", "違い", "比較", "차이"}

// Minimum number of words before a relative pronoun. Closer to the start, words such as "who" are interrogatives.
const minBeforeRelative = 3

// hasRelativeClause reports whether a question contains a relative clause ("the company that built the lock"). Such a
// question often takes two searches: one for what the clause describes, and one for everything else.
func hasRelativeClause(asked string, lang analysis.Language) bool {
	pronouns, known := relatives[lang]
	if !known {
		return false
	}
	words := strings.Fields(strings.ToLower(asked))
	for i := minBeforeRelative; i < len(words)-1; i++ {
		comma := strings.HasSuffix(words[i-1], ",")
		if pronouns[strings.Trim(words[i], ",")] && (comma || !needsComma[lang]) {
			return true
		}
	}
	return false
}

var relatives = map[analysis.Language]map[string]bool{
	"en": wordset.Of(`that who whose which whom where`),
	"de": wordset.Of(`der die das dem den dessen deren denen`),
	"fr": wordset.Of(`qui que dont où`),
	"es": wordset.Of(`que quien cuyo cuya`),
	"it": wordset.Of(`che cui`),
	"pt": wordset.Of(`que cujo cuja`),
	"nl": wordset.Of(`die dat wiens`),
	"ru": wordset.Of(`который которая которое которые которого которой которым`),
}

// needsComma lists the languages whose relative clauses follow a comma. If there is no comma before it, a relative
// pronoun in these languages is something else, such as an article.
var needsComma = map[analysis.Language]bool{"de": true, "ru": true}
