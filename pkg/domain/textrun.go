package domain

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// TextRun is a section of a chunk's or fragment's text that is unchanged from the document's text.
type TextRun struct {
	Text     int // first byte in the chunk's text
	Document int // first byte in the document's text
	Length   int // bytes
}

// TextRuns map a chunk's text to the document's text. They are ordered by their position in the chunk and don't overlap
// there. There are several if a chunk repeats a table header, or if it has a single line break in place of a
// BlockSeparator, as between table rows and list items.
type TextRuns []TextRun

// Maximum length in bytes of encoded runs. Longer ones are not stored.
const maxEncodedRuns = 16 << 10

// Add appends a run that begins at the offset `text` in the chunk's text and at the offset `document` in the document's
// text. The previous run ends there. Add does nothing if the new run merely continues the previous one. Call End after
// the last Add.
func (r *TextRuns) Add(text, document int) {
	if n := len(*r); n > 0 {
		last := &(*r)[n-1]
		if text-last.Text == document-last.Document {
			return
		}
		last.Length = text - last.Text
		if last.Length == 0 {
			*r = (*r)[:n-1]
		}
	}
	*r = append(*r, TextRun{Text: text, Document: document})
}

// End returns the runs for a text of this length, with the last run extended to the end. It does not change r.
func (r TextRuns) End(length int) TextRuns {
	for len(r) > 0 && r[len(r)-1].Text >= length {
		r = r[:len(r)-1]
	}
	if n := len(r); n > 0 {
		r = slices.Clone(r)
		r[n-1].Length = length - r[n-1].Text
	}
	return r
}

// Clip returns the runs within text[start:end], converted to positions in another text that contains the same range
// `moved` bytes later.
func (r TextRuns) Clip(start, end, moved int) TextRuns {
	var out TextRuns
	for _, run := range r {
		from, to := max(run.Text, start), min(run.Text+run.Length, end)
		if from < to {
			out = append(out, TextRun{Text: from + moved, Document: run.Document + from - run.Text, Length: to - from})
		}
	}
	return out
}

// Located is a section of a chunk's text, with its location in the chunk and in the document.
type Located struct {
	In       TextRange // in the chunk's text
	Document TextRange // in the document's text
	Text     string    // the document's text at Document
}

// Locate returns the sections of text[in.Start:in.End] that occur in the document's text, without surrounding white
// space. text is the chunk's text. Text that is contiguous in the document forms a single section.
func (r TextRuns) Locate(text string, in TextRange) []Located {
	var out []Located
	for _, run := range r.Clip(in.Start, min(in.End, len(text)), 0) {
		piece := text[run.Text : run.Text+run.Length]
		next := Located{In: TextRange{run.Text, run.Text + run.Length}, Document: TextRange{run.Document, run.Document + run.Length}, Text: piece}
		if n := len(out); n > 0 {
			// Between rows or items, the chunk's text has one line break where the document's has two (BlockSeparator).
			if last := &out[n-1]; last.In.End == next.In.Start && last.Document.End+1 == next.Document.Start && strings.HasSuffix(last.Text, "\n") {
				last.In.End, last.Document.End, last.Text = next.In.End, next.Document.End, last.Text+"\n"+next.Text
				continue
			}
		}
		out = append(out, next)
	}
	kept := out[:0]
	for _, l := range out {
		if l.trim(); l.Text != "" {
			kept = append(kept, l)
		}
	}
	return kept
}

// trim removes leading and trailing white space. Both ranges shrink by the same number of bytes, because the white
// space at each end lies within a single run.
func (l *Located) trim() {
	left := len(l.Text) - len(strings.TrimLeftFunc(l.Text, unicode.IsSpace))
	right := len(l.Text) - left - len(strings.TrimSpace(l.Text))
	l.Text = strings.TrimSpace(l.Text)
	l.In = TextRange{l.In.Start + left, l.In.End - right}
	l.Document = TextRange{l.Document.Start + left, l.Document.End - right}
}

// Encode encodes the runs for storage with the chunk. offset is the chunk's offset in the document. Encode returns ""
// if there are no runs or the result would exceed maxEncodedRuns.
func (r TextRuns) Encode(offset int) string {
	var out strings.Builder
	before := TextRun{Document: offset}
	for i, run := range r {
		if i > 0 {
			out.WriteByte(' ')
		}
		out.WriteString(strconv.FormatInt(int64(run.Text-before.Text), 36))
		if shift := (run.Document - run.Text) - (before.Document - before.Text); shift != impliedShift(i) {
			out.WriteString("," + strconv.FormatInt(int64(shift), 36))
		}
		before = run
	}
	if out.Len() > maxEncodedRuns {
		return ""
	}
	return out.String()
}

// impliedShift is the most common shift, which Encode omits. A run's shift is how much the difference between its
// offsets in the document and in the text has grown since the previous run. It is usually 0 for the first run and 1 for
// the others, because most runs follow a BlockSeparator that was shortened by one line break.
func impliedShift(run int) int { return min(run, 1) }

// DecodeTextRuns decodes runs from Encode, or returns nil if encoded is empty or damaged. offset and length locate the
// chunk's text in the document.
func DecodeTextRuns(encoded string, offset, length int) TextRuns {
	if encoded == "" || len(encoded) > maxEncodedRuns {
		return nil
	}
	var out TextRuns
	before := TextRun{Document: offset}
	for part := range strings.SplitSeq(encoded, " ") {
		text, shift, given := strings.Cut(part, ",")
		t, err := strconv.ParseInt(text, 36, 32)
		s := int64(impliedShift(len(out)))
		if err == nil && given {
			s, err = strconv.ParseInt(shift, 36, 64)
		}
		run := TextRun{Text: before.Text + int(t)}
		run.Document = run.Text + before.Document - before.Text + int(s)
		if err != nil || t < 0 || run.Document < 0 || run.Text > length || len(out) > 0 && t == 0 {
			return nil
		}
		if n := len(out); n > 0 {
			out[n-1].Length = int(t)
		}
		out = append(out, run)
		before = run
	}
	return out.End(length)
}
