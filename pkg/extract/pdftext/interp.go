package pdftext

import (
	"context"
	"errors"
	"math"
	"strings"

	"github.com/ledongthuc/pdf"
	"golang.org/x/text/encoding/unicode"
)

// interpreter runs content streams and passes the glyphs they show to a lineBuilder.
type interpreter struct {
	ctx    context.Context
	doc    *Document
	out    *lineBuilder
	budget int // operators and glyphs left for this page
	forms  int // form XObjects run

	state  graphics
	stack  []graphics
	tm     matrix // text matrix
	tlm    matrix // text line matrix
	fonts  pdf.Value
	res    pdf.Value
	marks  []mark
	hidden int // open marks whose text is replaced
}

// graphics is what q saves and Q restores.
type graphics struct {
	ctm                           matrix
	font                          *font
	size, char, word, scale, lead float64
	rise                          float64
	mode                          int
}

// mark is an open marked-content sequence.
type mark struct {
	replaced bool
}

const (
	maxForms     = 2_000
	maxFormDepth = 12
	maxOperands  = 512
)

var errBudget = errors.New("the page shows too much")

// page runs a page's content and the appearances of its form fields.
func (in *interpreter) page(p pageRef) error {
	in.state = graphics{ctm: identity, scale: 1}
	v := p.value()
	data, err := in.doc.contents(v.Key("Contents"))
	if runErr := in.run(data, in.doc.pageResources(p), 0); runErr != nil {
		return runErr
	}
	return errors.Join(err, in.annotations(v.Key("Annots")))
}

// contents joins a page's content streams; a broken one is left out and reported.
func (d *Document) contents(v pdf.Value) ([]byte, error) {
	if v.Kind() != pdf.Array {
		if v.Kind() != pdf.Stream {
			return nil, nil
		}
		return d.streamBytes(v)
	}
	var all []byte
	var errs error
	for i := range min(v.Len(), 10_000) {
		data, err := d.streamBytes(v.Index(i))
		if err != nil {
			errs = err
		}
		if len(all)+len(data) > maxStream {
			return all, errBudget
		}
		all = append(append(all, data...), '\n')
	}
	return all, errs
}

// annotations runs the normal appearances of annotations that show text of their own.
func (in *interpreter) annotations(list pdf.Value) error {
	for i := range min(list.Len(), 5_000) {
		a := list.Index(i)
		switch a.Key("Subtype").Name() {
		case "Popup", "Link", "Text":
			continue
		}
		const invisible, hidden, noView = 1, 2, 32
		if a.Key("F").Int64()&(invisible|hidden|noView) != 0 {
			continue
		}
		ap := a.Key("AP").Key("N")
		if ap.Kind() == pdf.Dict {
			ap = ap.Key(a.Key("AS").Name())
		}
		if ap.Kind() != pdf.Stream {
			continue
		}
		in.state = graphics{ctm: identity, scale: 1}
		if r := a.Key("Rect"); r.Len() == 4 {
			x, y := min(r.Index(0).Float64(), r.Index(2).Float64()), min(r.Index(1).Float64(), r.Index(3).Float64())
			box := ap.Key("BBox")
			in.state.ctm = matrix{1, 0, 0, 1, x - box.Index(0).Float64(), y - box.Index(1).Float64()}
		}
		in.out.breakLine()
		if err := in.form(ap, pdf.Value{}, 1); err != nil {
			return err
		}
	}
	return nil
}

// form runs a form XObject in the current state.
func (in *interpreter) form(v, outer pdf.Value, depth int) error {
	if in.forms++; in.forms > maxForms || depth > maxFormDepth {
		return errBudget
	}
	data, err := in.doc.streamBytes(v)
	if err != nil {
		return err
	}
	if !strings.Contains(string(data), "T") && !strings.Contains(string(data), "Do") {
		return nil // a drawing
	}
	saved, stack, tm, tlm, fonts, res := in.state, in.stack, in.tm, in.tlm, in.fonts, in.res
	in.stack = nil
	if m := v.Key("Matrix"); m.Len() == 6 {
		in.state.ctm = matrixOf(m).mul(in.state.ctm)
	}
	own := v.Key("Resources")
	if own.Kind() != pdf.Dict {
		own = outer
	}
	err = in.run(data, own, depth)
	in.state, in.stack, in.tm, in.tlm, in.fonts, in.res = saved, stack, tm, tlm, fonts, res
	return err
}

