// Command benchanswers measures the quality of the built-in answerer. It starts the service on loopback, uploads
// collections of documents over HTTP, asks an agent their questions and compares the answers with the gold answers of
// the collection. It also asks questions that the documents do not answer. The output is Markdown.
//
//	go run ./tools/benchanswers [-data folder] [-answers folder] [-collections xquad-en,xquad-zh] [-questions 200] [-small]
//
// docs/answers.md describes the collections and answers.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sluice/sluice/tools/internal/bench"
)

// settings are the command's flags.
type settings struct {
	api         string
	data        string
	answers     string
	collections []string // empty: all that have answers
	questions   int      // maximum per collection; 0: all
	small       bool     // measure small datastores instead of whole collections
	keep        string
	write       string
}

func main() { bench.Main("benchanswers", run) }

func run(ctx context.Context, args []string, out, errs io.Writer) error {
	s, err := parse(args, errs)
	if err != nil {
		return err
	}
	return measure(ctx, s, out, errs)
}

func parse(args []string, errs io.Writer) (settings, error) {
	var s settings
	flags := bench.NewFlags("benchanswers", errs)
	flags.Program(&s.api)
	flags.Path(&s.data, "data", "BENCH_IR", "../shared/data/ir", "the folder of collections")
	flags.Path(&s.answers, "answers", "BENCH_ANSWERS", "", "the folder of answers: a file NAME.json in the form of SQuAD for each collection")
	flags.List(&s.collections, "collections", "BENCH_COLLECTIONS", "", "the collections that have answers, parted by commas")
	flags.IntVar(&s.questions, "questions", 0, "how many questions of a collection are asked at most; 0: all")
	flags.BoolVar(&s.small, "small", false, "measure datastores of 1 to 30 documents drawn from the collections, in place of the collections as a whole")
	flags.Path(&s.keep, "keep", "BENCH_KEEP", "", "a data directory that stays")
	flags.Write(&s.write)
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	switch {
	case s.answers == "":
		return s, errors.New("-answers, or BENCH_ANSWERS, must name the folder of the answers")
	case s.small && s.write != "":
		return s, errors.New("-small has no section of figures to -write")
	case s.questions < 0:
		return s, fmt.Errorf("-questions is %d, must not be negative", s.questions)
	}
	return s, nil
}
