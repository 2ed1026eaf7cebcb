// Command benchpipelines measures how long it takes from the upload of documents until they can be searched, beside the
// ingestion pipelines of LlamaIndex and Haystack, which read, split and keep the same files in memory; without embedding
// on their side, and with the same sentence-transformer on both. What it prints is Markdown.
//
//	go run ./tools/benchpipelines [-documents 1000] [-files folder] [-model folder] [-alone] [-write tools/benchpipelines/README.md]
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/tools/benchpipelines/corpus"
	"github.com/sluice/sluice/tools/internal/bench"
)

// settings are the command's flags.
type settings struct {
	api       string
	venv      string
	files     string
	documents int
	model     string
	embedded  int
	alone     bool
	write     string
}

func main() {
	extract.RunChildIfAsked() // does not return in a process that reads documents
	bench.Main("benchpipelines", run)
}

func run(ctx context.Context, args []string, out, errs io.Writer) error {
	s, err := parse(args, errs)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "benchpipelines-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var text strings.Builder
	taken, err := gather(s.files, filepath.Join(dir, "documents"), s.documents)
	if err != nil {
		return err
	}
	results, err := compare(ctx, s, taken, "", filepath.Join(dir, "plain"), errs)
	if err != nil {
		return err
	}
	writeTable(&text, "no embedding model", taken, results)
	if s.model != "" {
		few, err := gather(s.files, filepath.Join(dir, "embedded"), s.embedded)
		if err != nil {
			return err
		}
		if results, err = compare(ctx, s, few, s.model, filepath.Join(dir, "model"), errs); err != nil {
			return err
		}
		writeTable(&text, "all embedded with the same sentence-transformer", few, results)
	}
	return bench.Publish(out, s.write, "bench-pipelines", text.String())
}

// parse reads the flags.
func parse(args []string, errs io.Writer) (settings, error) {
	var s settings
	flags := bench.NewFlags("benchpipelines", errs)
	flags.Program(&s.api)
	flags.Peers(&s.venv, &s.alone, "pipelines")
	flags.StringVar(&s.files, "files", "", "a folder of documents to take; empty: documents that are made up")
	flags.IntVar(&s.documents, "documents", 1000, "documents to make up")
	flags.Path(&s.model, "model", "BENCH_MODEL", "", "the folder of a BERT-like sentence-transformer to embed with in a second round")
	flags.IntVar(&s.embedded, "embedded", 60, "documents to make up for that")
	flags.Write(&s.write)
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if s.documents < 1 || s.embedded < 1 {
		return s, errors.New("-documents and -embedded must be above 0")
	}
	return s, nil
}

// gathered are the files that everyone is given.
type gathered struct {
	dir   string
	paths []string
	bytes int64
	made  bool // up, and not somebody's
}

// gather lists the files of a folder, or, where there is none, makes n documents in dir and lists them.
func gather(folder, dir string, n int) (gathered, error) {
	g := gathered{dir: folder, made: folder == ""}
	if g.made {
		g.dir = dir
		if err := corpus.Write(dir, n); err != nil {
			return g, err
		}
	}
	entries, err := os.ReadDir(g.dir)
	if err != nil {
		return g, err
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			g.paths = append(g.paths, filepath.Join(g.dir, e.Name()))
			g.bytes += info.Size()
		}
	}
	if len(g.paths) == 0 {
		return g, fmt.Errorf("%s has no files", g.dir)
	}
	return g, nil
}
