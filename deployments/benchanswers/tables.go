package main

import (
	"fmt"
	"io"
)

// writeFigures writes the table of the collections and their means, each collection counting the same.
func writeFigures(out io.Writer, results []result) {
	fmt.Fprint(out, "| collection | questions | answer held | answered | cited rightly | characters | top fragment: answer held | right | characters | declined: neighbours only | declined: other half |\n"+
		"|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	var sum [9]float64
	for _, r := range results {
		v := r.values()
		for i := range v {
			sum[i] += v[i] / float64(len(results))
		}
		writeRow(out, r.name, fmt.Sprint(r.answered.questions), v)
	}
	if len(results) > 1 {
		writeRow(out, "**mean**", "", sum)
	}
}

func writeRow(out io.Writer, name, questions string, v [9]float64) {
	fmt.Fprintf(out, "| %s | %s | **%.3f** | %.3f | %.3f | %.0f | %.3f | %.3f | %.0f | %.3f | %.3f |\n",
		name, questions, v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8])
}

// values are the figures of a row.
func (r result) values() [9]float64 {
	a := r.answered
	return [9]float64{
		share(a.held, a.questions), share(a.answered, a.questions), share(a.citedGold, a.cited), share(a.characters, a.answered),
		share(a.topHeld, a.questions), share(a.topGold, a.questions), share(a.topLength, a.questions),
		1 - share(r.foreign[0].answered, r.foreign[0].questions), 1 - share(r.foreign[1].answered, r.foreign[1].questions),
	}
}

func share(part, whole int) float64 { return float64(part) / float64(max(1, whole)) }
