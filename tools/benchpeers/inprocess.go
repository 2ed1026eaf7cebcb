package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded"
	"github.com/sluice/sluice/pkg/retrieve"
)

// measureIndex opens a stopped service's index and searches it in this process, for comparison with stores that run in
// the caller's process. It measures two depths: only the best topK results, and as many candidates as the service
// retrieves for ranking. The time includes reading the text of the best topK results, but not embedding, ranking or
// network transfer.
func measureIndex(ctx context.Context, s settings, w *workload, dir, store string, errs io.Writer) (results []result, err error) {
	fmt.Fprintln(errs, "Sluice's index in process: asking …")
	began := time.Now()
	x, err := embedded.Open(filepath.Join(dir, "index"), embedded.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	spaces, err := x.Spaces(ctx, store)
	if err != nil {
		return nil, err
	}
	if len(spaces) != 1 {
		return nil, fmt.Errorf("the datastore has %d spaces", len(spaces))
	}
	part := index.Filter{}
	for row := filteredPart * rowsPerDocument; row < s.rows; row += rowsPerDocument * parts {
		part.CustomIDs = append(part.CustomIDs, documentID(row/rowsPerDocument))
	}
	full, vectors := retrieve.Depths(topK)
	for _, depth := range []struct {
		name          string
		full, vectors int
	}{{inProcess, topK, topK}, {fmt.Sprintf("%s, %d candidates by words and %d by vector", inProcess, full, vectors), full, vectors}} {
		asked := func(query func(question) index.Query) asker {
			return func(ctx context.Context, q question) ([]int, error) {
				asked := query(q)
				if asked.Limit, asked.VectorLimit = depth.full, depth.vectors; asked.Text == "" {
					asked.Limit = depth.vectors
				}
				return searchIndex(ctx, x, spaces[0], asked)
			}
		}
		dense := func(filter index.Filter) func(question) index.Query {
			return func(q question) index.Query { return index.Query{Vector: q.vector, Filter: filter} }
		}
		both := func(filter index.Filter) func(question) index.Query {
			return func(q question) index.Query { return index.Query{Text: q.text, Vector: q.vector, Filter: filter} }
		}
		words := func(q question) index.Query { return index.Query{Text: q.common} }
		if _, err := asked(dense(index.Filter{}))(ctx, w.questions[0]); err != nil {
			return nil, err
		}
		r := result{Name: depth.name, Open: time.Since(began).Seconds(), Figures: map[string]figure{}}
		for _, m := range []struct {
			name  string
			ask   asker
			truth func(question) []int
		}{
			{"hybrid", asked(both(index.Filter{})), nil},
			{"hybrid filtered", asked(both(part)), nil},
			{"dense", asked(dense(index.Filter{})), func(q question) []int { return q.nearest }},
			{"filtered", asked(dense(part)), func(q question) []int { return q.filtered }},
			{"words", asked(words), nil},
		} {
			for _, clients := range clientCounts {
				f, err := ask(ctx, querySettings{process: os.Getpid(), one: m.ask, truth: m.truth, questions: w.questions, clients: clients, limit: s.duration})
				if err != nil {
					return nil, fmt.Errorf("asking by %s: %w", m.name, err)
				}
				r.Figures[fmt.Sprint(m.name, "/", clients)] = f
			}
		}
		results = append(results, r)
		began = time.Now()
	}
	return results, nil
}

// Name in the tables for the index without its service.
const inProcess = "Sluice's index, in process"

// searchIndex searches the index, reads the text of the best hits and returns their rows.
func searchIndex(ctx context.Context, x index.Index, space index.Space, q index.Query) ([]int, error) {
	found, err := x.Search(ctx, space, q)
	if err != nil {
		return nil, err
	}
	defer found.Release()
	hits := make([]*index.Hit, len(found.Hits))
	for i := range found.Hits {
		hits[i] = &found.Hits[i]
	}
	score := func(h *index.Hit) float64 { return h.Dense + h.Lexical/max(found.MaxLexical, 1) }
	slices.SortFunc(hits, func(a, b *index.Hit) int { return cmp.Compare(score(b), score(a)) })
	hits = hits[:min(len(hits), topK)]
	if err := x.Fill(ctx, space, hits); err != nil {
		return nil, err
	}
	var rows []int
	for _, h := range hits {
		rows = append(rows, rowsIn(h.Text)...)
	}
	return rows, nil
}
