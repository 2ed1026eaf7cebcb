package archive

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/sluice/sluice/pkg/extract/format"
)

const (
	// Maximum number of different reasons. Further files are counted under otherReasons.
	maxReasons   = 40
	otherReasons = "other reasons"
	// Maximum size of a path in a warning, in bytes.
	maxExample = 150
)

// Reasons counts skipped files by reason. The zero value is ready to use.
type Reasons struct {
	counts   map[string]int
	examples map[string]string // path of the first file with the reason
}

// Add counts a file.
func (r *Reasons) Add(reason, path string) {
	if r.counts == nil {
		r.counts, r.examples = map[string]int{}, map[string]string{}
	}
	if r.counts[reason] == 0 && len(r.counts) >= maxReasons {
		reason = otherReasons
	}
	if r.counts[reason]++; r.counts[reason] == 1 {
		r.examples[reason] = format.Cut(path, maxExample)
	}
}

// Counts returns the number of files by reason, or nil if there are none.
func (r *Reasons) Counts() map[string]int { return maps.Clone(r.counts) }

// Warnings returns a sentence per reason, the most frequent first, but none for hidden files.
func (r *Reasons) Warnings() []string {
	var out []string
	for _, reason := range slices.SortedFunc(maps.Keys(r.counts), func(a, b string) int {
		return cmp.Or(r.counts[b]-r.counts[a], cmp.Compare(a, b))
	}) {
		switch n := r.counts[reason]; {
		case reason == Hidden:
		case n == 1:
			out = append(out, fmt.Sprintf("1 file was left out: %s (%s)", reason, r.examples[reason]))
		default:
			out = append(out, fmt.Sprintf("%d files were left out: %s (for example %s)", n, reason, r.examples[reason]))
		}
	}
	return out
}
