package extractive

import (
	"context"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/answer/language"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/embed"
)

// WordVectors embeds words, so that "heavy" in a question matches "weighs" in a sentence.
type WordVectors interface {
	Embed(ctx context.Context, texts []string, purpose embed.Purpose) ([][]float32, error)
}

// Limits on the search for related words.
const (
	kinCosine     = 0.5 // minimum cosine similarity; phone and call have 0.52, cost and price 0.63, unrelated pairs at most 0.27
	kinShare      = 0.8 // fraction of a term's weight given to a related word
	minKinLetters = 3
	maxKinWords   = 2000 // maximum number of words compared from the fragments

	// If a word has more related words than this, none of them is added. The vectors know few words outside Latin
	// script, and an unknown word is close to every other word in its script.
	maxKin = 10
)

// addKin adds related words from the fragments, as index terms, to the question's terms. It adds none to names, because
// a similar name belongs to a different product or person, nor to words from earlier questions.
func (q *question) addKin(ctx context.Context, vectors WordVectors, asked string, fragments []domain.Fragment) error {
	var words []string
	var of []int // index of each word's term
	for _, w := range language.Words(asked) {
		for i, is := range termsIn(q.terms, []string{w}) {
			if is && !q.names[i] && !q.framing[i] && q.own[i] && isComparableWord(w) {
				words, of = append(words, w), append(of, i)
			}
		}
	}
	if len(words) == 0 {
		return nil
	}
	asking := len(words)
	var index []string // index term of each word in the fragments
	seen := make(map[string]bool)
	for _, f := range fragments {
		lang := analysis.Detect(f.Text)
		for _, w := range language.Words(f.Heading + "\n" + f.Text) {
			if !isComparableWord(w) || seen[w] || analysis.IsFunctionWord(w, lang) || len(index) == maxKinWords {
				continue
			}
			seen[w] = true
			if terms := analysis.Terms(w, lang); len(terms) == 1 {
				words, index = append(words, w), append(index, terms[0])
			}
		}
	}
	found, err := vectors.Embed(ctx, words, embed.Query)
	if err != nil {
		return err
	}
	for i, t := range of {
		var kin []string
		for j, term := range index {
			if dot(found[i], found[asking+j]) >= kinCosine && !slices.Contains(q.terms[t].Forms, term) {
				kin = append(kin, term)
			}
		}
		if len(kin) <= maxKin {
			q.kin[t] = append(q.kin[t], kin...)
		}
	}
	return nil
}

// isComparableWord reports whether a word's vector is worth comparing.
func isComparableWord(w string) bool {
	if utf8.RuneCountInString(w) < minKinLetters {
		return false
	}
	for _, r := range w {
		if !unicode.IsLetter(r) || language.IsUnspaced(r) {
			return false
		}
	}
	return true
}

func dot(a, b []float32) float32 {
	var sum float32
	for i := range min(len(a), len(b)) {
		sum += a[i] * b[i]
	}
	return sum
}
