package main

import (
	"fmt"
	"io"
	"math"
)

// writeFigures writes the table of the collections and their means, each collection counting the same.
func writeFigures(out io.Writer, results []result) {
	fmt.Fprint(out, "| collection | questions | answer held | answered | cited rightly | characters | top fragment: answer held | right | characters | declined: neighbours only | declined: other half |\n"+
		"|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
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
		means[i] /= float64(n) // not a number where none has it
	}
	writeRow(out, "**mean**", "", means)
}

// columns are those of the table that hold any.
const columns = 9

func writeRow(out io.Writer, name, questions string, v [columns]float64) {
	fmt.Fprintf(out, "| %s | %s | **%s** |", name, questions, figure("%.3f", v[0]))
	for i, format := range []string{"%.3f", "%.3f", "%.0f", "%.3f", "%.3f", "%.0f", "%.3f", "%.3f"} {
		fmt.Fprintf(out, " %s |", figure(format, v[i+1]))
	}
	fmt.Fprintln(out)
}

func figure(format string, v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return fmt.Sprintf(format, v)
}

// values are the figures of a row; not a number where nothing was asked.
func (r result) values() [columns]float64 {
	a := r.answered
	return [columns]float64{
		share(a.held, a.questions), share(a.answered, a.questions), share(a.citedGold, a.cited), share(a.characters, a.answered),
		share(a.topHeld, a.questions), share(a.topGold, a.questions), share(a.topLength, a.questions),
		1 - share(r.foreign[0].answered, r.foreign[0].questions), 1 - share(r.foreign[1].answered, r.foreign[1].questions),
	}
}

func share(part, whole int) float64 {
	if whole == 0 {
		return math.NaN()
	}
	return float64(part) / float64(whole)
}
