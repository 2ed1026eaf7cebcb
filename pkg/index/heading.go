package index

import "strings"

// Separators that StoredHeading puts before the anchor and before the encoded text runs. Neither occurs in a heading,
// because extraction removes control characters.
const (
	anchorSeparator = "\x1f"
	runsSeparator   = "\x1e"
)

// StoredHeading combines a row's heading, anchor and encoded text runs in one string, which engines store as the
// heading. If there is neither an anchor nor text runs, it's the plain heading.
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
