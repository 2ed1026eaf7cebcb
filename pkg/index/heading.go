package index

import "strings"

// anchorSeparator parts a heading from its anchor where engines store both as one text. Extraction removes control
// characters from headings.
const anchorSeparator = "\x1f"

// StoredHeading is the heading of a row and its anchor in one text. Engines store that, so rows from before there were
// anchors stay readable and no column is added.
func StoredHeading(r *Row) string {
	if r.Anchor == "" && !strings.Contains(r.Heading, anchorSeparator) {
		return r.Heading
	}
	return r.Heading + anchorSeparator + r.Anchor
}

// SetHeading sets the heading and the anchor of a row from what StoredHeading has made of them.
func (r *Row) SetHeading(stored string) {
	r.Heading, r.Anchor = stored, ""
	if i := strings.LastIndex(stored, anchorSeparator); i >= 0 {
		r.Heading, r.Anchor = stored[:i], stored[i+len(anchorSeparator):]
	}
}
