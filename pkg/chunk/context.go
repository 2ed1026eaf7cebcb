package chunk

import (
	"strings"

	"github.com/sluice/sluice/pkg/domain"
)

// context returns what is indexed with the chunk's text: the title and the headings and, after a
// domain.ContextSeparator, the caption of a table. A caption that is in the text is omitted, since a chunk with more
// context than its neighbours would rank below them.
func (d *draft) context(at headingContext, text string) string {
	text = strings.Join(strings.Fields(text), " ")
	details := appendMissing("", largestLabel(d.location.tables, at), text)
	if details == "" {
		return at.ctx
	}
	return at.ctx + domain.ContextSeparator + details
}

// appendMissing appends those parts of a path to a context that are not in the text.
func appendMissing(context, path, text string) string {
	for part := range strings.SplitSeq(path, pathSeparator) {
		if !strings.Contains(text, part) {
			context = appendTo(context, part)
		}
	}
	return context
}
