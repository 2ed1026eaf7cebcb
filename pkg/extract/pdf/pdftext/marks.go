package pdftext

import (
	"math"
	"slices"

	"github.com/ledongthuc/pdf"
	"github.com/sluice/sluice/pkg/extract/pdf/pdfobject"
)

// maxMarks is the maximum number of open marked-content sequences.
const maxMarks = 4096

// mark is an open marked-content sequence.
type mark struct {
	replaced bool
	off      bool
	artifact bool
}

// beginMark opens a marked-content sequence. If the sequence has replacement text, as ligatures and divided words do,
// that text is used instead of the glyphs' text.
func (in *interpreter) beginMark(args []pdfobject.Token, properties bool) {
	m := mark{}
	tag := str(args, 0)
	if properties && len(args) >= 2 {
		text, has := "", false
		switch p := args[len(args)-1]; p.Kind {
		case pdfobject.Dict:
			v := p.Key("ActualText")
			text, has = pdfobject.TextString(v.Str), v.Kind == pdfobject.String
			m.artifact = tag == "Artifact" && isPagination(p.Key("Type").Str, p.Key("Subtype").Str)
		case pdfobject.Name:
			v := in.res.get("Properties", p.Str)
			text, has = v.Key("ActualText").Text(), v.Key("ActualText").Kind() == pdf.String
			m.artifact = tag == "Artifact" && isPagination(v.Key("Type").Name(), v.Key("Subtype").Name())
			m.off = tag == "OC" && in.doc.hides(v)
		}
		if m.replaced = has && in.hidden == 0; m.replaced {
			in.actual = text
			in.budget -= len(text)
		}
	}
	if len(in.marks) >= maxMarks {
		return
	}
	if m.replaced {
		in.hidden++
	}
	if m.off {
		in.off++
	}
	if m.artifact {
		in.out.setArtifact(true)
	}
	in.marks = append(in.marks, m)
}

// isPagination reports whether an artifact is a running title, a page number or similar.
func isPagination(kind, subtype string) bool {
	return kind == "Pagination" || subtype == "Header" || subtype == "Footer"
}

func (in *interpreter) endMark() {
	n := len(in.marks)
	if n == 0 {
		return
	}
	m := in.marks[n-1]
	if m.replaced {
		if in.actual != "" && in.state.font != nil && in.off == 0 { // no glyph: the text belongs to a picture
			in.showActual()
		}
		in.hidden--
		in.actual = ""
	}
	if m.off {
		in.off--
	}
	in.marks = in.marks[:n-1]
	if m.artifact && !slices.ContainsFunc(in.marks, func(m mark) bool { return m.artifact }) {
		in.out.setArtifact(false)
	}
}

// endMarks closes open marks, innermost first, until only `left` of them are open. It is needed because a content
// stream may end without closing the marks that it opened.
func (in *interpreter) endMarks(left int) {
	for len(in.marks) > left {
		in.endMark()
	}
}

func (in *interpreter) showActual() {
	st := &in.state
	m := (matrix{st.size * st.scale, 0, 0, st.size, 0, st.rise}).mul(in.tm).mul(st.ctm)
	at := [2]float64{m[4], m[5]}
	if !in.box.outside(at, at, math.Hypot(m[2], m[3])) {
		in.count(in.actual)
		in.emit(in.actual, in.styleOf(m), at, at)
	}
}
