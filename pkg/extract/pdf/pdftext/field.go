package pdftext

import (
	"strings"

	"github.com/ledongthuc/pdf"
	"github.com/sluice/sluice/pkg/extract/pdf/pdfobject"
)

// FieldKind is the kind of a form field.
type FieldKind byte

// Kinds of fields whose values are read. Other fields are read as text on the page.
const (
	TextField   FieldKind = iota // text, or a choice from a list
	CheckField                   // a box that is ticked or not
	ChoiceField                  // one of a group of radio buttons
)

// Field is a form field on a page.
type Field struct {
	Kind  FieldKind
	Name  string // display name; "" if it has none
	Value string // value of a text field
	On    bool   // the box is ticked
	Box   Box    // position on the visible page
}

const (
	maxFieldText   = 64 << 10 // maximum size of a value, in bytes
	maxFieldValues = 100      // maximum number of values chosen from a list
)

// field reads a widget annotation's form field. `ok` is false for fields such as buttons and signatures, whose
// appearance is read instead.
func (in *interpreter) field(a pdf.Value) (f Field, ok bool) {
	const password, radio, button = 1 << 13, 1 << 15, 1 << 16
	flags := inherited(a, "Ff").Int64()
	r, hasBox := rectOf(a.Key("Rect"))
	if !hasBox {
		return Field{}, false
	}
	r = r.transform(in.box.toPage)
	f.Box = Box{r.x0, r.y0, r.x1, r.y1}
	if in.box.width > 0 && (r.x1 < 0 || r.y1 < 0 || r.x0 > in.box.width || r.y0 > in.box.height) {
		return f, true // outside the page
	}
	f.Name = fieldText(inherited(a, "TU"))
	switch kind := inherited(a, "FT").Name(); {
	case kind == "Tx" && flags&password != 0:
		return f, true
	case kind == "Tx", kind == "Ch":
		f.Value = displayedValue(inherited(a, "V"), inherited(a, "Opt"))
		if f.Value != "" {
			in.count(f.Value)
			in.budget -= len(f.Value)
		}
		return f, f.Value != ""
	case kind == "Sig":
		f.Value = fieldText(inherited(a, "V").Key("Name"))
		return f, f.Value != "" && a.Key("AP").Kind() == pdf.Null
	case kind != "Btn" || flags&button != 0:
		return Field{}, false
	case flags&radio != 0:
		f.Kind = ChoiceField
	default:
		f.Kind = CheckField
	}
	state := a.Key("AS").Name()
	if a.Key("AS").Kind() != pdf.Name {
		state = inherited(a, "V").Name()
		if shown := a.Key("AP").Key("N"); f.Kind == ChoiceField && shown.Kind() == pdf.Dict && shown.Key(state).Kind() == pdf.Null {
			state = "" // another button in the group is selected
		}
	}
	f.On = state != "" && state != "Off"
	return f, true
}

// fieldText returns a field's string with white space collapsed, truncated to maxFieldText bytes.
func fieldText(v pdf.Value) string {
	var s string
	switch v.Kind() {
	case pdf.String:
		s = pdfobject.TextString(v.RawString())
	case pdf.Name:
		s = v.Name()
	}
	s = s[:min(len(s), maxFieldText)]
	return strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")
}

// displayedValue returns a text field's or choice's value as displayed. An option's label may differ from its value.
func displayedValue(v, options pdf.Value) string {
	if v.Kind() != pdf.Array {
		return optionText(fieldText(v), options)
	}
	var all []string
	for i := range min(v.Len(), maxFieldValues) {
		if text := optionText(fieldText(v.Index(i)), options); text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, ", ")
}

func optionText(value string, options pdf.Value) string {
	for i := range min(options.Len(), maxFieldValues) {
		if o := options.Index(i); o.Kind() == pdf.Array && o.Len() == 2 && value != "" && fieldText(o.Index(0)) == value {
			return fieldText(o.Index(1))
		}
	}
	return value
}
