package docx

import (
	"encoding/xml"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/ooxml"
	"github.com/sluice/sluice/pkg/extract/xmlscan"
)

// field is a Word field: a hidden code and its visible result.
type field struct {
	code   strings.Builder
	result bool // the code has ended
	hidden bool // the result is also omitted from the text
	shown  string
	para   *paragraph // paragraph in which the result begins
	start  int        // the result's offset in para's text
}

// maxFieldCode is the length in bytes to which field codes are truncated. maxOpenFields is the maximum nesting depth of
// fields.
const (
	maxFieldCode  = 8 << 10
	maxOpenFields = 100
)

// inFieldCode reports whether the current text is part of a field's code or hidden result. Such text is omitted.
func (w *walker) inFieldCode() bool {
	return slices.ContainsFunc(w.fields, func(f *field) bool { return !f.result || f.hidden })
}

// fieldChar handles the element that starts, separates or ends a field.
func (w *walker) fieldChar(e xml.StartElement) {
	n := len(w.fields)
	switch xmlscan.Attr(e, "fldCharType") {
	case "begin":
		if n == maxOpenFields {
			w.fields = w.fields[1:]
		}
		f := &field{para: w.para}
		if w.para != nil {
			f.start = w.para.text.Len()
		}
		w.fields = append(w.fields, f)
		f.shown = formValue(w.sc)
		return
	case "separate":
		if n > 0 {
			w.beginFieldResult(w.fields[n-1])
		}
	case "end":
		if n > 0 {
			f := w.fields[n-1]
			w.fields = w.fields[:n-1]
			w.endField(f)
		}
	}
	w.sc.Skip()
}

// beginFieldResult ends the field's code and begins its result.
func (w *walker) beginFieldResult(f *field) {
	f.result, f.para = true, w.para
	if w.para != nil {
		f.start = w.para.text.Len()
	}
	if w.inHeaderOrFooter && isPageField(f.code.String()) && w.para != nil {
		f.hidden, w.para.pageField = true, true
	}
}

// endField writes the value of a form field, if there is one. If the field is a hyperlink, endField records the field's
// result as link text.
func (w *walker) endField(f *field) {
	if f.shown != "" {
		w.write(f.shown)
	}
	if f.para != nil && f.para == w.para && !w.inFieldCode() && !f.hidden {
		f.para.addLink(f.start, hyperlinkTarget(f.code.String()))
	}
}

func (w *walker) fieldCode(s string) {
	if n := len(w.fields); n > 0 && w.fields[n-1].code.Len() < maxFieldCode {
		w.fields[n-1].code.WriteString(s)
	}
}

// simpleField reads a field stored as a single element, with the code as an attribute and the result as content.
func (w *walker) simpleField(code string) {
	f := &field{}
	f.code.WriteString(format.Cut(code, maxFieldCode))
	w.beginFieldResult(f)
	w.fields = append(w.fields, f)
	w.inlines()
	if n := len(w.fields); n > 0 && w.fields[n-1] == f {
		w.fields = w.fields[:n-1]
	}
	w.endField(f)
}

// formValue reads an old-style form field: whether a box is ticked, or which list entry is selected. Unlike other
// fields, these have no result in the file.
func formValue(sc *xmlscan.Scanner) string {
	shown, chosen := "", -1
	var entries []string
	sc.Descend(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "checkBox":
			shown = "☐"
		case "checked", "default":
			if shown != "" {
				shown = map[bool]string{true: "☒", false: "☐"}[xmlscan.IsOn(e)]
			}
		case "ddList":
			chosen = 0
		case "result":
			chosen = int(ooxml.ParseSmall(xmlscan.Attr(e, "val")))
		case "listEntry":
			entries = append(entries, xmlscan.Attr(e, "val"))
		}
		return false
	})
	if chosen >= 0 && chosen < len(entries) {
		return entries[chosen]
	}
	return shown
}

// isPageField reports whether the field code stands for a page number or page count.
func isPageField(code string) bool {
	words := strings.Fields(strings.ToUpper(code))
	if len(words) == 0 {
		return false
	}
	switch words[0] {
	case "PAGE", "NUMPAGES", "SECTIONPAGES":
		return true
	}
	return false
}

// hyperlinkTarget returns the address in a HYPERLINK code, or "" for other codes and for links within the document.
func hyperlinkTarget(code string) string {
	rest, found := strings.CutPrefix(strings.TrimSpace(code), "HYPERLINK")
	if !found {
		return ""
	}
	rest = strings.TrimSpace(rest)
	if strings.HasPrefix(rest, `\`) { // the switch \l, followed by a bookmark
		return ""
	}
	if quoted, ok := strings.CutPrefix(rest, `"`); ok {
		address, _, _ := strings.Cut(quoted, `"`)
		return address
	}
	address, _, _ := strings.Cut(rest, " ")
	return address
}
