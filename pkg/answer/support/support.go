// Package support finds the source text that supports each sentence in an answer and rates the support from 0 to 1. It
// uses no model. Instead, it compares the sentence's content words, figures, names and negations with the sources'. A
// sentence that a source contains word for word is fully supported.
//
// The comparison detects wrong figures, wrong names, a missing or additional "not", and statements about other things.
// It does not detect a sentence that combines its sources' words into a false statement.
package support

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/answer/citation"
	"github.com/sluice/sluice/pkg/domain"
)

// Threshold is the support below which a sentence is unsupported. It was fitted on one half of a set of sentences with
// planted errors and measured on the other; see docs/history/answers.md.
const Threshold = 0.55

// Limits on how much is compared, because answers and sources are untrusted. Text beyond the limits is ignored.
const (
	MaxSentences     = 500       // per answer
	maxAnswerBytes   = 256 << 10 // bytes of an answer that are split into sentences
	maxSentenceBytes = 2000      // bytes compared per sentence
	maxSentenceWords = 200       // words compared per sentence
	maxSourceBytes   = 64 << 10  // bytes compared per source
	maxSourcesBytes  = 192 << 10 // total bytes of all sources
	maxSpans         = 8         // per sentence
)

// Result is what Judge returns.
type Result struct {
	Sentences  []domain.AnswerSentence
	Highlights [][]domain.TextRange // for each source, the passages that support the answer, in order
}

// Judge compares an answer's sentences with its sources. If there are no sources, the sentences have no scores.
func Judge(text string, sources []domain.Fragment) Result {
	marks := citation.NewMarker(sources).Marks(text[:min(len(text), maxAnswerBytes)])
	pieces := Split(text, marks)
	out := Result{Sentences: make([]domain.AnswerSentence, len(pieces)), Highlights: make([][]domain.TextRange, len(sources))}
	j := NewJudger(sources)
	defer j.Close()
	j.Language(text)
	for i, p := range pieces {
		v := j.Judge(text, p, cited(sources, p.Cited))
		for _, s := range v.Spans {
			out.Highlights[s.Source] = append(out.Highlights[s.Source], s.In)
		}
		out.Sentences[i] = v
	}
	for i, s := range sources {
		out.Highlights[i] = merged(s.Text, out.Highlights[i])
	}
	return out
}

// cited returns the indexes of the sources with these citation numbers, or of all sources if none match.
func cited(sources []domain.Fragment, numbers []int) []int {
	var out []int
	for i, s := range sources {
		if slices.Contains(numbers, s.Citation) {
			out = append(out, i)
		}
	}
	if len(out) == 0 {
		for i := range sources {
			out = append(out, i)
		}
	}
	return out
}

// merged sorts a text's ranges and joins those that overlap or have only white space between them.
func merged(text string, ranges []domain.TextRange) []domain.TextRange {
	slices.SortFunc(ranges, func(a, b domain.TextRange) int { return cmp.Or(a.Start-b.Start, a.End-b.End) })
	var out []domain.TextRange
	for _, r := range ranges {
		if n := len(out) - 1; n >= 0 && (r.Start <= out[n].End || strings.TrimSpace(text[out[n].End:r.Start]) == "") {
			out[n].End = max(out[n].End, r.End)
			continue
		}
		out = append(out, r)
	}
	return out
}
