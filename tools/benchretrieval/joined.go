package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/eval/service"
	"github.com/sluice/sluice/tools/internal/bench"
)

// Questions with several parts are made by joining a collection's questions. A joined question counts as answered if,
// for each of its parts, one of the first joinedTop fragments comes from a relevant document.
const (
	joinedTop   = 10
	joinedParts = 4 // maximum
)

// measureJoined writes, for each collection and number of parts, the fraction of joined questions with a relevant
// document for every part.
func (b *measured) measureJoined(ctx context.Context, s settings, wanted []string, out, errs io.Writer) error {
	fmt.Fprintf(out, "\nShare of %d joined questions whose parts all have a relevant document among the first %d fragments:\n\n| collection |", bench.JoinedQuestions, joinedTop)
	for n := 1; n <= joinedParts; n++ {
		fmt.Fprintf(out, " %d |", n)
	}
	fmt.Fprint(out, "\n|---|"+strings.Repeat("---|", joinedParts)+"\n")
	for _, name := range wanted {
		loaded, err := bench.LoadCollection(s.data, name)
		if err != nil {
			return err
		}
		c := collection{Collection: loaded}
		id, err := b.datastore(ctx, s, content{name: name, documents: c.Uploads()}, s.engines[0], errs)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "| %s |", name)
		for n := 1; n <= joinedParts; n++ {
			complete, err := b.complete(ctx, id, c, bench.Join(loaded, n, bench.JoinedSeed))
			if err != nil {
				return fmt.Errorf("%s, %d parts: %w", name, n, err)
			}
			fmt.Fprintf(out, " %.2f |", float64(complete)/bench.JoinedQuestions)
		}
		fmt.Fprintln(out)
	}
	return nil
}

// complete counts the joined questions with a relevant document for every part.
func (b *measured) complete(ctx context.Context, id string, c collection, questions []bench.Joined) (int, error) {
	found := make([]bool, len(questions))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrent)
	for i, q := range questions {
		group.Go(func() error {
			fragments, err := b.Query(ctx, id, service.Query{Text: q.Text, TopK: joinedTop, Mode: "hybrid"})
			if err != nil {
				return fmt.Errorf("question %q: %w", q.Text, err)
			}
			found[i] = true
			for _, part := range q.Parts {
				grades, has := c.Relevant.Relevant(part), false
				for _, f := range fragments {
					has = has || grades[f.CustomID] > 0
				}
				found[i] = found[i] && has
			}
			return nil
		})
	}
	err := group.Wait()
	n := 0
	for _, f := range found {
		if f {
			n++
		}
	}
	return n, err
}