func matrixOf(v pdf.Value) matrix {
	var m matrix
	for i := range m {
		m[i] = v.Index(i).Float64()
	}
	return m
}

// run interprets one content stream.
func (in *interpreter) run(data []byte, res pdf.Value, depth int) error {
	in.res = res
	in.fonts = res.Key("Font")
	t := &tokenizer{data: data}
	args := make([]token, 0, 16)
	for {
		tok := t.next()
		if tok.kind == tokEnd {
			return nil
		}
		if tok.kind != tokOperator {
			if len(args) < maxOperands {
				args = append(args, tok)
			}
			continue
		}
		if in.budget--; in.budget < 0 {
			return errBudget
		}
		if in.budget&0xfff == 0 && in.ctx.Err() != nil {
			return in.ctx.Err()
		}
		if tok.str == "ID" {
			t.skipImage()
		} else if err := in.operator(tok.str, args, depth); err != nil {
			return err
		}
		args = args[:0]
	}
}

func num(args []token, i int) float64 {
	if i < len(args) {
		return args[i].num
	}
	return 0
}

func str(args []token, i int) string {
	if i < len(args) {
		return args[i].str
	}
	return ""
}

func (in *interpreter) operator(op string, args []token, depth int) error {
	s := &in.state
	switch op {
	case "q":
		if len(in.stack) < 512 {
			in.stack = append(in.stack, *s)
		}
	case "Q":
		if n := len(in.stack); n > 0 {
			*s = in.stack[n-1]
			in.stack = in.stack[:n-1]
		}
	case "cm":
		if m := (matrix{num(args, 0), num(args, 1), num(args, 2), num(args, 3), num(args, 4), num(args, 5)}).mul(s.ctm); m.finite() {
			s.ctm = m
		}
	case "Do":
		return in.xobject(str(args, 0), depth)
	case "gs":
		if f := in.res.Key("ExtGState").Key(str(args, 0)).Key("Font"); f.Len() == 2 {
			s.size = f.Index(1).Float64()
		}
	case "BMC", "BDC":
		in.beginMark(args)
	case "EMC":
		in.endMark()
	default:
		in.textOperator(op, args)
	}
	return nil
}

func (in *interpreter) textOperator(op string, args []token) {
	s := &in.state
	switch op {
	case "BT":
		in.tm, in.tlm = identity, identity
	case "Tc":
		s.char = num(args, 0)
	case "Tw":
		s.word = num(args, 0)
	case "Tz":
		s.scale = num(args, 0) / 100
	case "TL":
		s.lead = num(args, 0)
	case "Tf":
		if n := len(args); n >= 2 {
			s.font, s.size = in.doc.font(in.fonts, args[n-2].str), args[n-1].num
		}
	case "Tr":
		s.mode = int(num(args, 0))
	case "Ts":
		s.rise = num(args, 0)
	case "Td":
		in.moveLine(num(args, 0), num(args, 1))
	case "TD":
		s.lead = -num(args, 1)
		in.moveLine(num(args, 0), num(args, 1))
	case "Tm":
		if m := (matrix{num(args, 0), num(args, 1), num(args, 2), num(args, 3), num(args, 4), num(args, 5)}); m.finite() {
			in.tm, in.tlm = m, m
		}
	case "T*":
		in.moveLine(0, -s.lead)
	case "Tj":
		in.show(str(args, 0))
	case "'":
		in.moveLine(0, -s.lead)
		in.show(str(args, 0))
	case "\"":
		s.word, s.char = num(args, 0), num(args, 1)
		in.moveLine(0, -s.lead)
		in.show(str(args, 2))
	case "TJ":
		if len(args) == 0 {
			return
		}
		for _, item := range args[len(args)-1].items {
			switch item.kind {
			case tokString:
				in.show(item.str)
			case tokNumber:
				in.advance(-item.num / 1000 * s.size)
			}
		}
	}
}

func (in *interpreter) moveLine(x, y float64) {
	if m := (matrix{1, 0, 0, 1, x, y}).mul(in.tlm); m.finite() {
		in.tlm, in.tm = m, m
	}
}

