package pdftext

import (
	"bytes"
	"context"
	"errors"
	"math"
	"strings"

	"github.com/ledongthuc/pdf"
	"github.com/sluice/sluice/pkg/extract/pdf/pdffont"
	"github.com/sluice/sluice/pkg/extract/pdf/pdfobject"
)

// interpreter runs content streams and passes the page's glyphs to a lineBuilder.
type interpreter struct {
	ctx    context.Context
	doc    *Document
	out    *lineBuilder
	budget int // operators and glyphs left for this page
	forms  int // form XObjects run so far

	state  graphics
	stack  []graphics
	tm     matrix // text matrix
	tlm    matrix // text line matrix
	res    *resources
	shared map[uint32]*resources // the page's resources by object number
	box    pageBox
	marks  []mark
	hidden int    // open marks with replacement text
	off    int    // open marks for hidden layers
	actual string // replacement text from the innermost mark with ActualText, until its first glyph is shown

	path  path
	drawn Drawn

	fields []Field

	// Signs of invisible text.
	before   Stats // statistics about earlier pages
	paints   []paintBox
	grounds  map[colour]bool // painted regions' colours
	covers   []cover
	covering bool // regions painted now may cover text
	suspects []suspect
	unseen   Unseen
	layered  int // invisible glyphs over pictures

	pictured float64 // share of the page covered by pictures; above 1 if they overlap
	shapes   int     // filled shapes with curves
}

// graphics is the graphics state that the q and Q operators save and restore.
type graphics struct {
	ctm                           matrix
	font                          *pdffont.Font
	size, char, word, scale, lead float64
	rise                          float64
	mode                          int
	width                         float64 // line width of strokes
	alpha                         float64 // opacity of fills, from 0 to 1
	blend                         bool    // fills are blended with the content below
	fill                          colour  // fill colour
	white, strokeWhite            bool    // fills and strokes are white
	space, strokeSpace            int     // number of components in the current colour space; -1 if unknown
	clip                          rect    // bounding box of the visible region
	shaped                        bool    // the clip is not a rectangle
}

// initialGraphics returns a page's initial graphics state.
func initialGraphics(ctm matrix) graphics {
	return graphics{ctm: ctm, scale: 1, width: 1, alpha: 1, fill: black, space: 1, strokeSpace: 1, clip: infiniteRect}
}

const (
	maxForms     = 2_000
	maxFormDepth = 12
	maxOperands  = 512
)

var errBudget = errors.New("the page has too many drawing instructions")

// page runs a page's content and its form fields' appearances.
func (in *interpreter) page(p pageRef) error {
	in.box = in.doc.box(p)
	in.state = initialGraphics(in.box.toPage)
	in.covering = true
	v := p.value()
	data, err := in.doc.contents(v.Key("Contents"))
	in.shared = map[uint32]*resources{}
	if runErr := in.run(data, in.resourcesOf(in.doc.pageResources(p)), 0); runErr != nil {
		return runErr
	}
	in.endMarks(0)
	return errors.Join(err, in.annotations(v.Key("Annots")))
}

// contents joins a page's content streams. If a stream is damaged, it returns an error with the readable data.
func (d *Document) contents(v pdf.Value) ([]byte, error) {
	if v.Kind() != pdf.Array {
		if v.Kind() != pdf.Stream {
			return nil, nil
		}
		return d.file.Stream(v)
	}
	var all []byte
	var errs error
	for i := range min(v.Len(), 10_000) {
		data, err := d.file.Stream(v.Index(i))
		if err != nil {
			errs = err
		}
		if len(all)+len(data) > pdfobject.MaxStream {
			return all, errBudget
		}
		all = append(append(all, data...), '\n')
	}
	return all, errs
}

