package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"github.com/sluice/sluice/pkg/eval"
	"github.com/sluice/sluice/pkg/eval/service"
	"github.com/sluice/sluice/tools/internal/bench"
)

// smallSizes lists typical sizes of new users' datastores, and how many datastores of each size to create. Each size
// gets about the same total number of documents.
var smallSizes = []struct{ documents, datastores int }{{1, 48}, {3, 16}, {8, 8}, {30, 3}}

const (
	smallSeed      = 7 // fixed, so that each run draws the same datastores
	smallQuestions = 4 // maximum per document, so that no document dominates
)

// smallResult is the result for datastores of one size.
type smallResult struct {
	name      string
	documents int // per datastore
	own       tally
	foreign   tally // questions about documents not in the datastore
}

// draw picks random documents for a datastore. It also returns questions that these documents answer (`own`), and up to
// as many questions that they don't answer (`foreign`).
func draw(c collection, size int, random *rand.Rand) (documents []service.Document, own, foreign []eval.Question) {
	in := map[string]bool{}
	for _, i := range random.Perm(len(c.documents))[:min(size, len(c.documents))] {
		documents = append(documents, c.documents[i])
		in[c.documents[i].CustomID] = true
	}
	of := map[string]int{} // by document
	for _, i := range random.Perm(len(c.Questions)) {
		q := c.Questions[i]
		answering := ""
		for id := range c.Relevant.Relevant(q.ID) {
			if in[id] {
				answering = id
			}
		}
		switch {
		case answering == "":
			foreign = append(foreign, q)
		case of[answering] < smallQuestions:
			of[answering]++
			own = append(own, q)
		}
	}
	return documents, own, foreign[:min(len(foreign), len(own))]
}

// measureAllSmall measures small datastores and prints the figures.
func measureAllSmall(ctx context.Context, s settings, b *bench.Service, wanted []string, out, errs io.Writer) error {
	var results []smallResult
	for _, name := range wanted {
		c, err := load(s, name)
		if err != nil {
			return err
		}
		r, err := measureSmall(ctx, b, c, errs)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		results = append(results, r...)
	}
	writeSmall(out, results)
	return nil
}

// measureSmall creates datastores of each size from a collection and asks questions that they can and can't answer.
func measureSmall(ctx context.Context, b *bench.Service, c collection, errs io.Writer) ([]smallResult, error) {
	var out []smallResult
	for _, size := range smallSizes {
		r := smallResult{name: c.Name, documents: size.documents}
		random := rand.New(rand.NewPCG(smallSeed, uint64(size.documents)))
		for n := range size.datastores {
			documents, own, foreign := draw(c, size.documents, random)
			store, agent, err := fill(ctx, b, fmt.Sprintf("%s, %d documents, %d", c.Name, size.documents, n), documents)
			if err != nil {
				return nil, err
			}
			asked, err := askAll(ctx, b, store, agent, slices.Concat(own, foreign), false)
			if err != nil {
				return nil, err
			}
			for i, q := range own {
				r.own.add(asked[i], c.gold[q.ID], c.Relevant.Relevant(q.ID))
			}
			for i, q := range foreign {
				r.foreign.add(asked[len(own)+i], c.gold[q.ID], c.Relevant.Relevant(q.ID))
			}
		}
		fmt.Fprintf(errs, "%s, %d datastores of %d documents: %d questions\n", c.Name, size.datastores, size.documents, r.own.questions+r.foreign.questions)
		out = append(out, r)
	}
	return out, nil
}

// writeSmall writes the table for small datastores, including the mean for each size.
func writeSmall(out io.Writer, results []smallResult) {
	bench.Header(out, 1, "collection", "documents", "questions", "answer held", "answered", "of others: declined")
	row := func(name string, r smallResult) {
		fmt.Fprintf(out, "| %s | %d | %d | **%s** | %s | %s |\n", name, r.documents, r.own.questions, bench.Figure("%.3f", bench.Share(r.own.held, r.own.questions)),
			bench.Figure("%.3f", bench.Share(r.own.answered, r.own.questions)), bench.Figure("%.3f", 1-bench.Share(r.foreign.answered, r.foreign.questions)))
	}
	for _, r := range results {
		row(r.name, r)
	}
	for _, size := range smallSizes {
		sum := smallResult{documents: size.documents}
		for _, r := range results {
			if r.documents == size.documents {
				sum.own = sum.own.plus(r.own)
				sum.foreign = sum.foreign.plus(r.foreign)
			}
		}
		row("**all**", sum)
	}
}

// plus adds up two tallies. It adds only the figures that are in the table.
func (t tally) plus(other tally) tally {
	t.questions += other.questions
	t.answered += other.answered
	t.held += other.held
	return t
}
