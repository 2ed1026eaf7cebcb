package eval

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Run maps each question to the scores of the documents found.
type Run map[string]map[string]float64

// Add adds a document to the results for a question. If it is added several times, the highest score counts.
func (r Run) Add(question, document string, score float64) {
	if r[question] == nil {
		r[question] = map[string]float64{}
	}
	if has, found := r[question][document]; !found || score > has {
		r[question][document] = score
	}
}

// Ranking returns the results for a question, best first. Among equal scores, the greater id comes first, as in
// trec_eval.
func (r Run) Ranking(question string) []string {
	found := r[question]
	ranking := make([]string, 0, len(found))
	for document := range found {
		ranking = append(ranking, document)
	}
	slices.SortFunc(ranking, func(a, b string) int {
		switch {
		case found[a] > found[b]:
			return -1
		case found[a] < found[b]:
			return 1
		}
		return strings.Compare(b, a)
	})
	return ranking
}

// ReadRun reads a run. Each line holds a question, a document and a score, separated by tabs, or the six columns of
// TREC's run format. Lines without tabs are split at spaces.
func ReadRun(r io.Reader) (Run, error) {
	run, n := Run{}, 0
	err := eachLine(r, "run", MaxFileBytes, func(_ int, line []byte) error {
		c := columns(string(line))
		switch len(c) {
		case 3:
		case 6:
			c = []string{c[0], c[2], c[4]}
		default:
			return fmt.Errorf("has %d columns: it must have question, document and score, separated by tabs", len(c))
		}
		score, err := strconv.ParseFloat(strings.TrimSpace(c[2]), 64)
		if err != nil || math.IsNaN(score) {
			return fmt.Errorf("%.80q is not a score", c[2])
		}
		if err := errors.Join(checkID(c[0]), checkID(c[1])); err != nil {
			return err
		}
		if n++; n > MaxJudgements {
			return fmt.Errorf("there are more than %d lines", MaxJudgements)
		}
		run.Add(c[0], c[1], score)
		return nil
	})
	return run, err
}

// Write writes the run in the format of ReadRun, with sorted questions and the best documents first. Scores have full
// precision.
func (r Run) Write(w io.Writer) error {
	questions := make([]string, 0, len(r))
	for q := range r {
		questions = append(questions, q)
	}
	slices.Sort(questions)
	out := bufio.NewWriter(w)
	for _, q := range questions {
		for _, d := range r.Ranking(q) {
			fmt.Fprintf(out, "%s\t%s\t%s\n", q, d, strconv.FormatFloat(r[q][d], 'g', -1, 64))
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing the run: %w", err)
	}
	return nil
}