// form runs a form XObject in the current graphics state and then restores that state.
func (in *interpreter) form(v pdf.Value, outer *resources, depth int) error {
	if in.forms++; in.forms > maxForms || depth > maxFormDepth {
		return errBudget
	}
	data, err := in.doc.file.Stream(v)
	if err != nil {
		return err
	}
	if !bytes.Contains(data, []byte("T")) && !bytes.Contains(data, []byte("Do")) {
		in.drawing(v)
		return nil
	}
	saved, stack, tm, tlm, res, marks := in.state, in.stack, in.tm, in.tlm, in.res, len(in.marks)
	in.stack = nil
	if m := v.Key("Matrix"); m.Len() == 6 {
		in.state.ctm = matrixOf(m).mul(in.state.ctm)
	}
	own := outer
	if list := v.Key("Resources"); list.Kind() == pdf.Dict {
		own = in.resourcesOf(list)
	}
	err = in.run(data, own, depth)
	in.endMarks(marks)
	in.state, in.stack, in.tm, in.tlm, in.res = saved, stack, tm, tlm, res
	return err
}

// drawing handles a form XObject without text. It assumes that the form paints its whole bounding box, which may then
// cover text or be its background.
func (in *interpreter) drawing(v pdf.Value) {
	box, ok := rectOf(v.Key("BBox"))
	if !ok {
		return
	}
	m := in.state.ctm
	if list := v.Key("Matrix"); list.Len() == 6 {
		m = matrixOf(list).mul(m)
	}
	in.painted(box.transform(m), true)
}

func matrixOf(v pdf.Value) matrix {
	var m matrix
	for i := range m {
		m[i] = v.Index(i).Float64()
	}
	return m
}

// run interprets a content stream.
func (in *interpreter) run(data []byte, res *resources, depth int) error {
	in.res = res
	t := pdfobject.NewScanner(data)
	args := make([]pdfobject.Token, 0, 16)
	for {
		tok := t.Next()
		if tok.Kind == pdfobject.End {
			return nil
		}
		if tok.Kind != pdfobject.Operator {
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
		if tok.Str == "ID" {
			in.picture(unitSquare.transform(in.state.ctm))
			t.SkipImage()
		} else if err := in.operator(tok.Str, args, depth); err != nil {
			return err
		}
		args = args[:0]
	}
}

func num(args []pdfobject.Token, i int) float64 {
	if i < len(args) {
		return args[i].Num
	}
	return 0
}

func str(args []pdfobject.Token, i int) string {
	if i < len(args) {
		return args[i].Str
	}
	return ""
}

func (in *interpreter) operator(op string, args []pdfobject.Token, depth int) error {
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
		set := in.res.get("ExtGState", str(args, 0))
		if f := set.Key("Font"); f.Len() == 2 {
			s.font, s.size = in.doc.fonts.Load(f.Index(0)), f.Index(1).Float64()
		}
		if a := set.Key("ca"); a.Kind() == pdf.Real || a.Kind() == pdf.Integer {
			s.alpha = a.Float64()
		}
		if b := set.Key("BM"); b.Kind() != pdf.Null {
			s.blend = b.Name() != "Normal" && b.Name() != "Compatible"
		}
	case "sh":
		in.painted(infiniteRect, true)
	case "BMC", "BDC":
		in.beginMark(args, op == "BDC")
	case "EMC":
		in.endMark()
	default:
		if !in.colour(op, args) {
			in.textOperator(op, args)
		}
	}
	return nil
}

func (in *interpreter) textOperator(op string, args []pdfobject.Token) {
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
			s.font, s.size = in.res.font(args[n-2].Str), args[n-1].Num
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
		for _, item := range args[len(args)-1].Items {
			switch item.Kind {
			case pdfobject.String:
				in.show(item.Str)
			case pdfobject.Number:
				in.advance(-item.Num / 1000 * s.size)
			}
		}
	default:
		in.pathOperator(op, args)
	}
}

func (in *interpreter) moveLine(x, y float64) {
	if m := in.tlm.moved(x, y); m.finite() {
		in.tlm, in.tm = m, m
	}
}

// advance moves the pen by a distance given in unscaled text space.
func (in *interpreter) advance(d float64) {
	x, y := d*in.state.scale, 0.0
	if f := in.state.font; f != nil && f.Vertical {
		x, y = 0, d
	}
	if m := in.tm.moved(x, y); m.finite() {
		in.tm = m
	}
}

