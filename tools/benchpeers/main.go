// Command benchpeers measures how fast Sluice answers beside what one would take instead: vector stores and word indexes of
// Python that run in process. All get the same vectors, texts and questions; Sluice is asked over HTTP, and its index by itself in
// this process, the others through their own clients. What it prints is Markdown.
//
//	go run ./tools/benchpeers [-rows 100000] [-peers chroma,qdrant] [-venv folder] [-alone] [-write docs/performance.md]
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
	"time"

	"github.com/sluice/sluice/tools/local/figures"
)

// settings are the command's flags.
type settings struct {
	api       string
	venv      string
	rows      int
	questions int
	each      time.Duration
	idle      time.Duration
	peers     []string
	alone     bool
	write     string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "benchpeers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, errs io.Writer) (err error) {
	s, err := parse(args, errs)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "benchpeers-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Fprintf(errs, "making %d chunks and %d questions …\n", s.rows, s.questions)
	w := newWorkload(s.rows, s.questions)
	if err := w.store(dir); err != nil {
		return fmt.Errorf("writing the workload: %w", err)
	}
	e, err := w.startEmbedder(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	ours, err := measureSluice(ctx, s, w, e.address, filepath.Join(dir, "sluice"), errs)
	if err != nil {
		return fmt.Errorf("measuring Sluice: %w", err)
	}
	results := ours
	if !s.alone {
		results = append(results, measurePeers(ctx, s, e.address, dir, errs)...)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var text strings.Builder
	writeTables(&text, s, results)
	if _, err := io.WriteString(out, text.String()); err != nil || s.write == "" {
		return err
	}
	return figures.Replace(s.write, "bench-peers", text.String())
}

// parse reads the flags.
func parse(args []string, errs io.Writer) (settings, error) {
	s := settings{peers: peerNames()}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	flags := flag.NewFlagSet("benchpeers", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.StringVar(&s.api, "api", "bin/sluice", "the service's program")
	flags.StringVar(&s.venv, "venv", filepath.Join(cache, "sluice", "peers"), "the folder of the peers' Python environment, which is made and filled where it is not there")
	flags.IntVar(&s.rows, "rows", 100_000, "chunks, a multiple of 10,000")
	flags.IntVar(&s.questions, "questions", 200, "questions, which are asked in turn")
	flags.DurationVar(&s.each, "each", 5*time.Second, "how long each figure is measured")
	flags.DurationVar(&s.idle, "idle", 40*time.Second, "how long nobody asks before memory is looked at")
	flags.Func("peers", "the peers, parted by commas (default "+strings.Join(s.peers, ",")+")", func(text string) error {
		s.peers = strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
		for _, p := range s.peers {
			if !slices.Contains(peerNames(), p) {
				return fmt.Errorf("%q is none of %s", p, strings.Join(peerNames(), ", "))
			}
		}
		return nil
	})
	flags.BoolVar(&s.alone, "alone", false, "measure Sluice alone")
	flags.StringVar(&s.write, "write", "", "a Markdown file whose section of figures is replaced")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("%q is not a flag", flags.Arg(0))
	}
	if s.rows < rowsPerDocument*parts || s.rows%(rowsPerDocument*parts) != 0 || s.questions < 1 || s.each <= 0 || s.idle < 0 {
		return s, fmt.Errorf("-rows must be a multiple of %d, -questions and -each above 0, -idle not below", rowsPerDocument*parts)
	}
	return s, nil
}
