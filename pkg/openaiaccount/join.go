package openaiaccount

import "strings"

// Bounds on the overlap between two chunks, in bytes. An overlap shorter than minOverlap may be a coincidence. None is
// expected to be longer than maxOverlap, because OpenAI's chunks have at most 4,096 tokens and overlap by at most half
// of that.
const (
	minOverlap = 20
	maxOverlap = 32 << 10
)

// join joins chunks into one text. Overlaps appear only once, and chunks that don't overlap are separated by an empty
// line.
func join(chunks []string) string {
	var text strings.Builder
	before := ""
	for _, chunk := range chunks {
		switch n := overlap(before, chunk); {
		case n >= minOverlap:
			text.WriteString(chunk[n:])
		case text.Len() > 0:
			text.WriteString("\n\n" + chunk)
		default:
			text.WriteString(chunk)
		}
		before = chunk
	}
	return text.String()
}

// overlap returns the length of the longest string that a ends with and b begins with. The result is at most
// maxOverlap. It uses the prefix function of Knuth, Morris and Pratt.
func overlap(a, b string) int {
	a, b = a[max(0, len(a)-maxOverlap):], b[:min(len(b), maxOverlap)]
	borders := make([]int, len(b)) // length of the longest border of each prefix of b
	n := 0
	for i := 1; i < len(b); i++ {
		for n > 0 && b[i] != b[n] {
			n = borders[n-1]
		}
		if b[i] == b[n] {
			n++
		}
		borders[i] = n
	}
	n = 0
	for i := range len(a) {
		for n > 0 && (n == len(b) || a[i] != b[n]) {
			n = borders[n-1]
		}
		if n < len(b) && a[i] == b[n] {
			n++
		}
	}
	return n
}
