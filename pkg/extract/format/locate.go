package format

import (
	"context"
	"fmt"

	"github.com/sluice/sluice/pkg/domain"
)

// Passage is a passage from a document's text to be located on its pages.
type Passage struct {
	Text  string   `json:"text"`  // as extracted
	Page  int      `json:"page"`  // page with most of the text, from 1
	Spans [][2]int `json:"spans"` // byte ranges in Text to locate
}

// Limits on the passages in a request.
const (
	maxPassageText  = 4 << 20 // total size of their texts in bytes
	maxPassageSpans = 1000    // total number of their spans
)

// CheckPassages returns an error if there are too many passages or spans, a passage has no page, or a span is out of
// range.
func CheckPassages(passages []Passage) error {
	text, spans := 0, 0
	for _, p := range passages {
		if p.Page < 1 {
			return fmt.Errorf("a passage has the page number %d; it must be at least 1", p.Page)
		}
		for _, s := range p.Spans {
			if s[0] < 0 || s[1] < s[0] || s[1] > len(p.Text) {
				return fmt.Errorf("a passage has the span [%d, %d], which must be within its %d bytes", s[0], s[1], len(p.Text))
			}
		}
		text, spans = text+len(p.Text), spans+len(p.Spans)
	}
	if text > maxPassageText || spans > maxPassageSpans {
		return fmt.Errorf("the passages have %d bytes and %d spans; the limits are %d and %d", text, spans, maxPassageText, maxPassageSpans)
	}
	return nil
}

// Locate detects a document's format and finds passages from its text on its pages. It returns an *Error if the
// document cannot be read, a reader panics, or the format has no positions.
func (r *Registry) Locate(ctx context.Context, src Source, lim Limits, passages []Passage) (rectangles [][][]domain.PageRectangle, err error) {
	lim = lim.WithDefaults()
	head, err := readHead(src, lim)
	if err != nil {
		return nil, err
	}
	defer recoverPanic(&err)
	kind := r.Detect(head, src.Name, src.Declared)
	f := r.byType(kind)
	if f == nil || f.Locate == nil {
		return nil, Errorf(Unsupported, "passages cannot be located in files of type %s, because they have no pages", kind)
	}
	if err := CheckPassages(passages); err != nil {
		return nil, err
	}
	p := &Parser{Ctx: ctx, Src: src, Lim: lim, Formats: r, Doc: &domain.Document{MIMEType: kind}}
	p.Out = &Sink{Left: lim.MaxText, Max: lim.MaxText, Emit: func(domain.Block) error { return nil }}
	return f.Locate(p, passages)
}
