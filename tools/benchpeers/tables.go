package main

import (
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/sluice/sluice/tools/internal/bench"
)

// result is one store's figures.
type result struct {
	Name    string
	Absent  string            // why it was not measured, or ""
	Fill    float64           // seconds until all rows were searchable
	Open    float64           // seconds until the first answer
	Memory  int64             // anonymous memory when idle, in bytes
	Figures map[string]figure // by kind of query and number of clients, e.g. "dense/1"
}

// figure is the result for one kind of query.
type figure struct {
	P50, P99 float64 // seconds
	Rate     float64 // answers per second
	CPU      float64 // seconds of CPU time per answer; 0 if unknown
	Recall   float64 // 0 if there is no ground truth
}

// print prints the figures so far, in case a long run fails later.
func (r result) print(out io.Writer) {
	for _, way := range slices.Sorted(maps.Keys(r.Figures)) {
		f := r.Figures[way]
		fmt.Fprintf(out, "%s: %s: %s ms, %.0f answers/s\n", r.Name, way, times(f), f.Rate)
	}
}

// row is a table row: a store and a kind of query.
type row struct {
	title string
	of    result
	way   string
}

// writeTables writes three tables: vector searches, searches that embed a new question first, and word searches. Sluice
// is at the top.
func writeTables(out io.Writer, s settings, results []result) {
	fmt.Fprintf(out, "%d chunks of %d dimensions in %d documents, %d questions, %d processors. Ratio: answers/s of a table's first row divided by those of the row; above 1 Sluice is faster.\n",
		s.rows, dimensions, s.rows/rowsPerDocument, s.questions, runtime.GOMAXPROCS(0))
	ours := results[0]
	var dense, words, absent []row
	for _, way := range []string{"hybrid", "dense"} {
		dense = append(dense, row{"**Sluice, over HTTP, " + way + "**", ours, way})
	}
	words = append(words, row{"**Sluice, over HTTP**", ours, "words"})
	for _, r := range results[1:] {
		switch {
		case r.Absent != "":
			absent = append(absent, row{r.Name, r, ""})
		case r.hasFigures("hybrid"):
			mark := ""
			if strings.HasPrefix(r.Name, "Sluice") {
				mark = "**"
			}
			for _, way := range []string{"hybrid", "dense"} {
				dense = append(dense, row{mark + r.Name + ", " + way + mark, r, way})
			}
			words = append(words, row{mark + r.Name + mark, r, "words"})
		case r.hasFigures("dense"):
			dense = append(dense, row{r.Name, r, "dense"})
		case r.hasFigures("words"):
			words = append(words, row{r.Name, r, "words"})
		}
	}
	fmt.Fprintln(out)
	bench.Header(out, 1, "best 10", "1 client: p50, p99 ms", "8 clients: p50, p99 ms", "answers/s", "ratio", "CPU time", "filter 1 %: p50, p99 ms", "recall, with filter", "idle memory", "open", "load")
	for _, r := range dense {
		filtered := "filtered"
		if r.way == "hybrid" {
			filtered = "hybrid filtered"
		}
		one, eight, narrow := r.of.Figures[r.way+"/1"], r.of.Figures[r.way+"/8"], r.of.Figures[filtered+"/1"]
		found := "–"
		if one.Recall > 0 {
			found = fmt.Sprintf("%.3f, %.3f", one.Recall, narrow.Recall)
		}
		fmt.Fprintf(out, "| %s | %s | %s | %.0f | %.1f | %s | %s | %s | %s | %.1f s | %.0f s |\n", r.title,
			times(one), times(eight), eight.Rate, ours.Figures["hybrid/8"].Rate/eight.Rate, processorTime(eight),
			times(narrow), found, memory(r.of), r.of.Open, r.of.Fill)
	}
	fresh := []row{{"**Sluice, over HTTP, hybrid**", ours, "hybrid fresh"}, {"**Sluice, over HTTP, dense**", ours, "dense fresh"}}
	for _, r := range results[1:] {
		if r.hasFigures("fresh") {
			fresh = append(fresh, row{r.Name, r, "fresh"}, row{r.Name + ", bare connection", r, "fresh bare"})
		}
	}
	fmt.Fprintln(out)
	bench.Header(out, 1, "best 10, new questions", "1 client: p50, p99 ms", "8 clients: p50, p99 ms", "answers/s", "ratio")
	for _, r := range fresh {
		one, eight := r.of.Figures[r.way+"/1"], r.of.Figures[r.way+"/8"]
		fmt.Fprintf(out, "| %s | %s | %s | %.0f | %.1f |\n", r.title, times(one), times(eight), eight.Rate, ours.Figures["hybrid fresh/8"].Rate/eight.Rate)
	}
	fmt.Fprintln(out)
	bench.Header(out, 1, "eight common words", "1 client: p50, p99 ms", "CPU time", "8 clients: p50, p99 ms", "answers/s", "ratio", "idle memory")
	for _, r := range words {
		one, eight := r.of.Figures["words/1"], r.of.Figures["words/8"]
		fmt.Fprintf(out, "| %s | %s | %s | %s | %.0f | %.1f | %s |\n", r.title, times(one), processorTime(one),
			times(eight), eight.Rate, ours.Figures["words/8"].Rate/eight.Rate, memory(r.of))
	}
	for _, r := range absent {
		fmt.Fprintf(out, "\n%s was not measured: %s\n", r.title, r.of.Absent)
	}
}

func (r result) hasFigures(way string) bool {
	_, ok := r.Figures[way+"/1"]
	return ok
}

func memory(r result) string {
	if r.Memory <= 0 {
		return "–"
	}
	return fmt.Sprintf("%d MB", r.Memory>>20)
}

func processorTime(f figure) string {
	if f.CPU <= 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f ms", f.CPU*1000)
}

func times(f figure) string {
	if f.P50 <= 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f, %.1f", f.P50*1000, f.P99*1000)
}
