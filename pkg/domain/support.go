package domain

import "bytes"

// AnswerSentence is a sentence, code block, list item or table row in an answer, with the passages that support it.
// Answers are stored with their sentences as JSON.
type AnswerSentence struct {
	Start       int          `json:"start"` // first byte in the answer
	End         int          `json:"end"`
	Support     *float64     `json:"support,omitempty"`     // 0 to 1; nil for text that makes no claim and in answers without sources
	Unsupported bool         `json:"unsupported,omitempty"` // whether the agent flags the sentence because of its low support
	Spans       []SourceSpan `json:"spans,omitempty"`
}

// SourceSpan is a passage in a source that supports a sentence. Its JSON contains only what RestoreSpans cannot derive.
type SourceSpan struct {
	Source   int       `json:"source"` // index in the answer's sources
	Citation int       `json:"-"`      // the source's citation number in the answer; 0 if the answer cites nothing
	In       TextRange `json:"in"`     // bytes in Fragment.Text

	// Original is the span's location in the document's text, in bytes. It is nil if the location is unknown, as in
	// chunks indexed by older versions.
	Original *TextRange `json:"-"`
	Text     string     `json:"-"` // the document's text at Original or, if that is nil, the fragment's text

	// Page and Rectangles locate the span on a PDF page, if requested. They are empty for other formats.
	Page       int             `json:"-"`
	Rectangles []PageRectangle `json:"-"`
}

// SourceSpans splits a range in a source's text into spans that are contiguous in the document's text. If the location
// in the document is unknown, there is one span. index is the source's index among the answer's sources.
func SourceSpans(source Fragment, index int, in TextRange) []SourceSpan {
	span := SourceSpan{Source: index, Citation: source.Citation, In: in, Text: source.Text[in.Start:in.End]}
	located := source.Runs.Locate(source.Text, in)
	if len(located) == 0 {
		return []SourceSpan{span}
	}
	out := make([]SourceSpan, len(located))
	for i, l := range located {
		span.In, span.Original, span.Text = l.In, &l.Document, l.Text
		out[i] = span
	}
	return out
}

// RestoreSpans fills in the fields that spans lack in JSON. It drops spans whose source or range does not exist.
func RestoreSpans(sentences []AnswerSentence, sources []Fragment) {
	for i := range sentences {
		kept := make([]SourceSpan, 0, len(sentences[i].Spans))
		for _, s := range sentences[i].Spans {
			if s.Source < 0 || s.Source >= len(sources) || s.In.Start < 0 || s.In.Start > s.In.End || s.In.End > len(sources[s.Source].Text) {
				continue
			}
			kept = append(kept, SourceSpans(sources[s.Source], s.Source, s.In)...)
		}
		sentences[i].Spans = kept
	}
}

// TextRange is the half-open byte range [Start, End) in a text.
type TextRange struct{ Start, End int }

// PageRectangle is an axis-aligned rectangle on a PDF page as displayed, i.e. clipped to its crop box and rotated. X
// and Y are the distances of its upper left corner from the page's upper left corner. The unit is a point (1/72 inch);
// UserUnit is not applied.
type PageRectangle struct {
	Page                int // from 1
	X, Y, Width, Height float64
}

// UnsupportedSentences is the name of the agent setting for sentences that no source supports. Like RestrictKnowledge,
// the setting is stored in Agent.Extra.
const UnsupportedSentences = "unsupportedSentences"

// UnsupportedMode says how an agent treats sentences that no source supports.
type UnsupportedMode string

// Values of UnsupportedMode.
const (
	MarkUnsupported UnsupportedMode = "mark" // default: flag the sentence in the response
	DropUnsupported UnsupportedMode = "drop" // remove the sentence from the answer
	KeepUnsupported UnsupportedMode = "keep" // treat the sentence like any other
)

// UnsupportedModes lists all values of UnsupportedMode.
var UnsupportedModes = []UnsupportedMode{MarkUnsupported, DropUnsupported, KeepUnsupported}

// UnsupportedMode returns the agent's setting for unsupported sentences.
func (a Agent) UnsupportedMode() UnsupportedMode {
	for _, mode := range UnsupportedModes {
		if string(bytes.TrimSpace(a.Extra[UnsupportedSentences])) == `"`+string(mode)+`"` {
			return mode
		}
	}
	return MarkUnsupported
}
