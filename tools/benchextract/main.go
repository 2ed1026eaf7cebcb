// Command benchextract measures how documents are read: how much of their text is found beside trusted extractors, how
// fast and in how much memory, and whether damaged files do harm. It reads the documents of testdata and, where a
// folder of measuring data lies beside the repository, those too. What it prints is Markdown.
//
//	go run ./tools/benchextract [-ingestor bin/ingestor] [-data ../shared/data] [-write docs/extraction.md]
//	go run ./tools/benchextract -torture [-keep folder] [-only pdf]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/sluice/sluice/pkg/extract"
)

// settings are the command's flags.
type settings struct {
	ingestor  string
	documents string
	data      string
	venv      string
	write     string
	only      string
	parts     string
	torture   tortureSettings
}

func main() {
	extract.RunChildIfAsked() // does not return in a process that reads documents
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "benchextract:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, errs io.Writer) error {
	var s settings
	flags := flag.NewFlagSet("benchextract", flag.ContinueOnError)
	flags.SetOutput(errs)
	data := os.Getenv("BENCH_DATA")
	if data == "" {
		data = "../shared/data"
	}
	flags.StringVar(&s.ingestor, "ingestor", "bin/ingestor", "the program that is measured")
	flags.StringVar(&s.documents, "documents", "testdata/documents", "the folder of sample documents")
	flags.StringVar(&s.data, "data", data, "the folder with docs and web to measure on; passed over where it is missing (also BENCH_DATA)")
	flags.StringVar(&s.venv, "venv", ".cache/bench-extract", "a Python environment with the extractors to compare with")
	flags.StringVar(&s.write, "write", "", "a Markdown file whose section of figures is replaced")
	flags.StringVar(&s.only, "only", "", "one kind of document: pdf, docx, web …; all without it")
	flags.StringVar(&s.parts, "parts", "score,speed,memory,office", "what is measured")
	torture := flags.Bool("torture", false, "damage every document in many ways, and read that")
	flags.StringVar(&s.torture.keep, "keep", "", "torture: a folder that keeps the files that did harm")
	flags.Uint64Var(&s.torture.damage.Seed, "seed", 1, "torture: what the damage follows from")
	flags.IntVar(&s.torture.damage.Truncations, "truncations", 10, "torture: steps in which a file is cut")
	flags.IntVar(&s.torture.damage.Flips, "flips", 6, "torture: copies with random bytes changed")
	flags.IntVar(&s.torture.damage.Numbers, "numbers", 4, "torture: copies with numbers changed")
	flags.IntVar(&s.torture.damage.Inside, "inside", 8, "torture: copies changed inside what they pack")
	flags.Int64Var(&s.torture.memory, "memory", 2<<30, "torture: the most memory that reading a file may take, in bytes")
	flags.DurationVar(&s.torture.timeout, "timeout", 2*time.Minute, "torture: the most processor time that reading a file may take; the default is that of ingestion")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	if *torture {
		return tortureAll(ctx, s, out, errs)
	}
	return measure(ctx, s, out, errs)
}
