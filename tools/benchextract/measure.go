package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/tools/internal/bench"
)

// measure runs the requested measurements, prints the figures and, if the -write flag is set, writes them into a
// document.
func measure(ctx context.Context, s settings, out, errs io.Writer) error {
	samples, shared, pages, err := documents(s, errs)
	if err != nil {
		return err
	}
	var python string
	if !slices.Equal(s.parts, []string{"rectangles"}) { // which needs neither
		if _, err := os.Stat(s.ingestor); err != nil {
			return fmt.Errorf("the program to measure: %w; make build builds it", err)
		}
		python = pythonEnvironment(ctx, s.venv, errs)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%d processors of %s, %s.\n", runtime.NumCPU(), runtime.GOARCH, runtime.Version())
	for _, part := range []struct {
		name, title string
		run         func(io.Writer) error
	}{
		{"score", "Text found", func(w io.Writer) error {
			if err := readSamples(ctx, s, samples, w); err != nil {
				return err
			}
			return score(ctx, s, python, filterKind(slices.Clone(shared), s.only), filterKind(slices.Clone(pages), s.only), w, errs)
		}},
		{"speed", "Speed on PDFs", func(w io.Writer) error {
			return speed(ctx, s, python, append(slices.Clone(samples), shared...), w)
		}},
		{"memory", "Memory on a long PDF", func(w io.Writer) error { return memory(ctx, s, python, w) }},
		{"office", "Speed on office files", func(w io.Writer) error {
			return office(ctx, python, append(slices.Clone(samples), shared...), w)
		}},
		{"rectangles", "Rectangles of quotations", func(w io.Writer) error { return rectangles(ctx, s, append(slices.Clone(samples), shared...), w, errs) }},
	} {
		if !slices.Contains(s.parts, part.name) {
			continue
		}
		fmt.Fprintf(errs, "%s …\n", part.title)
		fmt.Fprintf(&text, "\n### %s\n\n", part.title)
		if err := part.run(&text); err != nil {
			return err
		}
	}
	return bench.Publish(out, s.write, "bench-extract", text.String())
}

// readSamples runs the measured program on the repository's samples. It returns an error if one of them is unreadable.
func readSamples(ctx context.Context, s settings, samples []document, out io.Writer) error {
	folder, err := os.MkdirTemp("", "benchextract-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	results, err := extractAll(ctx, s, samples, folder)
	if err != nil {
		return err
	}
	for _, d := range samples {
		if r := results[d.kind+"/"+d.name]; r.failed {
			return fmt.Errorf("the sample document %s was not read: %s", d.name, r.cause)
		}
	}
	_, err = fmt.Fprintf(out, "All %d sample documents are read (version %s of the readers).\n\n", len(samples), fmt.Sprint(extract.Version))
	return err
}
