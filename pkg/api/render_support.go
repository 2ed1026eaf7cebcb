package api

import (
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/domain"
)

// renderSentences renders the sentences of an answer. text is the text that the caller receives.
func renderSentences(a answer.Answer, text string) []AnswerSentence {
	count := characterCounter{text: text}
	out := make([]AnswerSentence, 0, len(a.Sentences))
	for _, s := range a.Sentences {
		if s.End > len(text) {
			break // the reader left before the end of the answer
		}
		out = append(out, AnswerSentence{
			Start: count.before(s.Start), End: count.before(s.End), Support: s.Support, Unsupported: s.Unsupported,
			Spans: renderAll(s.Spans, func(v domain.SourceSpan) SourceSpan { return renderSpan(a, v) }),
		})
	}
	return out
}

func renderSpan(a answer.Answer, v domain.SourceSpan) SourceSpan {
	out := SourceSpan{
		SourceIndex: v.Source, Citation: v.Citation, DatasourceId: a.Sources[v.Source].DatasourceID, Text: v.Text, Page: optional(v.Page),
		Rectangles: renderAll(v.Rectangles, func(r domain.PageRectangle) PageRectangle {
			return PageRectangle{Page: r.Page, X: r.X, Y: r.Y, Width: r.Width, Height: r.Height}
		}),
	}
	if v.Original != nil {
		out.Start, out.End = &v.Original.Start, &v.Original.End
	}
	return out
}

func renderHighlights(f domain.Fragment) []Highlight {
	count := characterCounter{text: f.Text}
	return renderAll(f.Highlights, func(h domain.TextRange) Highlight {
		return Highlight{Start: count.before(h.Start), End: count.before(h.End)}
	})
}

// characterCounter converts positions in a text from bytes to characters. Converting ascending positions takes linear
// time in total.
type characterCounter struct {
	text              string
	bytes, characters int
}

// before returns the number of characters in the first bytes of the text.
func (c *characterCounter) before(bytes int) int {
	bytes = min(bytes, len(c.text))
	if bytes < c.bytes {
		c.bytes, c.characters = 0, 0
	}
	c.characters += utf8.RuneCountInString(c.text[c.bytes:bytes])
	c.bytes = bytes
	return c.characters
}
