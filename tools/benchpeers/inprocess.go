package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded"
)

// measureIndex opens the index of a stopped service and searches it in this process, for comparison with stores that
// run in the caller's process. The measured time includes reading the texts found, but no embedding, ranking or network
// transfer.
func measureIndex(ctx context.Context, s settings, w *workload, dir, store string, errs io.Writer) (r result, err error) {
	fmt.Fprintln(errs, "Sluice's index in process: asking …")
	began := time.Now()
	x, err := embedded.Open(filepath.Join(dir, "index"), embedded.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return result{}, err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	spaces, err := x.Spaces(ctx, store)
	if err != nil {
		return result{}, err
	}
	if len(spaces) != 1 {
		return result{}, fmt.Errorf("the datastore has %d spaces", len(spaces))
	}
	part := index.Filter{}
	for row := filteredPart * rowsPerDocument; row < s.rows; row += rowsPerDocument * parts {
		part.CustomIDs = append(part.CustomIDs, documentID(row/rowsPerDocument))
	}
	asked := func(query func(question) index.Query) asker {
		return func(ctx context.Context, q question) ([]int, error) { return searchIndex(ctx, x, spaces[0], query(q)) }
	}
	dense := func(filter index.Filter) func(question) index.Query {
		return func(q question) index.Query { return index.Query{Vector: q.vector, Limit: topK, Filter: filter} }
	}
	both := func(filter index.Filter) func(question) index.Query {
		return func(q question) index.Query {
			return index.Query{Text: q.text, Vector: q.vector, Limit: topK, Filter: filter}
		}
	}
	words := func(q question) index.Query { return index.Query{Text: q.common, Limit: topK} }
	if _, err := asked(dense(index.Filter{}))(ctx, w.questions[0]); err != nil {
		return result{}, err
	}
	r = result{Name: inProcess, Open: time.Since(began).Seconds(), Figures: map[string]figure{}}
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
				return result{}, fmt.Errorf("asking by %s: %w", m.name, err)
			}
			r.Figures[fmt.Sprint(m.name, "/", clients)] = f
		}
	}
	return r, nil
}

// Name that the tables use for the index when it is searched without the service.
const inProcess = "Sluice's index, in process"

// searchIndex searches the index, reads the texts, and returns the rows found.
func searchIndex(ctx context.Context, x index.Index, space index.Space, q index.Query) ([]int, error) {
	found, err := x.Search(ctx, space, q)
	if err != nil {
		return nil, err
	}
	hits := make([]*index.Hit, len(found.Hits))
	for i := range found.Hits {
		hits[i] = &found.Hits[i]
	}
	if err := x.Fill(ctx, space, hits); err != nil {
		return nil, err
	}
	var rows []int
	for _, h := range hits {
		rows = append(rows, rowsIn(h.Text)...)
	}
	return rows, nil
}
