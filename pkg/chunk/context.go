package chunk

import (
	"strings"

	"github.com/sluice/sluice/pkg/domain"
)

// context returns the text to index along with the chunk's own: the title, the document's subject, the headings and the
// section labels. After a domain.ContextSeparator come the table caption and the terms that the chunk defines. Labels
// and captions that are already in the chunk's text are omitted, because a chunk with a longer context than its
// neighbours would rank below them.
func (d *draft) context(at headingContext, text string) string {
	section, caption := largestLabel(d.location.sections, at), largestLabel(d.location.tables, at)
	if section != "" || caption != "" {
		text = strings.Join(strings.Fields(text), " ")
	}
	context, details := appendMissing(at.ctx, section, text), appendMissing("", caption, text)
	details = appendTo(details, strings.Join(d.defined[:min(len(d.defined), maxDefinitions)], ", "))
	if details == "" {
		return context
	}
	return context + domain.ContextSeparator + details
}

// appendMissing appends those parts of a path to a context that are not yet in the text.
func appendMissing(context, path, text string) string {
	for part := range strings.SplitSeq(path, pathSeparator) {
		if !strings.Contains(text, part) {
			context = appendTo(context, part)
		}
	}
	return context
}
