// Package evidence defines the public format of an answer's sentences and the text that supports them, as returned by
// the HTTP API and the Model Context Protocol.
package evidence

import (
	"math"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/domain"
)

// Sentence is a sentence in an answer, or a list item, table row or code block.
type Sentence struct {
	End         int      `json:"end" jsonschema:"end of the sentence and its citations in the answer, exclusive"`
	Spans       []Span   `json:"spans" jsonschema:"parts of the sources that support the sentence, best first"`
	Start       int      `json:"start" jsonschema:"characters (Unicode code points) from the start of the answer"`
	Support     *float64 `json:"support" jsonschema:"0 to 1: how well the sources support the sentence; null if it states nothing or the answer has no sources"`
	Unsupported bool     `json:"unsupported" jsonschema:"whether the support is too low"`
}

// Span is a passage in a source that supports a sentence.
type Span struct {
	Citation     int         `json:"citation" jsonschema:"number of the source in the answer; 0 if the answer cites nothing"`
	DatasourceID string      `json:"datasource_id"`
	End          *int        `json:"end" jsonschema:"end of the span in the document's text, exclusive"`
	Page         *int        `json:"page" jsonschema:"page of a PDF, if rectangles were requested"`
	Rectangles   []Rectangle `json:"rectangles" jsonschema:"where the span is on the pages of a PDF, if requested"`
	SourceIndex  int         `json:"source_index" jsonschema:"index in sources, from 0"`
	Start        *int        `json:"start" jsonschema:"bytes (UTF-8) from the start of the document's text; null if unknown"`
	Text         string      `json:"text" jsonschema:"the supporting text, exactly as in the document's text"`
}

// Rectangle is a rectangle on a PDF page; see domain.PageRectangle.
type Rectangle struct {
	Height float64 `json:"height"`
	Page   int     `json:"page"`
	Width  float64 `json:"width"`
	X      float64 `json:"x" jsonschema:"points from the left edge of the page"`
	Y      float64 `json:"y" jsonschema:"points from the top of the page"`
}

// Highlight is a passage in a source's text. Its positions count characters (Unicode code points).
type Highlight struct {
	End   int `json:"end"`
	Start int `json:"start"`
}

// Sentences converts an answer's sentences to the public format. text is the answer as the caller received it. If the
// caller disconnected early, sentences beyond the end of text are omitted.
func Sentences(text string, sources []domain.Fragment, sentences []domain.AnswerSentence) []Sentence {
	count := characterCounter{text: text}
	out := make([]Sentence, 0, len(sentences))
	for _, s := range sentences {
		if s.End > len(text) {
			break
		}
		v := Sentence{
			Start: count.before(s.Start), End: count.before(s.End), Support: s.Support, Unsupported: s.Unsupported,
			Spans: make([]Span, len(s.Spans)),
		}
		for i, span := range s.Spans {
			v.Spans[i] = newSpan(sources, span)
		}
		out = append(out, v)
	}
	return out
}

func newSpan(sources []domain.Fragment, s domain.SourceSpan) Span {
	out := Span{
		SourceIndex: s.Source, Citation: s.Citation, DatasourceID: sources[s.Source].DatasourceID, Text: s.Text,
		Rectangles: Rectangles(s.Rectangles),
	}
	if s.Page > 0 {
		out.Page = &s.Page
	}
	if s.Original != nil {
		out.Start, out.End = &s.Original.Start, &s.Original.End
	}
	return out
}

// Rectangles returns the rectangles rounded to hundredths of a point. The result is never nil.
func Rectangles(all []domain.PageRectangle) []Rectangle {
	const precision = 100
	round := func(v float64) float64 { return math.Round(v*precision) / precision }
	out := make([]Rectangle, len(all))
	for i, r := range all {
		out[i] = Rectangle{Page: r.Page, X: round(r.X), Y: round(r.Y), Width: round(r.Width), Height: round(r.Height)}
	}
	return out
}

// Highlights returns the passages in a source's text that support the answer.
func Highlights(source domain.Fragment) []Highlight {
	count := characterCounter{text: source.Text}
	out := make([]Highlight, len(source.Highlights))
	for i, h := range source.Highlights {
		out[i] = Highlight{Start: count.before(h.Start), End: count.before(h.End)}
	}
	return out
}

// Unsupported returns the unsupported sentences of an answer, in order.
func Unsupported(text string, sentences []domain.AnswerSentence) []string {
	var out []string
	for _, s := range sentences {
		if s.Unsupported && s.End <= len(text) {
			out = append(out, text[s.Start:s.End])
		}
	}
	return out
}

// characterCounter converts byte positions in a text to characters. Ascending positions take linear time in total.
type characterCounter struct {
	text              string
	bytes, characters int
}

func (c *characterCounter) before(bytes int) int {
	bytes = min(bytes, len(c.text))
	if bytes < c.bytes {
		c.bytes, c.characters = 0, 0
	}
	c.characters += utf8.RuneCountInString(c.text[c.bytes:bytes])
	c.bytes = bytes
	return c.characters
}
