package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"

	"github.com/sluice/sluice/tools/internal/bench"
)

// writeTable writes each pipeline's time. Sluice is at the top, and ratios are relative to its time.
func writeTable(out io.Writer, title string, g inputFiles, results []result) {
	what := "documents"
	if g.made {
		what = "made-up documents"
	}
	fmt.Fprintf(out, "%d %s of %.1f MB, %s, %d processors.\n\n", len(g.paths), what, float64(g.bytes)/1e6, title, runtime.NumCPU())
	columns := []string{"", "all searchable after", "ratio", "documents/s", "read", "different words per file", "chunks"}
	counted := slices.ContainsFunc(results, func(r result) bool { return r.Tokens > 0 })
	if counted {
		columns = append(columns, "tokens embedded", "cut off")
	}
	bench.Header(out, 1, columns...)
	for _, r := range results {
		if r.Absent != "" {
			continue
		}
		fmt.Fprintf(out, "| %s | %.1f s | %.1f | %.1f | %d | %s | %d |", r.Name, r.Took, r.Took/results[0].Took, float64(r.Files)/r.Took, r.Files, r.wordsRead(), r.Chunks)
		if counted {
			fmt.Fprintf(out, " %d | %d |", r.Tokens, r.CutTokens)
		}
		fmt.Fprintln(out)
	}
	for _, r := range results {
		if r.Absent != "" {
			fmt.Fprintf(out, "\n%s was not measured: %.200s\n", r.Name, r.Absent)
		}
	}
	fmt.Fprintln(out)
}

// wordsRead returns the mean number of distinct words per file, or "" if they weren't counted.
func (r result) wordsRead() string {
	if r.Words == 0 || r.Files == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f", float64(r.Words)/float64(r.Files))
}
