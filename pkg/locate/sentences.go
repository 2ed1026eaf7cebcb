package locate

import (
	"context"

	"github.com/sluice/sluice/pkg/domain"
)

// LocateSpans sets Page and Rectangles of the sentences' spans whose sources are PDFs. `sources` contains the sources
// of the answer; SourceSpan.Source is an index into them. Like Locate, it leaves out what cannot be found.
func (l *Locator) LocateSpans(ctx context.Context, workspaceID string, sources []domain.Fragment, sentences []domain.AnswerSentence) {
	passages, spans := make([]Passage, len(sources)), make([][]*domain.SourceSpan, len(sources))
	for i, f := range sources {
		passages[i].Fragment = f
	}
	for i := range sentences {
		for k := range sentences[i].Spans {
			s := &sentences[i].Spans[k]
			passages[s.Source].Spans = append(passages[s.Source].Spans, [2]int{s.In.Start, s.In.End})
			spans[s.Source] = append(spans[s.Source], s)
		}
	}
	for i, found := range l.Locate(ctx, workspaceID, passages) {
		for k, rectangles := range found {
			if len(rectangles) > 0 {
				spans[i][k].Page, spans[i][k].Rectangles = rectangles[0].Page, rectangles
			}
		}
	}
}
