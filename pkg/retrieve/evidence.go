package retrieve

import (
	"cmp"
	"context"
	"math"
	"slices"
	"unicode"

	"github.com/sluice/sluice/pkg/bounded"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

// A model's weight says how much its vectors help on average. How much they help with a particular query also depends
// on the query and its candidates, so the weight is adjusted by evidence gathered from both.

// evidence says how much the vectors may help with a query. All values are from 0 to 1.
type evidence struct {
	average float64 // the dense leg's weight before the adjustment
	// symbols is high if the best lexical candidates consist of numbers and symbols, like tables and code. Such texts have
	// similar vectors but different words. It is 0 if symbols make up at most minSymbols of the text, and 1 if they make
	// up maxSymbols or more.
	symbols float64
	// rarest is 1 if the best lexical candidate contains the query's rarest word, because then the lexical leg has
	// probably found the right text. Otherwise it is 0.
	rarest float64
	// agreement is the fraction of documents that are among the best `agreeing` candidates of both legs. The higher it is,
	// the less the vectors can add to the lexical leg.
	agreement float64
}

// Coefficients of a logistic model. The odds of the dense leg's weight are multiplied by exp(evidenceBase +
// evidenceSymbols·symbols + evidenceRarest·rarest + evidenceAgreement·agreement). The coefficients were fitted to
// collections in several languages; docs/adr/0055-weight-of-the-vectors.md has the method and the figures.
const (
	evidenceBase      = 0.45
	evidenceSymbols   = -2
	evidenceRarest    = -0.4
	evidenceAgreement = -1.75
)

const (
	// Bounds on the fraction of a text's characters that are symbols, i.e. neither letters, marks nor white space. Up to
	// minSymbols, evidence.symbols is 0; from maxSymbols, it is 1.
	minSymbols = 0.04
	maxSymbols = 0.2
	// Symbols are counted in the first examinedBytes bytes of each of the examinedTexts best lexical candidates.
	examinedTexts = 5
	examinedBytes = 2000
	// Number of each leg's best candidates to compare for evidence.agreement.
	agreeing = 10
	// Minimum number of candidates for gathering evidence. With fewer candidates, the two legs' best ones would share many
	// documents by chance.
	minEvidence = 4 * agreeing
)

// adjusted returns the dense leg's adjusted weight.
func (e evidence) adjusted() float64 {
	odds := e.average / (1 - e.average) * math.Exp(evidenceBase+evidenceSymbols*e.symbols+evidenceRarest*e.rarest+evidenceAgreement*e.agreement)
	return odds / (1 + odds)
}

// weighEvidence adjusts the dense leg's weight for each comparableKind and stores the new weights in `vectors` and
// `found`. Weights of 0 and 1 don't change.
func weighEvidence(ctx context.Context, found []datastoreResult, groups map[comparableKind][]*candidate, vectors map[comparableKind]queryVector) {
	for k, group := range groups {
		qv := vectors[k]
		if !k.words || qv.vector == nil || qv.weight <= 0 || qv.weight >= 1 || len(group) < minEvidence {
			continue
		}
		e := evidenceOf(ctx, group)
		e.average = qv.weight
		qv.weight = e.adjusted()
		vectors[k] = qv
		for i := range found {
			if space := &found[i]; space.kind() == k {
				space.evidence, space.vector.weight = &e, qv.weight
			}
		}
	}
}

// evidenceOf gathers evidence from candidates with scores from both legs. It reads the best few texts, most of which
// become fragments anyway. It skips unreadable ones, because choosing the fragments will report the error.
func evidenceOf(ctx context.Context, group []*candidate) evidence {
	words := bestBy(group, agreeing, (*candidate).words)
	near := bestBy(group, agreeing, func(c *candidate) float64 { return c.hit.Dense })
	var e evidence
	if best := words[0]; slices.Contains(best.hit.Terms, best.from.rarest) {
		e.rarest = 1
	}
	e.agreement = float64(commonDocuments(words, near)) / agreeing
	words = words[:min(examinedTexts, len(words))]
	_ = (&reader{ranked: words, first: examinedTexts}).row(ctx, 0)
	var sum, n float64
	for _, c := range words {
		if share, ok := symbolShare(c.hit); ok {
			sum, n = sum+share, n+1
		}
	}
	if n > 0 {
		e.symbols = min(max((sum/n-minSymbols)/(maxSymbols-minSymbols), 0), 1)
	}
	return e
}

// commonDocuments returns the number of documents with candidates in both lists.
func commonDocuments(a, b []*candidate) (n int) {
	type document struct {
		ds     *domain.Datastore
		number int
	}
	counted := make(map[document]bool, len(a))
	for _, c := range a {
		counted[document{c.ds, c.number}] = false
	}
	for _, c := range b {
		d := document{c.ds, c.number}
		if done, ok := counted[d]; ok && !done {
			counted[d] = true
			n++
		}
	}
	return n
}

// symbolShare returns the fraction of a text's characters that are neither letters nor marks, ignoring white space.
// `ok` is false if there is no text or it has not been read.
func symbolShare(h *index.Hit) (share float64, ok bool) {
	var symbols, all float64
	for _, r := range bounded.Prefix(h.Text, examinedBytes) {
		if unicode.IsSpace(r) {
			continue
		}
		all++
		if !unicode.IsLetter(r) && !unicode.IsMark(r) {
			symbols++
		}
	}
	return symbols / max(all, 1), all > 0
}

// bestBy returns the n candidates with the highest scores, best first. Equal scores are ordered by key.
func bestBy(group []*candidate, n int, score func(*candidate) float64) []*candidate {
	best := make([]*candidate, 0, n+1)
	scores := make([]float64, 0, n+1)
	for _, c := range group {
		s := score(c)
		if len(best) == n && s < scores[n-1] {
			continue
		}
		i := len(best)
		for i > 0 && (s > scores[i-1] || s == scores[i-1] && c.hit.Key < best[i-1].hit.Key) {
			i--
		}
		best, scores = slices.Insert(best, i, c), slices.Insert(scores, i, s)
		best, scores = best[:min(len(best), n)], scores[:min(len(scores), n)]
	}
	return best
}

// rarestTerm returns the term with the largest weight. Equal weights are ordered by term.
func rarestTerm(weights map[string]float64) (rarest string) {
	for term, w := range weights {
		if c := cmp.Compare(w, weights[rarest]); c > 0 || c == 0 && (rarest == "" || term < rarest) {
			rarest = term
		}
	}
	return rarest
}

// explained returns the evidence in the form used in explanations, or nil if there is none.
func (e *evidence) explained() *domain.ExplainedEvidence {
	if e == nil {
		return nil
	}
	return &domain.ExplainedEvidence{AverageWeight: e.average, Symbols: e.symbols, RarestWord: e.rarest == 1, Agreement: e.agreement}
}
