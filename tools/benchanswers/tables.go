package main

import (
	"fmt"
	"io"
	"math"

	"github.com/sluice/sluice/tools/internal/bench"
)

// writeFigures writes a table with one row per collection and one with the unweighted means.
func writeFigures(out io.Writer, results []result) {
	bench.Header(out, 1, "collection", "questions", "answer held", "answered", "cited rightly", "characters", "top fragment: answer held", "right", "characters",
		"declined: neighbours only", "declined: other half")
	for _, r := range results {
		writeRow(out, r.name, fmt.Sprint(r.answered.questions), r.values())
	}
	if len(results) < 2 {
		return
	}
	var means [columns]float64
	for i := range means {
		n := 0
		for _, r := range results {
			if v := r.values()[i]; !math.IsNaN(v) {
				means[i], n = means[i]+v, n+1
			}
		}
		means[i] /= float64(n) // NaN if no collection has one
	}
	writeRow(out, "**mean**", "", means)
}

// Number of columns with figures.
const columns = 9

func writeRow(out io.Writer, name, questions string, v [columns]float64) {
	fmt.Fprintf(out, "| %s | %s | **%s** |", name, questions, bench.Figure("%.3f", v[0]))
	for i, format := range []string{"%.3f", "%.3f", "%.0f", "%.3f", "%.3f", "%.0f", "%.3f", "%.3f"} {
		fmt.Fprintf(out, " %s |", bench.Figure(format, v[i+1]))
	}
	fmt.Fprintln(out)
}

// values returns a row's figures. A figure is NaN if it isn't based on any questions.
func (r result) values() [columns]float64 {
	a := r.answered
	return [columns]float64{
		bench.Share(a.held, a.questions), bench.Share(a.answered, a.questions), bench.Share(a.citedGold, a.cited), bench.Share(a.characters, a.answered),
		bench.Share(a.topHeld, a.questions), bench.Share(a.topGold, a.questions), bench.Share(a.topLength, a.questions),
		1 - bench.Share(r.foreign[0].answered, r.foreign[0].questions), 1 - bench.Share(r.foreign[1].answered, r.foreign[1].questions),
	}
}
