package locate

import (
	"context"

	"github.com/sluice/sluice/pkg/domain"
)

// Answer holds an answer's sentences and the sources that their spans refer to.
type Answer struct {
	Sources   []domain.Fragment
	Sentences []domain.AnswerSentence
}

// LocateSpans fills in Page and Rectangles for every span whose source is a PDF. It reads each PDF only once for all
// answers. Like Locate, it skips spans it can't find.
func (l *Locator) LocateSpans(ctx context.Context, workspaceID string, answers ...Answer) {
	var passages []Passage
	var spans [][]*domain.SourceSpan // for each passage
	for _, a := range answers {
		first := len(passages)
		for _, f := range a.Sources {
			passages, spans = append(passages, Passage{Fragment: f}), append(spans, nil)
		}
		for i := range a.Sentences {
			for k := range a.Sentences[i].Spans {
				s := &a.Sentences[i].Spans[k]
				p := first + s.Source
				passages[p].Spans = append(passages[p].Spans, [2]int{s.In.Start, s.In.End})
				spans[p] = append(spans[p], s)
			}
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