// advance moves the pen by a distance in unscaled text space.
func (in *interpreter) advance(d float64) {
	x, y := d*in.state.scale, 0.0
	if f := in.state.font; f != nil && f.vertical {
		x, y = 0, d
	}
	if m := (matrix{1, 0, 0, 1, x, y}).mul(in.tm); m.finite() {
		in.tm = m
	}
}

// show passes the glyphs of a string on and moves the pen.
func (in *interpreter) show(s string) {
	st := &in.state
	f := st.font
	if f == nil || in.budget < 0 {
		return
	}
	f.decode(s, func(g glyph) {
		in.budget--
		extra := st.char
		if g.space {
			extra += st.word
		}
		m := (matrix{st.size * st.scale, 0, 0, st.size, 0, st.rise}).mul(in.tm).mul(st.ctm)
		w := g.width*st.size + extra
		before := [2]float64{m[4], m[5]}
		in.advance(w)
		after := (matrix{1, 0, 0, 1, 0, st.rise}).mul(in.tm).mul(st.ctm)
		if in.hidden > 0 {
			in.out.extend(after[4], after[5])
			return
		}
		in.count(g.text)
		in.emit(g.text, m, before, [2]float64{after[4], after[5]})
	})
}

// emit passes a piece of text on with its size and direction.
func (in *interpreter) emit(text string, m matrix, from, to [2]float64) {
	size := math.Hypot(m[2], m[3])
	dx, dy := m[0], m[1]
	if f := in.state.font; f != nil && f.vertical {
		dx, dy = -m[2], -m[3]
	}
	n := math.Hypot(dx, dy)
	if n == 0 || size == 0 || !m.finite() {
		return
	}
	bold := in.state.font != nil && in.state.font.bold || in.state.mode == 2
	in.out.glyph(text, size, dx/n, dy/n, from, to, bold)
}

func (in *interpreter) count(text string) {
	st := &in.doc.Stats
	st.Glyphs++
	if text == "" {
		st.Undecoded++
		return
	}
	for _, r := range text {
		if r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r >= 0xe000 && r <= 0xf8ff || r == 0xfffd {
			st.Odd++
			return
		}
	}
}

func (in *interpreter) xobject(name string, depth int) error {
	v := in.res.Key("XObject").Key(name)
	if v.Kind() != pdf.Stream || v.Key("Subtype").Name() != "Form" {
		return nil
	}
	err := in.form(v, in.res, depth+1)
	if err != nil && (errors.Is(err, errBudget) || in.ctx.Err() != nil) {
		return err
	}
	return nil // an unreadable form costs what it shows
}

// beginMark opens marked content. Where it says what its text really is (ligatures, hyphenation), that is taken
// in place of the glyphs.
func (in *interpreter) beginMark(args []token) {
	m := mark{}
	if len(args) == 2 && args[1].kind == tokDict && in.hidden == 0 {
		items := args[1].items
		for i := 0; i+1 < len(items); i += 2 {
			if items[i].str == "ActualText" && items[i+1].kind == tokString {
				m.replaced = true
				in.actualText(textString(items[i+1].str))
			}
		}
	}
	if m.replaced {
		in.hidden++
	}
	if len(in.marks) < 4096 {
		in.marks = append(in.marks, m)
	}
}

func (in *interpreter) endMark() {
	n := len(in.marks)
	if n == 0 {
		return
	}
	if in.marks[n-1].replaced {
		in.hidden--
	}
	in.marks = in.marks[:n-1]
}

func (in *interpreter) actualText(text string) {
	if text == "" || in.state.font == nil {
		return
	}
	st := &in.state
	m := (matrix{st.size * st.scale, 0, 0, st.size, 0, st.rise}).mul(in.tm).mul(st.ctm)
	at := [2]float64{m[4], m[5]}
	in.count(text)
	in.emit(text, m, at, at)
}

// textString decodes a PDF text string: UTF-16 with a mark, UTF-8 with a mark, else Latin-1.
func textString(s string) string {
	if strings.HasPrefix(s, "\xfe\xff") {
		out, err := unicode.UTF16(unicode.BigEndian, unicode.ExpectBOM).NewDecoder().String(s)
		if err == nil {
			return out
		}
	}
	if rest, ok := strings.CutPrefix(s, "\xef\xbb\xbf"); ok {
		return rest
	}
	runes := make([]rune, len(s))
	for i := range len(s) {
		runes[i] = rune(s[i])
	}
	return string(runes)
}
