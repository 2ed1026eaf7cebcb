package index

import "strings"

// anchorSeparator separates a heading from its anchor where an engine stores both as one text. Headings do not contain
// it, because extraction removes control characters.
const anchorSeparator = "\x1f"

// StoredHeading returns the heading and anchor of a row as one text. Engines store this text in the heading's column.
// For a row without an anchor, it is just the heading.
func StoredHeading(r *Row) string {
	if r.Anchor == "" && !strings.Contains(r.Heading, anchorSeparator) {
		return r.Heading
	}
	return r.Heading + anchorSeparator + r.Anchor
}

// SetHeading sets the heading and anchor of a row from the result of StoredHeading.
func (r *Row) SetHeading(stored string) {
	r.Heading, r.Anchor = stored, ""
	if i := strings.LastIndex(stored, anchorSeparator); i >= 0 {
		r.Heading, r.Anchor = stored[:i], stored[i+len(anchorSeparator):]
	}
}
