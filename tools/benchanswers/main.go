// Command benchanswers measures the quality of the built-in answerer. It starts the service on loopback, uploads
// document collections over HTTP, asks an agent each collection's questions and compares the answers with the gold
// answers. It also asks questions that the documents do not answer. The output is Markdown.
//
//	go run ./tools/benchanswers [-data folder] [-answers folder] [-collections xquad-en,xquad-zh] [-questions 200] [-small | -joined [-wrong] [-seed 31]]
//	go run ./tools/benchanswers -set testdata/answers [-half tuning] [-wrong]
//	go run ./tools/benchanswers -set testdata/answers -half tuning -first-token [-rounds 5] [-base other/sluice]
//
// docs/answers.md describes the collections and answers, and testdata/answers/README.md describes the question set.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sluice/sluice/tools/internal/bench"
)

// settings holds the command's flags.
type settings struct {
	api         string
	data        string
	answers     string
	collections []string // default: all with answers
	questions   int      // maximum per collection; 0 means all
	small       bool     // measure small datastores instead of whole collections
	joined      bool     // ask joined pairs of questions
	seed        uint64   // for joined: seed for choosing pairs
	set         string   // folder with a question set to measure instead of collections
	half        string   // half of the set to measure; "" means both
	wrong       bool     // print wrong answers (question sets and joined questions)
	firstToken  bool     // measure the time to a chat model's first token
	rounds      int      // for firstToken: how often to ask each question
	profile     string   // for firstToken: file for the service's profile, if any
	base        string   // for firstToken: another program to compare with, if any
	keep        string
	write       string
}

func main() { bench.Main("benchanswers", run) }

func run(ctx context.Context, args []string, out, errs io.Writer) error {
	s, err := parse(args, errs)
	if err != nil {
		return err
	}
	if s.firstToken {
		return measureFirstToken(ctx, s, out, errs)
	}
	if s.set != "" {
		return measureSet(ctx, s, out, errs)
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
	flags.IntVar(&s.questions, "questions", 0, "maximum questions per collection, or with -first-token of the set; 0: all")
	flags.BoolVar(&s.small, "small", false, "measure datastores of 1 to 30 documents drawn from the collections instead of whole collections")
	flags.BoolVar(&s.joined, "joined", false, "ask questions of two parts, joined from two questions of the collection")
	flags.Uint64Var(&s.seed, "seed", bench.JoinedSeed, "with -joined: random seed of the pairs")
	flags.Path(&s.set, "set", "", "", "the folder of a question set, which is measured instead of collections")
	flags.StringVar(&s.half, "half", "", "ask the questions of one half of the set: tuning or held-out")
	flags.BoolVar(&s.wrong, "wrong", false, "print the wrong answers to questions of the set, or to joined questions")
	flags.BoolVar(&s.firstToken, "first-token", false, "measure the delay of a chat model's first token for agents with and without plans and marks, on the questions of the set")
	flags.IntVar(&s.rounds, "rounds", 5, "with -first-token: how often each question is asked")
	flags.StringVar(&s.profile, "profile", "", "with -first-token: file for a profile of the service's processor time")
	flags.StringVar(&s.base, "base", "", "with -first-token: another program of the service to compare with")
	flags.Path(&s.keep, "keep", "BENCH_KEEP", "", "data directory that is kept after the run")
	flags.Write(&s.write)
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	switch {
	case s.set == "" && (s.half != "" || s.firstToken):
		return s, errors.New("-half and -first-token apply to the questions of a -set")
	case s.set == "" && s.wrong && !s.joined:
		return s, errors.New("-wrong applies to the questions of a -set and to -joined")
	case s.set != "" && (s.small || s.joined || s.write != ""):
		return s, errors.New("-small, -joined and -write apply to collections, not to a -set")
	case s.half != "" && s.half != "tuning" && s.half != "held-out":
		return s, fmt.Errorf("-half is %q; it must be tuning or held-out", s.half)
	case s.set == "" && s.answers == "":
		return s, errors.New("set -answers or BENCH_ANSWERS to the folder that contains the answers")
	case s.small && s.joined:
		return s, errors.New("-small and -joined are two measurements; give one of them")
	case (s.small || s.joined) && s.write != "":
		return s, errors.New("-small and -joined have no section of figures to -write")
	case !s.firstToken && (s.base != "" || s.profile != ""):
		return s, errors.New("-base and -profile apply to -first-token")
	case s.rounds < 1:
		return s, fmt.Errorf("-rounds is %d; it must be at least 1", s.rounds)
	case s.questions < 0:
		return s, fmt.Errorf("-questions is %d; it must not be negative", s.questions)
	}
	return s, nil
}
