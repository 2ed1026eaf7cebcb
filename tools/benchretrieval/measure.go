package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/eval"
	"github.com/sluice/sluice/pkg/eval/service"
	"github.com/sluice/sluice/tools/internal/bench"
)

const (
	maxFragments = 100 // per query
	concurrent   = 4   // questions at a time
)

// measure runs the requested measurements, prints the figures and, if the -write flag is set, writes them into a
// document.
func measure(ctx context.Context, s settings, out, errs io.Writer) (err error) {
	wanted, err := bench.Collections(s.data, s.collections)
	if err != nil {
		return err
	}
	baseline, err := baselines(s.data)
	if err != nil {
		return err
	}
	b, err := start(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()

	var text strings.Builder
	fmt.Fprintf(&text, "%d processors of %s, %s; the %s model; engines: %s.\n", runtime.NumCPU(), runtime.GOARCH, runtime.Version(),
		modelName(s), strings.Join(s.engines, ", "))
	if slices.Contains(s.parts, "collections") {
		var results []result
		for _, name := range wanted {
			if slices.Contains(passageSets, name) {
				continue
			}
			c, err := bench.LoadCollection(s.data, name)
			if err != nil {
				return err
			}
			r, err := b.measureCollection(ctx, s, collection{c, baseline[name]}, errs)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			results = append(results, r)
		}
		writeCollections(&text, s, results)
	}
	if slices.Contains(s.parts, "passages") {
		if err := b.measurePassages(ctx, s, wanted, &text, errs); err != nil {
			return err
		}
	}
	if slices.Contains(s.parts, "joined") {
		if err := b.measureJoined(ctx, s, wanted, &text, errs); err != nil {
			return err
		}
	}
	if slices.Contains(s.parts, "long") {
		if err := b.measureLong(ctx, s, &text, errs); err != nil {
			return err
		}
	}
	return bench.Publish(out, s.write, "bench-retrieval", text.String())
}

// result is the result for one collection.
type result struct {
	name   string
	bm25   float64
	scores map[way]scores
}

// way is an engine and a search mode.
type way struct{ engine, mode string }

// scores holds a collection's metrics per question.
type scores struct{ ndcg, recall10, recall100, mrr []float64 }

// measureCollection uploads the collection to each engine and asks its questions in each mode.
func (b *measured) measureCollection(ctx context.Context, s settings, c collection, errs io.Writer) (result, error) {
	r := result{name: c.Name, bm25: c.bm25, scores: map[way]scores{}}
	for _, engine := range s.engines {
		id, err := b.datastore(ctx, s, content{name: c.Name, documents: c.Uploads()}, engine, errs)
		if err != nil {
			return r, err
		}
		for _, mode := range s.modes {
			run, err := b.ask(ctx, id, mode, c.Questions)
			if err != nil {
				return r, fmt.Errorf("asking in mode %s on %s: %w", mode, engine, err)
			}
			if err := saveRun(s.runs, c.Name, engine, mode, run); err != nil {
				return r, err
			}
			r.scores[way{engine, mode}] = score(c, run)
			fmt.Fprintf(errs, "%s, %s, %s: nDCG@10 %.4f, BM25 %.4f\n", c.Name, engine, mode, bench.Mean(r.scores[way{engine, mode}].ndcg), c.bm25)
		}
	}
	return r, nil
}

// ask asks all questions. For each one, it ranks the documents found by their best fragment.
func (b *measured) ask(ctx context.Context, id, mode string, questions []eval.Question) (eval.Run, error) {
	answers, err := b.answers(ctx, id, mode, questions)
	if err != nil {
		return nil, err
	}
	run := eval.Run{}
	for i, q := range questions {
		for _, f := range answers[i] {
			run.Add(q.ID, f.CustomID, f.Score)
		}
	}
	return run, nil
}

// answers returns each question's fragments, in the questions' order.
func (b *measured) answers(ctx context.Context, id, mode string, questions []eval.Question) ([][]service.Fragment, error) {
	answers := make([][]service.Fragment, len(questions))
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrent)
	for i, q := range questions {
		group.Go(func() error {
			found, err := b.Query(gctx, id, service.Query{Text: q.Text, TopK: b.top, Mode: mode})
			if err != nil {
				return fmt.Errorf("question %s: %w", q.ID, err)
			}
			answers[i] = found
			return nil
		})
	}
	return answers, group.Wait()
}

// score evaluates a run like trec_eval, over the questions with a relevant document.
func score(c collection, run eval.Run) scores {
	var s scores
	for _, q := range c.Relevant.Judged() {
		ranking, grades := run.Ranking(q), c.Relevant.Relevant(q)
		s.ndcg = append(s.ndcg, eval.NDCG(ranking, grades, 10))
		s.recall10 = append(s.recall10, eval.Recall(ranking, grades, 10))
		s.recall100 = append(s.recall100, eval.Recall(ranking, grades, 100))
		s.mrr = append(s.mrr, eval.MRR(ranking, grades, 10))
	}
	return s
}

func saveRun(folder, name, engine, mode string, run eval.Run) error {
	if folder == "" {
		return nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(folder, name+"."+engine+"."+mode+".tsv"))
	if err != nil {
		return err
	}
	return errors.Join(run.Write(f), f.Close())
}
