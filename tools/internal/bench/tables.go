package bench

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
)

// Publish prints a make target's figures. If `path` is not "", it also writes them to that document; see Replace.
func Publish(out io.Writer, path, target, text string) error {
	if _, err := io.WriteString(out, text); err != nil || path == "" {
		return err
	}
	return Replace(path, target, text)
}

// end is the marker after a section of figures.
const end = "<!-- end of figures -->"

// Replace replaces a make target's section in a file: the text between <!-- figures of make TARGET --> and <!-- end of
// figures -->. It returns an error if there is no such section.
func Replace(path, target, text string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	begin := "<!-- figures of make " + target + " -->"
	before, rest, found := strings.Cut(string(data), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		return fmt.Errorf("%s has no section of figures: %s … %s", path, begin, end)
	}
	return os.WriteFile(path, []byte(before+begin+"\n\n"+text+"\n"+end+after), 0o644)
}

// Header writes a Markdown table's header. The first `texts` columns are text, the others numbers.
func Header(out io.Writer, texts int, columns ...string) {
	line := strings.Repeat("---|", texts) + strings.Repeat("--:|", len(columns)-texts)
	fmt.Fprintf(out, "| %s |\n|%s\n", strings.Join(columns, " | "), line)
}

// Figure formats a value, or returns a dash for NaN.
func Figure(format string, v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return strings.Replace(fmt.Sprintf(format, v), "-", "−", 1)
}

// Share returns `part` divided by `whole`, or NaN if `whole` is 0.
func Share(part, whole int) float64 {
	if whole == 0 {
		return math.NaN()
	}
	return float64(part) / float64(whole)
}

// Mean returns the mean of the values, or 0 if there are none.
func Mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(max(1, len(values)))
}

// Median returns the median of the values, or 0 if there are none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	v := slices.Sorted(slices.Values(values))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