// show passes a string's glyphs to the lineBuilder and moves the pen.
func (in *interpreter) show(s string) {
	st := &in.state
	f := st.font
	if f == nil || in.budget < 0 {
		return
	}
	// A string's glyphs differ only in position. Each starts where the previous one ends.
	m := (matrix{st.size * st.scale, 0, 0, st.size, 0, st.rise}).mul(in.tm).mul(st.ctm)
	look := in.styleOf(m)
	before := [2]float64{m[4], m[5]}
	why := in.suspicionOf(look)
	start, glyphs, left := before, 0, 0 // start of the string; number of glyphs shown and omitted
	f.Decode(s, func(g pdffont.Glyph) {
		if in.budget--; in.budget < 0 {
			return // a single string can be as long as the stream
		}
		extra := st.char
		if g.Space {
			extra += st.word
		}
		in.advance(g.Width*st.size + extra)
		var end [2]float64
		end[0], end[1] = st.ctm.apply(in.tm.apply(0, st.rise))
		visible := strings.TrimSpace(g.Text) != "" || g.Text == "" && !g.Space
		switch {
		case in.off > 0:
			if visible {
				left++
			}
		case in.box.outside(before, end, look.size):
			if visible {
				in.unseen.Outside++
			}
		case in.hidden > 0 && in.actual == "":
			in.out.extend(end[0], end[1])
		case in.hidden > 0:
			in.count(in.actual)
			in.emit(in.actual, look, before, end)
			in.actual = ""
		default:
			in.count(g.Text)
			in.emit(g.Text, look, before, end)
			if visible {
				glyphs++
			}
		}
		before = end
	})
	at := rect{min(start[0], before[0]), min(start[1], before[1]), max(start[0], before[0]), max(start[1], before[1])}
	if look.dx*look.dx > look.dy*look.dy {
		at.y1 += 0.7 * look.size
	} else {
		at.x0, at.x1 = at.x0-0.7*look.size, at.x1+0.7*look.size
	}
	in.suspectRun(why, at, glyphs)
	if left > 0 {
		in.unseen.Hidden += left
		in.recordHidden(at)
	}
}

// textStyle holds the properties shared by all glyphs in a string.
type textStyle struct {
	shown  bool // the glyphs have a size and a direction
	size   float64
	dx, dy float64 // direction of writing, of length 1
	bold   bool
}

// styleOf returns the size, direction and weight of glyphs with the given matrix.
func (in *interpreter) styleOf(m matrix) textStyle {
	l := textStyle{size: math.Hypot(m[2], m[3]), dx: m[0], dy: m[1]}
	if f := in.state.font; f != nil && f.Vertical {
		l.dx, l.dy = -m[2], -m[3]
	}
	n := math.Hypot(l.dx, l.dy)
	m[4], m[5] = 0, 0 // the position differs per glyph
	if l.shown = n != 0 && l.size != 0 && m.finite(); l.shown {
		l.dx, l.dy = l.dx/n, l.dy/n
	}
	l.bold = in.state.font != nil && in.state.font.Bold || in.state.mode == 2
	return l
}

// emit passes a text to the lineBuilder, with its size and direction.
func (in *interpreter) emit(text string, l textStyle, from, to [2]float64) {
	if l.shown && math.Abs(from[0]) <= maxMagnitude && math.Abs(from[1]) <= maxMagnitude {
		in.out.vertical = in.state.font != nil && in.state.font.Vertical
		in.out.glyph(text, l.size, l.dx, l.dy, from, to, l.bold)
	}
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
	v := in.res.get("XObject", name)
	if v.Kind() == pdf.Stream && v.Key("Subtype").Name() == "Image" && !in.doc.hides(v.Key("OC")) {
		in.picture(unitSquare.transform(in.state.ctm))
	}
	if v.Kind() != pdf.Stream || v.Key("Subtype").Name() != "Form" {
		return nil
	}
	if in.doc.hides(v.Key("OC")) { // run it to find where its text is, because PDFium also reads hidden text
		in.off++
		defer func() { in.off-- }()
	}
	err := in.form(v, in.res, depth+1)
	if err != nil && (errors.Is(err, errBudget) || in.ctx.Err() != nil) {
		return err
	}
	return nil // an unreadable form loses only its own text
}
