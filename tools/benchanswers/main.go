// Command benchanswers measures how good the answers of the built-in answerer are. It starts the service on loopback, hands
// it collections of documents over HTTP, puts their questions to an agent and holds the answers against those that the
// makers of the collection have marked; and it asks what the documents do not answer. What it prints is Markdown.
//
//	go run ./tools/benchanswers [-data folder] [-answers folder] [-collections xquad-en,xquad-zh] [-questions 200] [-small]
//
// docs/answers.md says what the collections and answers are.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

// settings are the command's flags.
type settings struct {
	api         string
	data        string
	answers     string
	collections []string // all that have answers without any
	questions   int      // of each collection at most; 0: all
	small       bool     // small datastores instead of whole collections
	keep        string
	write       string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "benchanswers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, errs io.Writer) error {
	s, err := parse(args, errs)
	if err != nil {
		return err
	}
	return measure(ctx, s, out, errs)
}

func parse(args []string, errs io.Writer) (settings, error) {
	var s settings
	var collections string
	flags := flag.NewFlagSet("benchanswers", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.StringVar(&s.api, "api", "bin/sluice", "the service's program")
	flags.StringVar(&s.data, "data", or(os.Getenv("BENCH_IR"), "../shared/data/ir"), "the folder of collections; also BENCH_IR")
	flags.StringVar(&s.answers, "answers", os.Getenv("BENCH_ANSWERS"), "the folder of answers: a file NAME.json in the form of SQuAD for each collection; also BENCH_ANSWERS")
	flags.StringVar(&collections, "collections", os.Getenv("BENCH_COLLECTIONS"), "the collections, parted by commas; without it, all that have answers; also BENCH_COLLECTIONS")
	flags.IntVar(&s.questions, "questions", 0, "how many questions of a collection are asked at most; 0: all")
	flags.BoolVar(&s.small, "small", false, "measure datastores of 1 to 30 documents drawn from the collections, in place of the collections as a whole")
	flags.StringVar(&s.keep, "keep", os.Getenv("BENCH_KEEP"), "a data directory that stays; also BENCH_KEEP")
	flags.StringVar(&s.write, "write", "", "a Markdown file whose section of figures is replaced")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	switch {
	case flags.NArg() > 0:
		return s, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case s.answers == "":
		return s, errors.New("-answers, or BENCH_ANSWERS, must name the folder of the answers")
	case s.small && s.write != "":
		return s, errors.New("-small has no section of figures to -write")
	case s.questions < 0:
		return s, fmt.Errorf("-questions is %d, must not be negative", s.questions)
	}
	s.collections = strings.FieldsFunc(collections, func(r rune) bool { return r == ',' || r == ' ' })
	if s.keep != "" {
		var err error
		if s.keep, err = filepath.Abs(s.keep); err != nil {
			return s, err
		}
	}
	return s, nil
}

func or(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}
