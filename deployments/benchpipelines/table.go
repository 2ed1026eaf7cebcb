package main

import (
	"fmt"
	"io"
	"runtime"
)

// writeTable writes how long everyone took. Sluice comes first, and the others are told as multiples of it.
func writeTable(out io.Writer, title string, g gathered, results []result) {
	what := "documents"
	if g.made {
		what = "made-up documents"
	}
	fmt.Fprintf(out, "%d %s of %.1f MB, %s, %d processors.\n\n", len(g.paths), what, float64(g.bytes)/1e6, title, runtime.NumCPU())
	fmt.Fprint(out, "| | until all can be searched | times as long | documents/s | read | chunks |\n|---|---|---|---|---|---|\n")
	for _, r := range results {
		if r.Absent == "" {
			fmt.Fprintf(out, "| %s | %.1f s | %.1f | %.1f | %d | %d |\n", r.Name, r.Took, r.Took/results[0].Took, float64(r.Files)/r.Took, r.Files, r.Chunks)
		}
	}
	for _, r := range results {
		if r.Absent != "" {
			fmt.Fprintf(out, "\n%s was not measured: %.200s\n", r.Name, r.Absent)
		}
	}
	fmt.Fprintln(out)
}
