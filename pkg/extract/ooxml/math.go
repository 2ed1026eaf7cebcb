package ooxml

import (
	"encoding/xml"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/xmlscan"
)

// FormulaText reads the current element as a formula and returns it in linear form: a/b, x^2, √(x+1), ∑_(k=0)^n.
func FormulaText(sc *xmlscan.Scanner) string { return format.OneLine(formulaParts(sc)) }

// formulaParts returns the joined text of the child elements.
func formulaParts(sc *xmlscan.Scanner) string {
	var b strings.Builder
	sc.Each(func(e xml.StartElement) bool {
		b.WriteString(formulaElement(sc, e))
		return true
	})
	return b.String()
}

func formulaElement(sc *xmlscan.Scanner, e xml.StartElement) string {
	switch e.Name.Local {
	case "t":
		return strings.ReplaceAll(sc.Text(), "\u2061", "") // the invisible operator for function application
	case "tab", "br":
		sc.Skip()
		return " "
	case "rPr", "ctrlPr", "del", "moveFrom", "instrText", "Fallback", "pPr", "argPr":
		sc.Skip()
		return ""
	case "f", "sSup", "sSub", "sSubSup", "sPre", "rad", "nary", "d", "func", "acc", "bar", "limLow", "limUpp", "m", "eqArr", "groupChr":
		return formulaShape(e.Name.Local, formulaArguments(sc))
	case "oMath":
		return formulaParts(sc) + " "
	}
	return formulaParts(sc)
}

// formulaArgs holds a formula element's parts and properties by name.
type formulaArgs struct {
	parts map[string][]string // num, den, e, sup, …; e may occur more than once
	props map[string]string   // chr, begChr, …
}

func (a formulaArgs) part(name string) string {
	return strings.TrimSpace(strings.Join(a.parts[name], ""))
}

func (a formulaArgs) prop(name, def string) string {
	if v, ok := a.props[name]; ok {
		return v
	}
	return def
}

func formulaArguments(sc *xmlscan.Scanner) formulaArgs {
	a := formulaArgs{parts: map[string][]string{}, props: map[string]string{}}
	sc.Each(func(e xml.StartElement) bool {
		switch name := e.Name.Local; {
		case name == "mr":
			var cells []string
			sc.Each(func(e xml.StartElement) bool {
				cells = append(cells, strings.TrimSpace(formulaElement(sc, e)))
				return true
			})
			a.parts[name] = append(a.parts[name], strings.Join(cells, ", "))
		case strings.HasSuffix(name, "Pr"):
			sc.Descend(func(e xml.StartElement) bool {
				a.props[e.Name.Local] = xmlscan.Attr(e, "val")
				return false
			})
		default:
			a.parts[name] = append(a.parts[name], formulaElement(sc, e))
		}
		return true
	})
	return a
}

func formulaShape(shape string, a formulaArgs) string {
	e := a.part("e")
	switch shape {
	case "f":
		if a.prop("type", "") == "noBar" {
			return formulaGroup(a.part("num") + "¦" + a.part("den"))
		}
		return formulaGroup(a.part("num")) + "/" + formulaGroup(a.part("den")) + " "
	case "sSup":
		return e + formulaScript("^", a.part("sup"))
	case "sSub":
		return e + formulaScript("_", a.part("sub"))
	case "sSubSup":
		return e + formulaScript("_", a.part("sub")) + formulaScript("^", a.part("sup"))
	case "sPre":
		return formulaScript("_", a.part("sub")) + formulaScript("^", a.part("sup")) + " " + e
	case "rad":
		return a.part("deg") + "√" + formulaGroup(e)
	case "nary":
		return a.prop("chr", "∫") + formulaScript("_", a.part("sub")) + formulaScript("^", a.part("sup")) + " " + e
	case "d":
		inner := make([]string, len(a.parts["e"]))
		for i, part := range a.parts["e"] {
			inner[i] = strings.TrimSpace(part)
		}
		return a.prop("begChr", "(") + strings.Join(inner, a.prop("sepChr", "|")) + a.prop("endChr", ")")
	case "func":
		return a.part("fName") + " " + e
	case "acc":
		return e + a.prop("chr", "\u0302")
	case "bar":
		return e + "\u0305"
	case "limLow":
		return e + formulaScript("_", a.part("lim"))
	case "limUpp":
		return e + formulaScript("^", a.part("lim"))
	case "m":
		return strings.Join(a.parts["mr"], "; ")
	case "eqArr":
		return strings.Join(a.parts["e"], "; ")
	}
	return e
}

// formulaScript formats a superscript or subscript as `sign` followed by s, or as "" if s is empty.
func formulaScript(sign, s string) string {
	if s == "" {
		return ""
	}
	return sign + formulaGroup(s)
}

// formulaGroup puts s in parentheses unless it is a single operand.
func formulaGroup(s string) string {
	if utf8.RuneCountInString(s) <= 1 || strings.IndexFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '.' }) < 0 {
		return s
	}
	return "(" + s + ")"
}

// ParseSmall parses the one or two digits at the start of s. It returns 0 if there are none.
func ParseSmall(s string) int64 {
	var n int64
	for i := 0; i < len(s) && i < 2 && s[i] >= '0' && s[i] <= '9'; i++ {
		n = n*10 + int64(s[i]-'0')
	}
	return n
}
