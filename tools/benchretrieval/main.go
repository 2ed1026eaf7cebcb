// Command benchretrieval measures retrieval quality. It starts the service on loopback, uploads document collections
// over HTTP, asks their questions and scores the results. On collections in BEIR format, it scores documents and
// compares the scores with BM25's. On long documents, it scores passages and compares the scores with those of fixed
// windows. The output is Markdown.
//
//	go run ./tools/benchretrieval [-data folder] [-collections cacm,med] [-engines embedded,milvus] [-modes hybrid,lexical,dense]
//	go run ./tools/benchretrieval -model folder-of-a-sentence-transformer -keep folder
//
// docs/retrieval.md describes the collections and how to get them.
package main

import (
	"context"
	"fmt"
	"io"

	"github.com/sluice/sluice/tools/internal/bench"
	"github.com/sluice/sluice/tools/local/engines"
)

// settings holds the command's flags.
type settings struct {
	api         string
	data        string
	spans       string
	collections []string // default: all that exist
	engines     []string
	modes       []string
	parts       []string
	model       string
	keep        string
	runs        string
	write       string
	top         int
}

func main() {
	engines.RunChildIfAsked() // doesn't return in an engine's guard process
	bench.Main("benchretrieval", run)
}

func run(ctx context.Context, args []string, out, errs io.Writer) error {
	s, err := parse(args, errs)
	if err != nil {
		return err
	}
	return measure(ctx, s, out, errs)
}

// parse reads the flags. Its errors list the valid values.
func parse(args []string, errs io.Writer) (settings, error) {
	var s settings
	flags := bench.NewFlags("benchretrieval", errs)
	flags.Program(&s.api)
	flags.Path(&s.data, "data", "BENCH_IR", "../shared/data/ir", "folder of collections")
	flags.Path(&s.spans, "spans", "BENCH_SPANS", "", "folder with questions_df.csv and COVID-QA.json, which have the positions of answers")
	flags.List(&s.collections, "collections", "BENCH_COLLECTIONS", "", "comma-separated collections")
	flags.List(&s.engines, "engines", "BENCH_ENGINES", "embedded,milvus", "comma-separated engines: embedded, milvus", "embedded", "milvus")
	flags.List(&s.modes, "modes", "BENCH_MODES", "hybrid,lexical,dense", "comma-separated modes: hybrid, lexical, dense", "hybrid", "lexical", "dense")
	flags.List(&s.parts, "parts", "", "collections,passages", "measurements: collections, passages, joined (questions of several parts), long (generated contracts and annual reports)", "collections", "passages", "joined", "long")
	flags.Path(&s.model, "model", "BENCH_MODEL", "", "name of a built-in model, or folder of a sentence-transformers model; default: the default model")
	flags.Path(&s.keep, "keep", "BENCH_KEEP", "", "data directory to keep and reuse, so that content is not indexed twice")
	flags.Path(&s.runs, "runs", "", "", "folder for the results: a file of question, document and score for each collection, engine and mode")
	flags.IntVar(&s.top, "top", maxFragments, "results per query; figures use the best one of each document")
	flags.Write(&s.write)
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if s.top < 1 || s.top > maxFragments {
		return s, fmt.Errorf("-top is %d; it must be between 1 and %d", s.top, maxFragments)
	}
	return s, nil
}
