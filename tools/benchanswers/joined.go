package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/sluice/sluice/pkg/eval"
	"github.com/sluice/sluice/tools/internal/bench"
)

// Number of questions that are joined into one.
const joinedParts = 2

// joinedResult holds the figures for one collection's joined questions.
type joinedResult struct {
	name     string
	all      int // questions whose parts are all answered
	some     int // questions with at least one answered part
	declined int
}

// measureAllJoined asks questions that consist of two questions from a collection, and prints how many answers contain
// a gold answer to both.
func measureAllJoined(ctx context.Context, s settings, b *bench.Service, wanted []string, out, errs io.Writer) error {
	var results []joinedResult
	for _, name := range wanted {
		c, err := load(s, name)
		if err != nil {
			return err
		}
		r, err := measureJoined(ctx, b, c)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(errs, "%s: %d joined questions\n", name, bench.JoinedQuestions)
		results = append(results, r)
	}
	bench.Header(out, 1, "collection", "joined questions", "both parts answered", "one or both", "declined")
	for _, r := range results {
		fmt.Fprintf(out, "| %s | %d | **%d** | %d | %d |\n", r.name, bench.JoinedQuestions, r.all, r.some, r.declined)
	}
	return nil
}

func measureJoined(ctx context.Context, b *bench.Service, c collection) (joinedResult, error) {
	r := joinedResult{name: c.Name}
	store, agent, err := fill(ctx, b, c.Name+", joined", c.documents)
	if err != nil {
		return r, err
	}
	joined := bench.Join(c.Collection, joinedParts)
	questions := make([]eval.Question, len(joined))
	for i, j := range joined {
		questions[i] = eval.Question{ID: strings.Join(j.Parts, "+"), Text: j.Text}
	}
	asked, err := askAll(ctx, b, store, agent, questions, false)
	if err != nil {
		return r, err
	}
	for i, e := range asked {
		r.add(e, joined[i], c.gold)
	}
	return r, nil
}

// add counts the answer to a joined question.
func (r *joinedResult) add(e exchange, q bench.Joined, gold map[string][]string) {
	if len(e.answer.Sources) == 0 {
		r.declined++
		return
	}
	text, held := quoted(e.answer.Text), 0
	for _, id := range q.Parts {
		if containsAnswer(text, gold[id]) {
			held++
		}
	}
	if held > 0 {
		r.some++
	}
	if held == len(q.Parts) {
		r.all++
	}
}
