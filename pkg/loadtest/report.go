package loadtest

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Report is a load test's result. It excludes requests sent during the warm-up.
type Report struct {
	Seconds   float64   `json:"seconds"`  // measured seconds, without the warm-up
	Sent      int64     `json:"requests"` // finished requests: Succeeded plus Failed
	Succeeded int64     `json:"succeeded"`
	Failed    int64     `json:"failed"`
	Unsent    int64     `json:"unsent"`     // requests that were due but never found a free client
	PerSecond float64   `json:"per_second"` // successful requests within the measured time
	Measures  []Measure `json:"milliseconds"`
	Failures  []Failure `json:"failures,omitempty"` // most frequent first
}

// Measure is the distribution of a measured duration, in milliseconds.
type Measure struct {
	Name  string  `json:"measure"`
	Count int64   `json:"count"`
	Mean  float64 `json:"mean"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	P999  float64 `json:"p99.9"`
	Max   float64 `json:"max"`
}

// Failure is a kind of failure, with its number of occurrences.
type Failure struct {
	What  string `json:"what"`
	Count int64  `json:"count"`
}

// Write writes the report in human-readable form.
func (r Report) Write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d requests in %.1f s: %d answered (%.1f/s), %d failed", r.Sent, r.Seconds, r.Succeeded, r.PerSecond, r.Failed)
	if r.Unsent > 0 {
		fmt.Fprintf(&b, ", %d not sent because no client was free: the service cannot keep up with this rate", r.Unsent)
	}
	b.WriteString("\n\n")
	t := tabwriter.NewWriter(&b, 0, 4, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "milliseconds\tcount\tmean\tp50\tp90\tp99\tp99.9\tmax\t")
	for _, m := range r.Measures {
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t\n", m.Name, m.Count, formatFigure(m.Mean), formatFigure(m.P50), formatFigure(m.P90), formatFigure(m.P99), formatFigure(m.P999), formatFigure(m.Max))
	}
	t.Flush()
	for _, f := range r.Failures {
		fmt.Fprintf(&b, "\n%d times: %s", f.Count, f.What)
	}
	if len(r.Failures) > 0 {
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// formatFigure formats a number with about three significant digits.
func formatFigure(ms float64) string {
	switch {
	case ms >= 100:
		return fmt.Sprintf("%.0f", ms)
	case ms >= 10:
		return fmt.Sprintf("%.1f", ms)
	default:
		return fmt.Sprintf("%.2f", ms)
	}
}
