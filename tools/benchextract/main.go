// Command benchextract measures document extraction: how much of the text it finds compared with trusted extractors,
// how fast it is and how much memory it needs, and whether damaged files make it crash or leak resources. It reads the
// documents in testdata and, if present, those in a benchmark data folder next to the repository. The output is
// Markdown.
//
//	go run ./tools/benchextract [-ingestor bin/ingestor] [-data ../shared/data] [-write docs/history/extraction.md]
//	go run ./tools/benchextract -torture [-keep folder] [-only pdf]
package main

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/tools/internal/bench"
)

// settings holds the command's flags.
type settings struct {
	ingestor  string
	documents string
	data      string
	venv      string
	write     string
	only      string
	parts     []string
	verbose   bool
	torture   tortureSettings
}

// allParts lists the available measurements.
var allParts = []string{"score", "speed", "memory", "office", "rectangles"}

func main() {
	extract.RunChildIfAsked() // doesn't return in a child process that reads documents
	bench.Main("benchextract", run)
}

func run(ctx context.Context, args []string, out, errs io.Writer) error {
	var s settings
	flags := bench.NewFlags("benchextract", errs)
	flags.StringVar(&s.ingestor, "ingestor", "bin/ingestor", "program to measure")
	flags.StringVar(&s.documents, "documents", "testdata/documents", "folder of sample documents")
	flags.Path(&s.data, "data", "BENCH_DATA", "../shared/data", "the folder with docs and web to measure on; passed over where it is missing")
	flags.StringVar(&s.venv, "venv", ".cache/bench-extract", "Python environment with the extractors to compare with")
	flags.StringVar(&s.only, "only", "", "kind of documents: pdf, docx, web …; default: all")
	flags.List(&s.parts, "parts", "", strings.Join(allParts, ","), "comma-separated parts to measure", allParts...)
	flags.BoolVar(&s.verbose, "verbose", false, "rectangles: list the quotations that are not covered")
	flags.Write(&s.write)
	torture := flags.Bool("torture", false, "damage every document in many ways and read the copies")
	flags.StringVar(&s.torture.keep, "keep", "", "torture: folder for the files that caused harm")
	flags.Uint64Var(&s.torture.damage.Seed, "seed", 1, "torture: random seed")
	flags.IntVar(&s.torture.damage.Truncations, "truncations", 10, "torture: number of truncated copies")
	flags.IntVar(&s.torture.damage.Flips, "flips", 6, "torture: copies with random bytes changed")
	flags.IntVar(&s.torture.damage.Numbers, "numbers", 4, "torture: copies with numbers changed")
	flags.IntVar(&s.torture.damage.Inside, "inside", 8, "torture: copies changed inside compressed parts")
	s.torture.memory = 2 << 30
	flags.Var(&s.torture.memory, "memory", "torture: maximum memory to read a file")
	flags.DurationVar(&s.torture.timeout, "timeout", 2*time.Minute, "torture: maximum processor time to read a file")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *torture {
		return tortureAll(ctx, s, out, errs)
	}
	return measure(ctx, s, out, errs)
}
