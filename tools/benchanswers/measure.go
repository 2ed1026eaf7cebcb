package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/eval"
	"github.com/sluice/sluice/pkg/eval/service"
	"github.com/sluice/sluice/tools/internal/bench"
)

const concurrent = 2 // number of concurrent questions

// measure runs the measurements, prints the figures and, if the -write flag is set, writes them into a document.
func measure(ctx context.Context, s settings, out, errs io.Writer) (err error) {
	wanted, err := names(s)
	if err != nil {
		return err
	}
	dir, remove, err := bench.Directory(s.keep)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	b, err := bench.Start(ctx, s.api, dir)
	defer func() { err = errors.Join(err, b.Close()) }()
	if err != nil {
		return err
	}
	switch {
	case s.small:
		return measureAllSmall(ctx, s, b, wanted, out, errs)
	case s.joined:
		return measureAllJoined(ctx, s, b, wanted, out, errs)
	}
	var results []result
	for _, name := range wanted {
		c, err := load(s, name)
		if err != nil {
			return err
		}
		r, err := measureCollection(ctx, b, c, errs)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		results = append(results, r)
	}
	var text strings.Builder
	writeFigures(&text, results)
	return bench.Publish(out, s.write, "bench-answers", text.String())
}

// measureCollection uploads each part of a collection and asks that part's questions.
func measureCollection(ctx context.Context, b *bench.Service, c collection, errs io.Writer) (result, error) {
	r := result{name: c.Name}
	for i, p := range parts {
		documents, questions := p.selectFrom(c)
		store, agent, err := fill(ctx, b, c.Name+", "+p.name, documents)
		if err != nil {
			return r, err
		}
		asked, err := askAll(ctx, b, store, agent, questions, i == 0)
		if err != nil {
			return r, err
		}
		if i == 0 {
			for j, q := range questions {
				r.answered.add(asked[j], c.gold[q.ID], c.Relevant.Relevant(q.ID))
			}
		} else {
			r.foreign = append(r.foreign, refusals(asked))
		}
		fmt.Fprintf(errs, "%s, %s: %d questions\n", c.Name, p.name, len(questions))
	}
	return r, nil
}

// askAll asks an agent all questions and returns the answers in order. If `top` is true, it also retrieves each
// question's best fragment.
func askAll(ctx context.Context, b *bench.Service, store, agent string, questions []eval.Question, top bool) ([]exchange, error) {
	asked := make([]exchange, len(questions))
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrent)
	for i, q := range questions {
		group.Go(func() (err error) {
			asked[i], err = ask(gctx, b, store, agent, q, top)
			return err
		})
	}
	return asked, group.Wait()
}

// exchange is a question's answer and best fragment.
type exchange struct {
	answer service.Answer
	top    []service.Fragment // at most the best one
}

func ask(ctx context.Context, b *bench.Service, store, agent string, q eval.Question, top bool) (e exchange, err error) {
	if e.answer, err = b.Ask(ctx, agent, q.Text); err != nil {
		return e, fmt.Errorf("asking question %s: %w", q.ID, err)
	}
	if top {
		if e.top, err = b.Query(ctx, store, service.Query{Text: q.Text, TopK: 1}); err != nil {
			return e, fmt.Errorf("searching for question %s: %w", q.ID, err)
		}
	}
	return e, nil
}

// fill creates a datastore with the documents, waits until they are searchable, and creates an agent. It returns the
// ids of the datastore and the agent.
func fill(ctx context.Context, b *bench.Service, name string, documents []service.Document) (store, agent string, err error) {
	made, err := b.CreateDatastore(ctx, service.NewDatastore{Name: name})
	if err != nil {
		return "", "", fmt.Errorf("making datastore %q: %w", name, err)
	}
	if err := b.Fill(ctx, made.ID, slices.Values(documents)); err != nil {
		return "", "", fmt.Errorf("filling %q: %w", name, err)
	}
	agent, err = b.CreateAgent(ctx, name, made.ID)
	return made.ID, agent, err
}

// result is the result for one collection.
type result struct {
	name     string
	answered tally
	foreign  []tally // one per part that leaves out the answers
}

// tally sums up the results of several questions.
type tally struct {
	questions  int
	answered   int // questions that got an answer
	held       int // answers with a gold answer
	cited      int // cited fragments
	citedGold  int // cited fragments from documents with the answer
	characters int // in all answers
	topHeld    int // questions whose best fragment contains a gold answer
	topGold    int // questions whose best fragment is from a document with the answer
	topLength  int // characters in all best fragments
}

func (t *tally) add(e exchange, gold []string, relevant map[string]int) {
	t.questions++
	for _, f := range e.top {
		t.topLength += utf8.RuneCountInString(f.Text)
		if containsAnswer(f.Text, gold) {
			t.topHeld++
		}
		if relevant[f.CustomID] > 0 {
			t.topGold++
		}
	}
	if len(e.answer.Sources) == 0 {
		return
	}
	t.answered++
	text := quoted(e.answer.Text)
	t.characters += utf8.RuneCountInString(text)
	if containsAnswer(text, gold) {
		t.held++
	}
	for _, f := range e.answer.Sources {
		t.cited++
		if relevant[f.CustomID] > 0 {
			t.citedGold++
		}
	}
}

// refusals counts the questions that the documents don't answer, and how many got an answer anyway.
func refusals(asked []exchange) (t tally) {
	for _, e := range asked {
		t.questions++
		if len(e.answer.Sources) > 0 {
			t.answered++
		}
	}
	return t
}
