package misses

import (
	"fmt"
	"io"
	"strings"

	"github.com/sluice/sluice/pkg/eval/compare"
)

// Suggestion is a change that was measured to give better results than the default.
type Suggestion struct {
	Mode compare.Mode `json:"mode"` // or a setting of the datastore
	Text string       `json:"text"` // the change and its measured effect, human-readable
}

// Suggest returns the modes and settings that are significantly better than hybrid search. Their nDCG must be
// significantly better for documents or for passages, and it must not be significantly worse for either.
func Suggest(report compare.Report) (all []Suggestion) {
	better, worse := map[compare.Mode]string{}, map[compare.Mode]bool{}
	for _, l := range report.Levels {
		for _, d := range l.Differences {
			switch {
			case d.Than != compare.Hybrid:
			case d.NDCG.Low > 0 && better[d.Mode] == "":
				better[d.Mode] = fmt.Sprintf("nDCG@%d of %s %+.3f [%+.3f, %+.3f]; %d questions better, %d worse", report.K, l.Name,
					d.NDCG.Mean, d.NDCG.Low, d.NDCG.High, d.NDCG.Better, d.NDCG.Worse)
			case d.NDCG.High < 0:
				worse[d.Mode] = true
			}
		}
	}
	for _, l := range report.Levels {
		for _, d := range l.Differences {
			if effect := better[d.Mode]; effect != "" && !worse[d.Mode] {
				all = append(all, Suggestion{d.Mode, change(d.Mode) + ": " + effect})
				delete(better, d.Mode)
			}
		}
	}
	return all
}

// change describes how to use a mode or, if `mode` is the name of a tried setting, how to change the datastore.
func change(mode compare.Mode) string {
	switch mode {
	case compare.Reranked:
		return "Rerank queries"
	case compare.Lexical, compare.Dense:
		return fmt.Sprintf(`Send "mode": %q with queries`, string(mode))
	}
	return fmt.Sprintf("Change the datastore to %s", mode)
}

// Human-readable descriptions of the reasons.
var labels = map[Reason]string{
	NotInDatastore: "not in the datastore", NotSearchable: "not searchable", NotExtracted: "not extracted", CutInTwo: "cut in two by chunking",
	FilteredOut: "filtered out", NotFound: "not found by a search", RankedLow: "ranked too low",
}

// Write writes the misses in human-readable form, grouped by reason. A question is a miss if none of its expected
// results is among the first k results.
func (r Result) Write(w io.Writer, k int) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\nMisses: %d of %d questions have no expected result among the first %d.", r.Missed, r.Questions, k)
	if n := len(r.Misses); n < r.Missed {
		fmt.Fprintf(&b, " The first %d are explained.", n)
	}
	b.WriteString("\n")
	counts := r.Count()
	for _, reason := range Reasons() {
		if counts[reason] == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n%s: %d\n", labels[reason], counts[reason])
		for _, m := range r.Misses {
			if m.Reason == reason {
				fmt.Fprintf(&b, "  %s  %s\n      %s\n", printable(m.ID), printable(m.Question), printable(m.Detail))
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteSuggestions writes the suggestions in human-readable form.
func WriteSuggestions(w io.Writer, suggestions []Suggestion) error {
	text := "\nNothing gave better results than hybrid search with the current settings.\n"
	if len(suggestions) > 0 {
		text = "\nChanges that improved the results:\n"
	}
	for _, s := range suggestions {
		text += "  " + s.Text + "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

// printable truncates long texts and replaces control characters, which could affect the terminal.
func printable(text string) string {
	return first(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text), 300)
}
