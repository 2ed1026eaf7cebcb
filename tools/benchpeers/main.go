// Command benchpeers compares Sluice's query speed with that of common alternatives: vector stores, and full-text
// indexes that run in the Python process. All of them get the same vectors, texts and questions. The command queries
// Sluice over HTTP and also searches Sluice's index directly in this process. It queries the other products through
// their own clients. The output is Markdown.
//
//	go run ./tools/benchpeers [-rows 100000] [-peers chroma,qdrant] [-venv folder] [-alone] [-write tools/benchpeers/README.md]
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sluice/sluice/tools/internal/bench"
)

// settings holds the command's flags.
type settings struct {
	api       string
	venv      string
	rows      int
	questions int
	duration  time.Duration
	idle      time.Duration
	peers     []string
	alone     bool
	write     string
}

func main() { bench.Main("benchpeers", run) }

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
	embedder, err := bench.Serve(ctx, http.HandlerFunc(w.embed))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, embedder.Close()) }()
	address := embedder.Address + "/v1"
	ours, err := measureSluice(ctx, s, w, address, filepath.Join(dir, "sluice"), errs)
	if err != nil {
		return fmt.Errorf("measuring Sluice: %w", err)
	}
	results := ours
	if !s.alone {
		results = append(results, measurePeers(ctx, s, address, dir, errs)...)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var text strings.Builder
	writeTables(&text, s, results)
	return bench.Publish(out, s.write, "bench-peers", text.String())
}

func parse(args []string, errs io.Writer) (settings, error) {
	var s settings
	flags := bench.NewFlags("benchpeers", errs)
	flags.Program(&s.api)
	flags.Peers(&s.venv, &s.alone, "peers")
	flags.IntVar(&s.rows, "rows", 100_000, "number of chunks, a multiple of 10,000")
	flags.IntVar(&s.questions, "questions", 200, "number of questions")
	flags.DurationVar(&s.duration, "each", 5*time.Second, "duration of each measurement")
	flags.DurationVar(&s.idle, "idle", 40*time.Second, "idle time before memory is measured")
	flags.List(&s.peers, "peers", "", strings.Join(peerNames(), ","), "comma-separated peers", peerNames()...)
	flags.Write(&s.write)
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if s.rows < rowsPerDocument*parts || s.rows%(rowsPerDocument*parts) != 0 || s.questions < 1 || s.duration <= 0 || s.idle < 0 {
		return s, fmt.Errorf("-rows must be a multiple of %d, -questions and -each positive, and -idle not negative", rowsPerDocument*parts)
	}
	return s, nil
}
