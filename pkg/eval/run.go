package eval

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Run maps each question to the scores of the documents found for it.
type Run map[string]map[string]float64

// Add adds a document to the results for a question. If a document is added more than once, the highest score counts.
func (r Run) Add(question, document string, score float64) {
	if r[question] == nil {
		r[question] = map[string]float64{}
	}
	if has, found := r[question][document]; !found || score > has {
		r[question][document] = score
	}
}

// Ranking returns the results for a question, best first. Like trec_eval, it breaks ties in favour of the greater id.
func (r Run) Ranking(question string) []string {
	found := r[question]
	return slices.SortedFunc(maps.Keys(found), func(a, b string) int {
		return cmp.Or(cmp.Compare(found[b], found[a]), strings.Compare(b, a))
	})
}

// Write writes the run with one line per result: question, document and score, separated by tabs. Questions are sorted,
// the best documents come first, and scores have full precision.
func (r Run) Write(w io.Writer) error {
	out := bufio.NewWriter(w)
	for _, q := range slices.Sorted(maps.Keys(r)) {
		for _, d := range r.Ranking(q) {
			fmt.Fprintf(out, "%s\t%s\t%s\n", q, d, strconv.FormatFloat(r[q][d], 'g', -1, 64))
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing the run: %w", err)
	}
	return nil
}
