package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/tools/internal/bench"
)

// Maximum number of pages per PDF, so that one book doesn't dominate the speed comparison.
const maxSpeedPages = 100

// Number of pages in the generated book, for when only testdata is available.
const samplePages = 100

// readWarm reads files with Sluice's extractor in one long-lived child process. It returns each readable file's time
// and number of pages.
func readWarm(ctx context.Context, tool string, files []string) (timing, map[string]int, error) {
	t := timing{tool: tool, read: map[string]cost{}}
	x := extract.New(extract.Options{Concurrency: 1, Tesseract: "off", Log: slog.New(slog.DiscardHandler)})
	// Start the child and load PDFium before the clock starts, as in a running service.
	if _, err := x.Extract(ctx, extract.Request{Path: files[0]}); err != nil && extract.KindOf(err) == "" {
		return t, nil, fmt.Errorf("reading %s: %w", files[0], err)
	}
	pages := map[string]int{}
	for _, f := range files {
		start, own, before := time.Now(), usedTime(os.Getpid()), usedTime(bench.Children()...)
		doc, err := x.Extract(ctx, extract.Request{Path: f, Name: filepath.Base(f), PlainRows: true})
		if ctx.Err() != nil {
			return t, nil, context.Cause(ctx)
		}
		after := usedTime(bench.Children()...)
		if after < before { // a new child, whose CPU time starts at 0
			before = 0
		}
		if err == nil {
			t.read[f] = cost{time.Since(start), usedTime(os.Getpid()) - own + after - before}
			pages[f] = doc.Pages
		}
	}
	return t, pages, x.Close()
}

// speed compares how many pages per second several tools read from the same PDFs in one run.
func speed(ctx context.Context, s settings, python string, docs []document, out io.Writer) error {
	var files []string
	for _, d := range docs {
		if filepath.Ext(d.name) == ".pdf" {
			files = append(files, d.path)
		}
	}
	folder, err := os.MkdirTemp("", "benchextract-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if len(files) < 10 {
		book := filepath.Join(folder, "book.pdf")
		if err := writeBook(book, samplePages); err != nil {
			return err
		}
		files = append(files, book)
	}
	_, pages, err := readWarm(ctx, "", files)
	if err != nil {
		return err
	}
	var chosen []string
	for _, f := range files {
		if n := pages[f]; n > 0 && n <= maxSpeedPages {
			chosen = append(chosen, f)
		}
	}
	warm, _, err := readWarm(ctx, "Sluice, one process", chosen)
	if err != nil {
		return err
	}
	timings := []timing{
		warm,
		runEach(ctx, "Sluice, a process for each file", chosen, func(f string) []string { return []string{s.ingestor, "extract", f} }),
		runEach(ctx, "pdftotext, a process for each file", chosen, func(f string) []string { return []string{"pdftotext", "-enc", "UTF-8", f, "-"} }),
		runPeer(ctx, python, "pymupdf", chosen),
		runPeer(ctx, python, "pypdf", chosen),
		runPeer(ctx, python, "pdfminer.six", chosen),
	}
	common := readByAll(timings, chosen)
	total := 0
	for _, f := range common {
		total += pages[f]
	}
	fmt.Fprintf(out, "%d PDFs of at most %d pages; times are for the %d with %d pages that all tools read.\n\n", len(chosen), maxSpeedPages, len(common), total)
	bench.Header(out, 1, "", "read", "pages/s", "pages per CPU second", "relative to Sluice in one process")
	base := 0.0
	for _, t := range timings {
		if t.absent != "" {
			fmt.Fprintf(out, "| %s | not run: %s | | | |\n", t.tool, t.absent)
			continue
		}
		sum := t.totalCost(common)
		perCPU := rate(total, sum.cpu)
		base = cmp.Or(base, perCPU)
		fmt.Fprintf(out, "| %s | %d | %.0f | %.0f | %.2f |\n", t.tool, len(t.read), rate(total, sum.wall), perCPU, perCPU/cmp.Or(base, 1))
	}
	return nil
}

// memory compares the tools' peak resident memory for a long PDF.
func memory(ctx context.Context, s settings, python string, out io.Writer) error {
	folder, err := os.MkdirTemp("", "benchextract-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	book := filepath.Join(folder, "book.pdf")
	if err := writeBook(book, bookPages); err != nil {
		return err
	}
	files := []string{book}
	fmt.Fprintf(out, "A generated PDF of %d pages, %d characters and %d fonts on each. Peak is the resident memory of the largest process.\n\n", bookPages, bookCharacters, len(bookFonts))
	bench.Header(out, 1, "", "peak, MB", "CPU seconds")
	for _, t := range []timing{
		runEach(ctx, "Sluice", files, func(f string) []string { return []string{s.ingestor, "extract", f} }),
		runEach(ctx, "pdftotext", files, func(f string) []string { return []string{"pdftotext", f, "-"} }),
		runPeer(ctx, python, "pymupdf", files),
		runPeer(ctx, python, "pypdf", files),
		runPeer(ctx, python, "pdfminer.six", files),
	} {
		switch {
		case t.absent != "":
			fmt.Fprintf(out, "| %s | not run: %s | |\n", t.tool, t.absent)
		case len(t.read) == 0:
			fmt.Fprintf(out, "| %s | time limit exceeded | |\n", t.tool)
		default:
			fmt.Fprintf(out, "| %s | %d | %.1f |\n", t.tool, t.peak/1e6, t.totalCost(files).cpu.Seconds())
		}
	}
	return nil
}

// office compares how many office files per second the tools read.
func office(ctx context.Context, python string, docs []document, out io.Writer) error {
	var files []string
	for _, d := range docs {
		switch filepath.Ext(d.name) {
		case ".docx", ".pptx", ".xlsx":
			files = append(files, d.path)
		}
	}
	if len(files) == 0 {
		return nil
	}
	warm, _, err := readWarm(ctx, "Sluice, one process", files)
	if err != nil {
		return err
	}
	timings := []timing{warm, runPeer(ctx, python, "markitdown", files)}
	common := readByAll(timings, files)
	fmt.Fprintf(out, "Times are for the %d files that both read.\n\n", len(common))
	bench.Header(out, 1, "", "files read", "files/s", "files per CPU second")
	for _, t := range timings {
		if t.absent != "" {
			fmt.Fprintf(out, "| %s | not run: %s | | |\n", t.tool, t.absent)
			continue
		}
		fmt.Fprintf(out, "| %s | %d of %d | %.0f | %.0f |\n", t.tool, len(t.read), len(files), rate(len(common), t.totalCost(common).wall), rate(len(common), t.totalCost(common).cpu))
	}
	return nil
}

// readByAll returns the files that every tool could read, not counting tools that weren't run.
func readByAll(timings []timing, files []string) []string {
	var common []string
	for _, f := range files {
		if !slices.ContainsFunc(timings, func(t timing) bool {
			_, read := t.read[f]
			return t.absent == "" && !read
		}) {
			common = append(common, f)
		}
	}
	return common
}

func rate(n int, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}
