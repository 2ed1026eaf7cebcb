// Command benchretrieval measures how good the fragments are that come back. It starts the service on loopback, hands
// it collections of documents over HTTP, asks their questions, and scores what comes back: by document beside BM25 on
// collections in BEIR's form, and by passage beside fixed windows on long documents. What it prints is Markdown.
//
//	go run ./tools/benchretrieval [-data folder] [-collections cacm,med] [-engines embedded,milvus] [-modes hybrid,lexical,dense]
//	go run ./tools/benchretrieval -model folder-of-a-sentence-transformer -keep folder
//
// docs/retrieval.md says what the collections are and how to get them.
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
	"slices"
	"strings"
	"syscall"

	"github.com/sluice/sluice/tools/local/engines"
)

// settings are the command's flags.
type settings struct {
	api         string
	data        string
	spans       string
	collections []string // all that there are without any
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
	engines.RunChildIfAsked() // does not return in the guard of an engine
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "benchretrieval:", err)
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

// parse reads the flags. What a flag may say is said where a wrong one is refused.
func parse(args []string, errs io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("benchretrieval", flag.ContinueOnError)
	flags.SetOutput(errs)
	list := func(into *[]string, name, value, usage string, known ...string) {
		*into = split(value)
		flags.Func(name, usage+" (default "+or(value, "all")+")", func(text string) error {
			*into = split(text)
			for _, item := range *into {
				if len(known) > 0 && !slices.Contains(known, item) {
					return fmt.Errorf("%q is none of %s", item, strings.Join(known, ", "))
				}
			}
			return nil
		})
	}
	flags.StringVar(&s.api, "api", "bin/sluice", "the service's program")
	flags.StringVar(&s.data, "data", or(os.Getenv("BENCH_IR"), "../shared/data/ir"), "the folder of collections; also BENCH_IR")
	flags.StringVar(&s.spans, "spans", os.Getenv("BENCH_SPANS"), "the folder with questions_df.csv and COVID-QA.json, which say where in the documents the answers are; also BENCH_SPANS")
	list(&s.collections, "collections", os.Getenv("BENCH_COLLECTIONS"), "the collections, parted by commas; also BENCH_COLLECTIONS")
	list(&s.engines, "engines", or(os.Getenv("BENCH_ENGINES"), "embedded,milvus"), "the engines, of embedded and milvus; also BENCH_ENGINES", "embedded", "milvus")
	list(&s.modes, "modes", or(os.Getenv("BENCH_MODES"), "hybrid,lexical,dense"), "the modes, of hybrid, lexical and dense; also BENCH_MODES", "hybrid", "lexical", "dense")
	list(&s.parts, "parts", "collections,passages", "what is measured, of collections and passages", "collections", "passages")
	flags.StringVar(&s.model, "model", os.Getenv("BENCH_MODEL"), "the folder of a sentence-transformer (SLUICE_EMBED_DIR); without it, the built-in model; also BENCH_MODEL")
	flags.StringVar(&s.keep, "keep", os.Getenv("BENCH_KEEP"), "a data directory that stays, and is taken up where it is there: content is not taken in twice; also BENCH_KEEP")
	flags.StringVar(&s.runs, "runs", "", "a folder for what was found: a file of question, document and score for each collection, engine and mode")
	flags.IntVar(&s.top, "top", mostFragments, "fragments of one answer, of which figures take each document's best one; a search goes deeper where more are asked for")
	flags.StringVar(&s.write, "write", "", "a Markdown file whose section of figures is replaced")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if s.top < 1 || s.top > mostFragments {
		return s, fmt.Errorf("-top is %d, must be 1 to %d", s.top, mostFragments)
	}
	for _, path := range []*string{&s.model, &s.keep, &s.runs} {
		if *path == "" {
			continue
		}
		var err error
		if *path, err = filepath.Abs(*path); err != nil {
			return s, err
		}
	}
	return s, nil
}

func split(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

func or(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}
