package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/eval"
	"github.com/sluice/sluice/pkg/eval/service"
	"github.com/sluice/sluice/tools/internal/bench"
)

// budget limits how much of a result counts, in fragments or characters.
type budget struct{ fragments, characters int }

var budgets = []budget{{fragments: 5}, {fragments: 10}, {characters: 4000}, {characters: 8000}}

func (b budget) String() string {
	if b.fragments > 0 {
		return fmt.Sprintf("%d fragments", b.fragments)
	}
	return fmt.Sprintf("%d characters", b.characters)
}

// take returns the fragments within the budget. For a budget in characters, it clips the last one, so that all
// chunkings return the same amount of text.
func (b budget) take(found []service.Fragment) []service.Fragment {
	if b.fragments > 0 {
		return found[:min(b.fragments, len(found))]
	}
	left := b.characters
	for i, f := range found {
		n := utf8.RuneCountInString(f.Text)
		if n >= left {
			f.Text = f.Text[:byteOffset(f.Text, left)]
			return append(slices.Clone(found[:i]), f)
		}
		left -= n
	}
	return found
}

// measurePassages measures the recall and precision of answer passages on the collections of long documents.
func (b *measured) measurePassages(ctx context.Context, s settings, wanted []string, out, errs io.Writer) error {
	for _, name := range passageSets {
		if !slices.Contains(wanted, name) {
			continue
		}
		if s.spans == "" {
			fmt.Fprintf(errs, "%s is skipped: set -spans or BENCH_SPANS to the folder that contains %s and %s, the positions of the answers.\n", name, chromaAnswers, covidAnswers)
			continue
		}
		c, err := bench.LoadCollection(s.data, name)
		if err != nil {
			return err
		}
		relevant, err := readAnswers(s.spans, c)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "\n### Passages of %s: %d documents, %d questions\n\n", name, len(c.Documents), len(c.Questions))
		for _, engine := range s.engines {
			if err := b.measureSet(ctx, s, c, relevant, engine, out, errs); err != nil {
				return fmt.Errorf("%s on %s: %w", name, engine, err)
			}
		}
	}
	return nil
}

// measureSet measures all chunkings on one engine and writes the figures.
func (b *measured) measureSet(ctx context.Context, s settings, c bench.Collection, relevant passages, engine string, out, errs io.Writer) error {
	fmt.Fprintf(out, "%s engine, %s. Recall and precision in percent, with the interval of 95%%; characters are those returned on average.\n\n", engine, s.modes[0])
	bench.Header(out, 2, "read", "chunking", "recall", "precision", "characters")
	places := newFragmentLocator(c.Documents)
	answers := make([][][]service.Fragment, len(chunkings))
	for i, w := range chunkings {
		id, err := b.datastore(ctx, s, w.cut(c), engine, errs)
		if err != nil {
			return err
		}
		if answers[i], err = b.answers(ctx, id, s.modes[0], c.Questions); err != nil {
			return fmt.Errorf("asking with %s: %w", w.name, err)
		}
		fmt.Fprintf(errs, "%s, %s, %s: asked\n", c.Name, engine, w.name)
	}
	unplaced := 0
	for _, limit := range budgets {
		for i, w := range chunkings {
			var recalls, precisions []float64
			characters := 0
			for n, q := range c.Questions {
				returned := eval.Passages{}
				for _, f := range limit.take(answers[i][n]) {
					characters += utf8.RuneCountInString(f.Text)
					document, spans, err := places.locate(f, w)
					if err != nil {
						return err
					}
					if spans == nil && strings.TrimSpace(f.Text) != "" {
						if unplaced++; unplaced <= 3 {
							fmt.Fprintf(errs, "%s: a fragment of %q, at %d, is not in it: %.100q …\n", c.Name, f.CustomID, f.Offset, f.Text)
						}
						document, spans = "", []eval.Span{{End: len(f.Text)}} // returned, but not relevant
					}
					returned[document] = append(returned[document], spans...)
				}
				recall, precision := eval.Coverage(returned, relevant[q.ID])
				recalls, precisions = append(recalls, recall), append(precisions, precision)
			}
			fmt.Fprintf(out, "| %s | %s | %s | %s | %d |\n", limit, w.name, percent(eval.Bootstrap(recalls)), percent(eval.Bootstrap(precisions)), characters/max(1, len(c.Questions)))
		}
	}
	if unplaced > 0 {
		fmt.Fprintf(out, "\nFragments that could not be found in their document, and count as text that is not relevant: %d.\n", unplaced)
	}
	fmt.Fprintln(out)
	return nil
}

func percent(i eval.Interval) string {
	return fmt.Sprintf("%.1f [%.1f, %.1f]", 100*i.Mean, 100*i.Low, 100*i.High)
}
