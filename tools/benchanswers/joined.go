package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/eval/service"
	"github.com/sluice/sluice/pkg/question"
	"github.com/sluice/sluice/tools/internal/bench"
)

const (
	joinedParts = 2  // parts per joined question
	searched    = 10 // fragments that an answer is composed from
)

// fault explains how an answer misses the gold answer to one part of a joined question.
type fault string

// Possible faults, ordered by the stage at which they arise, from splitting the question to quoting a fragment.
const (
	notDivided   fault = "not divided"   // the question was not split into its parts
	notFound     fault = "not found"     // no retrieved fragment contains the gold answer
	partDeclined fault = "declined"      // according to the answer, the documents don't answer the part or the question
	otherText    fault = "other passage" // the answer cites no fragment with the gold answer
	cutOff       fault = "cut"           // the answer cites such a fragment, but quotes something else from it
)

var faults = []fault{notDivided, notFound, partDeclined, otherText, cutOff}

// joinedResult is a collection's result for joined questions.
type joinedResult struct {
	name     string
	all      int // questions with all parts answered
	some     int // questions with at least one part answered
	declined int
	faults   map[fault]int // parts without their gold answer, by fault
}

// measureAllJoined joins pairs of a collection's questions and asks them. It prints how many answers contain the gold
// answers to both parts, and why the other answers don't.
func measureAllJoined(ctx context.Context, s settings, b *bench.Service, wanted []string, out, errs io.Writer) error {
	var results []joinedResult
	for _, name := range wanted {
		c, err := load(s, name)
		if err != nil {
			return err
		}
		r, err := measureJoined(ctx, s, b, c, errs)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(errs, "%s: %d joined questions\n", name, bench.JoinedQuestions)
		results = append(results, r)
	}
	columns := []string{"collection", "joined questions", "both parts answered", "one or both", "declined"}
	for _, f := range faults {
		columns = append(columns, "parts: "+string(f))
	}
	bench.Header(out, 1, columns...)
	for _, r := range results {
		fmt.Fprintf(out, "| %s | %d | **%d** | %d | %d |", r.name, bench.JoinedQuestions, r.all, r.some, r.declined)
		for _, f := range faults {
			fmt.Fprintf(out, " %d |", r.faults[f])
		}
		fmt.Fprintln(out)
	}
	return nil
}

func measureJoined(ctx context.Context, s settings, b *bench.Service, c collection, errs io.Writer) (joinedResult, error) {
	r := joinedResult{name: c.Name, faults: make(map[fault]int)}
	store, agent, err := fill(ctx, b, c.Name+", joined", c.documents)
	if err != nil {
		return r, err
	}
	joined := bench.Join(c.Collection, joinedParts, s.seed)
	asked := make([]exchange, len(joined))
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(concurrent)
	for i, j := range joined {
		group.Go(func() (err error) {
			if asked[i].answer, err = b.Ask(within, agent, j.Text); err != nil {
				return fmt.Errorf("asking question %s: %w", strings.Join(j.Parts, "+"), err)
			}
			asked[i].top, err = b.Query(within, store, service.Query{Text: j.Text, TopK: searched})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return r, err
	}
	for i, e := range asked {
		missing := r.add(e, joined[i], c.gold)
		for n, f := range missing {
			if f != "" && s.wrong {
				fmt.Fprintf(errs, "%s: %s %q of %q, expected %q\n\tanswer: %q\n", f, joined[i].Parts[n], joined[i].Texts[n], joined[i].Text, c.gold[joined[i].Parts[n]], e.answer.Text)
			}
		}
	}
	return r, nil
}

// add counts the answer to a joined question. It returns a fault for each part of the question, or "" for a part whose
// gold answer is in the answer.
func (r *joinedResult) add(e exchange, q bench.Joined, gold map[string][]string) []fault {
	missing := make([]fault, len(q.Parts))
	text, held := quoted(e.answer.Text), 0
	for i, id := range q.Parts {
		if len(e.answer.Sources) > 0 && containsAnswer(text, gold[id]) {
			held++
			continue
		}
		missing[i] = e.fault(q, i, gold[id])
		r.faults[missing[i]]++
	}
	if len(e.answer.Sources) == 0 {
		r.declined++
	}
	if held > 0 {
		r.some++
	}
	if held == len(q.Parts) {
		r.all++
	}
	return missing
}

// fault returns why the answer lacks part i's gold answer.
func (e exchange) fault(q bench.Joined, i int, gold []string) fault {
	parts := question.Parts(q.Text)
	declined := len(e.answer.Sources) == 0 || i < len(parts) && strings.Contains(e.answer.Text, strings.TrimRight(parts[i].Text, "?"))
	switch {
	case len(parts) != len(q.Parts):
		return notDivided
	case !contains(e.top, gold):
		return notFound
	case declined:
		return partDeclined
	case !contains(e.answer.Sources, gold):
		return otherText
	default:
		return cutOff
	}
}

// contains reports whether any of the fragments contains a gold answer.
func contains(fragments []service.Fragment, gold []string) bool {
	for _, f := range fragments {
		if containsAnswer(f.Text, gold) {
			return true
		}
	}
	return false
}
