package index

import "strings"

// Separators in the text that StoredHeading returns: one before the anchor and one before the encoded text runs.
// Headings never contain them, because extraction removes control characters.
const (
	anchorSeparator = "\x1f"
	runsSeparator   = "\x1e"
)

// StoredHeading returns a row's heading, anchor and encoded text runs as one string, which engines store in the
// heading's column. For a row with neither an anchor nor text runs, it is just the heading.
func StoredHeading(r *Row) string {
	stored := r.Heading
	if r.Anchor != "" || strings.Contains(r.Heading, anchorSeparator) {
		stored += anchorSeparator + r.Anchor
	}
	if r.Runs != "" || strings.Contains(stored, runsSeparator) {
		stored += runsSeparator + r.Runs
	}
	return stored
}

// SetHeading sets a row's heading, anchor and encoded text runs from a string returned by StoredHeading.
func (r *Row) SetHeading(stored string) {
	r.Heading, r.Anchor, r.Runs = stored, "", ""
	if i := strings.LastIndex(stored, runsSeparator); i >= 0 {
		stored, r.Runs = stored[:i], stored[i+len(runsSeparator):]
		r.Heading = stored
	}
	if i := strings.LastIndex(stored, anchorSeparator); i >= 0 {
		r.Heading, r.Anchor = stored[:i], stored[i+len(anchorSeparator):]
	}
}
