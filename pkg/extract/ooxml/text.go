package ooxml

import (
	"encoding/xml"
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/xmlscan"
)

// DrawnParagraph is a DrawingML paragraph in a shape, a table cell or a slide's notes.
type DrawnParagraph struct {
	Text   string
	Level  int    // nesting level, from 0
	Bullet string // "none", "char", "auto" and so on, as set in the paragraph; "" if inherited
	Scheme string // numbering scheme: arabicPeriod, romanLcParenR, …; "" if none
	Start  int    // first number
	Bold   bool   // all of its text is bold
	Links  []domain.BlockLink
}

// ReadDrawnParagraph reads the current a:p element.
func ReadDrawnParagraph(sc *xmlscan.Scanner, rels map[string]Relation) DrawnParagraph {
	p := DrawnParagraph{Start: 1}
	var text strings.Builder
	bold, plain := false, false
	linked := 0 // end of the last link in the text
	var take func(e xml.StartElement) bool
	take = func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "pPr":
			p.Level = int(ParseSmall(xmlscan.Attr(e, "lvl")))
			p.bulletOf(sc)
		case "r", "fld":
			run, link, isBold := drawnRun(sc, rels)
			text.WriteString(run)
			if n := len(p.Links); link != "" && n > 0 && p.Links[n-1].URL == link && linked == text.Len()-len(run) {
				if len(p.Links[n-1].Text) < format.MaxLinkText {
					p.Links[n-1].Text += run
				}
			} else if link != "" && strings.TrimSpace(run) != "" {
				p.Links = AddLink(p.Links, run, link)
			}
			if link != "" {
				linked = text.Len()
			}
			if strings.TrimSpace(run) != "" {
				bold, plain = bold || isBold, plain || !isBold
			}
		case "br":
			sc.Skip()
			text.WriteByte('\n')
		case "oMath", "oMathPara":
			text.WriteString(FormulaText(sc))
		case "m", "Choice": // formulas are in alternate content
			sc.Each(take)
		case "AlternateContent":
			ChooseOne(sc, text.Len, take)
		default:
			return false
		}
		return true
	}
	sc.Each(take)
	for i := range p.Links {
		p.Links[i].Text = format.OneLine(p.Links[i].Text)
	}
	p.Text, p.Bold = strings.TrimSpace(text.String()), bold && !plain
	return p
}

// AddLink adds a link unless the block already has the maximum number.
func AddLink(links []domain.BlockLink, text, address string) []domain.BlockLink {
	if len(links) == domain.MaxBlockLinks {
		return links
	}
	return append(links, domain.BlockLink{Text: text, URL: address})
}

func (p *DrawnParagraph) bulletOf(sc *xmlscan.Scanner) {
	sc.Each(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "buNone":
			p.Bullet = "none"
		case "buChar", "buBlip":
			p.Bullet = "char"
		case "buAutoNum":
			p.Bullet, p.Scheme = "auto", xmlscan.Attr(e, "type")
			if n, err := strconv.Atoi(xmlscan.Attr(e, "startAt")); err == nil {
				p.Start = n
			}
		}
		return false
	})
}

// drawnRun reads a run or field. It returns the text, the URL of its link, and whether it is bold.
func drawnRun(sc *xmlscan.Scanner, rels map[string]Relation) (text, link string, bold bool) {
	var b strings.Builder
	sc.Each(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "rPr":
			bold = xmlscan.Attr(e, "b") == "1" || xmlscan.Attr(e, "b") == "true"
			sc.Each(func(e xml.StartElement) bool {
				if e.Name.Local == "hlinkClick" {
					link = LinkAddress(rels, RelationID(e, "id"))
				}
				return false
			})
		case "t":
			b.WriteString(sc.Text())
		default:
			return false
		}
		return true
	})
	return strings.ReplaceAll(b.String(), "_x000B_", "\n"), link, bold
}

// LinkAddress returns the URL that an external relationship points to, or "" for other relationships.
func LinkAddress(rels map[string]Relation, id string) string {
	if r := rels[id]; r.External {
		return r.Target
	}
	return ""
}

// ChooseOne reads the current element, which holds alternative versions of the same content. It calls `take` with the
// elements of one alternative after another and stops after the first alternative that adds content. The fallback comes
// last. `length` returns the amount of content so far.
func ChooseOne(sc *xmlscan.Scanner, length func() int, take func(e xml.StartElement) bool) {
	before := length()
	sc.Each(func(e xml.StartElement) bool {
		if length() != before || e.Name.Local != "Choice" && e.Name.Local != "Fallback" {
			return false
		}
		sc.Each(take)
		return true
	})
}

// AltText returns a picture's description, or "" if it is too short, too long or not written by a person: a file name,
// an address, or marked as generated.
func AltText(s string) string {
	s = format.OneLine(s)
	lower := strings.ToLower(s)
	switch {
	case len(strings.Fields(s)) < 3 && len([]rune(s)) < 20, len(s) > 2000, strings.Contains(lower, "://"), strings.Contains(lower, "automatically generated"),
		strings.Contains(lower, "ai-generated"), strings.Contains(lower, "automatisch generiert"),
		strings.Contains(lower, "automatiquement"), strings.Contains(lower, "automáticamente"), strings.Contains(lower, "ai 生成"), strings.Contains(lower, "自动生成"), strings.Contains(lower, "自動的に生成"),
		strings.Contains(lower, ".jpg"), strings.Contains(lower, ".png"),
		strings.Contains(lower, ".gif"), strings.Contains(lower, ".jpeg"), strings.HasPrefix(lower, `c:\`):
		return ""
	}
	return s
}
