package domain

import "bytes"

// AnswerSentence is a sentence of an answer, with the passages in the sources that support it. A code block, a list
// item and a table row also count as sentences.
type AnswerSentence struct {
	Start, End  int      // bytes in the answer
	Support     *float64 // 0 to 1; nil for text that states nothing, and for answers without sources
	Unsupported bool     // whether the agent marks the sentence, because its support is too low
	Spans       []SourceSpan
}

// SourceSpan is a part of a source that supports a sentence.
type SourceSpan struct {
	Source   int       // index in the answer's sources
	Citation int       // number of the source in the answer; 0 if the answer cites nothing
	In       TextRange // bytes in Fragment.Text

	// Original is the location in the document's text, in bytes like Fragment.Offset. It is nil if the location is
	// unknown, as for chunks of older versions.
	Original *TextRange
	Text     string // the document's text at Original, or the fragment's text if the location is unknown

	// Page and Rectangles locate the span on a page of a PDF. They are empty for other formats.
	Page       int
	Rectangles []PageRectangle
}

// TextRange is the half-open range [Start, End) of a text, in bytes.
type TextRange struct{ Start, End int }

// PageRectangle is an upright rectangle on a page of a PDF as viewers display it: cut to its crop box and rotated. X
// and Y locate its upper left corner, measured from the upper left corner of the page. The unit is a point (1/72 inch);
// a page's UserUnit is not applied.
type PageRectangle struct {
	Page                int // from 1
	X, Y, Width, Height float64
}

// UnsupportedSentences is the name of the agent setting for sentences that the sources do not support. It is stored in
// Agent.Extra, like RestrictKnowledge.
const UnsupportedSentences = "unsupportedSentences"

// UnsupportedMode says how an agent treats sentences that the sources do not support.
type UnsupportedMode string

// Values of UnsupportedMode.
const (
	MarkUnsupported UnsupportedMode = "mark" // default: the sentence is marked in the response
	DropUnsupported UnsupportedMode = "drop" // the sentence is removed from the answer
	KeepUnsupported UnsupportedMode = "keep" // the sentence is treated like any other
)

// UnsupportedModes are all values of UnsupportedMode.
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
