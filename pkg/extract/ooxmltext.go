package extract

import (
	"encoding/xml"
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
)

// drawnParagraph is a paragraph of DrawingML: of a shape, a table cell or a note on a slide.
type drawnParagraph struct {
	text   string
	level  int    // of its nesting, from 0
	bullet string // "none", "char", "auto" and the like as the paragraph says itself; "" inherited
	scheme string // of automatic numbers: arabicPeriod, romanLcParenR, …
	start  int    // where they start
	bold   bool   // all of its text is
	links  []domain.BlockLink
}

// readDrawnParagraph reads the a:p whose start was returned last.
func readDrawnParagraph(sc *xmlScanner, rels map[string]relation) drawnParagraph {
	p := drawnParagraph{start: 1}
	var text strings.Builder
	bold, plain := false, false
	linked := 0 // where the last link ends
	var take func(e xml.StartElement) bool
	take = func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "pPr":
			p.level = int(parseSmall(xmlAttr(e, "lvl")))
			p.bulletOf(sc)
		case "r", "fld":
			run, link, isBold := drawnRun(sc, rels)
			text.WriteString(run)
			if n := len(p.links); link != "" && n > 0 && p.links[n-1].URL == link && linked == text.Len()-len(run) {
				if len(p.links[n-1].Text) < maxLinkText {
					p.links[n-1].Text += run
				}
			} else if link != "" && strings.TrimSpace(run) != "" {
				p.links = addLink(p.links, run, link)
			}
			if link != "" {
				linked = text.Len()
			}
			if strings.TrimSpace(run) != "" {
				bold, plain = bold || isBold, plain || !isBold
			}
		case "br":
			sc.skip()
			text.WriteByte('\n')
		case "oMath", "oMathPara":
			text.WriteString(formulaText(sc))
		case "m", "Choice": // mathematics stands in alternate content
			sc.each(take)
		case "AlternateContent":
			chooseOne(sc, text.Len, take)
		default:
			return false
		}
		return true
	}
	sc.each(take)
	for i := range p.links {
		p.links[i].Text = oneLine(p.links[i].Text)
	}
	p.text, p.bold = strings.TrimSpace(text.String()), bold && !plain
	return p
}

// addLink adds a link, unless there are as many as a block keeps.
func addLink(links []domain.BlockLink, text, address string) []domain.BlockLink {
	if len(links) == domain.MaxBlockLinks {
		return links
	}
	return append(links, domain.BlockLink{Text: text, URL: address})
}

func (p *drawnParagraph) bulletOf(sc *xmlScanner) {
	sc.each(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "buNone":
			p.bullet = "none"
		case "buChar", "buBlip":
			p.bullet = "char"
		case "buAutoNum":
			p.bullet, p.scheme = "auto", xmlAttr(e, "type")
			if n, err := strconv.Atoi(xmlAttr(e, "startAt")); err == nil {
				p.start = n
			}
		}
		return false
	})
}

// drawnRun reads a run or field: its text, the address that it links to, and whether it is bold.
func drawnRun(sc *xmlScanner, rels map[string]relation) (text, link string, bold bool) {
	var b strings.Builder
	sc.each(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "rPr":
			bold = xmlAttr(e, "b") == "1" || xmlAttr(e, "b") == "true"
			sc.each(func(e xml.StartElement) bool {
				if e.Name.Local == "hlinkClick" {
					link = linkAddress(rels, relationID(e, "id"))
				}
				return false
			})
		case "t":
			b.WriteString(sc.text())
		default:
			return false
		}
		return true
	})
	return strings.ReplaceAll(b.String(), "_x000B_", "\n"), link, bold
}

// linkAddress is where an external relationship leads; "" for others.
func linkAddress(rels map[string]relation, id string) string {
	if r := rels[id]; r.External {
		return r.Target
	}
	return ""
}

// chooseOne walks alternate content, whose start was returned last: the first choice that gives anything, as length
// tells, and the fallback where none does.
func chooseOne(sc *xmlScanner, length func() int, take func(e xml.StartElement) bool) {
	before := length()
	sc.each(func(e xml.StartElement) bool {
		if length() != before || e.Name.Local != "Choice" && e.Name.Local != "Fallback" {
			return false
		}
		sc.each(take)
		return true
	})
}

// altText is what the author says of a picture, where it is worth reading: not a file name, an address, a name that
// the program gave, or a guess that it marks as its own.
func altText(s string) string {
	s = oneLine(s)
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
