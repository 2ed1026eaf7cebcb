package extract

import (
	"encoding/xml"
	"strconv"
	"strings"
)

// docxNumbering makes the numbers and letters that Word shows before list items and numbered headings, which are
// not in the text but computed.
type docxNumbering struct {
	lists  map[string]*numberedList // by numId
	counts map[string][]int         // by abstract list: where each level stands
}

type numberedList struct {
	abstract string
	levels   map[int]numberLevel
}

type numberLevel struct {
	start  int
	format string // decimal, lowerLetter, bullet, …
	text   string // "%1.%2)"
}

func readNumbering(a *archive) *docxNumbering {
	n := &docxNumbering{lists: map[string]*numberedList{}, counts: map[string][]int{}}
	data, err := a.read("word/numbering.xml")
	if err != nil {
		return n
	}
	abstracts := map[string]map[int]numberLevel{}
	var levels map[int]numberLevel
	var list *numberedList
	at := -1
	sc := newXMLScanner(data)
	for {
		tok, err := sc.next()
		if err != nil || tok == nil {
			return n
		}
		e, ok := startOf(tok)
		if !ok {
			continue
		}
		val := xmlAttr(e, "val")
		switch e.Name.Local {
		case "abstractNum":
			levels, list = map[int]numberLevel{}, nil
			abstracts[xmlAttr(e, "abstractNumId")] = levels
		case "num":
			levels, list, at = nil, &numberedList{}, -1
			n.lists[xmlAttr(e, "numId")] = list
		case "abstractNumId":
			if list != nil {
				list.abstract, list.levels = val, abstracts[val]
			}
		case "lvl":
			at = int(parseSmall(xmlAttr(e, "ilvl")))
			if levels != nil {
				levels[at] = numberLevel{start: 1}
			}
		case "start", "numFmt", "lvlText":
			if levels == nil || at < 0 {
				continue
			}
			l := levels[at]
			switch e.Name.Local {
			case "start":
				l.start = int(parseSmall(val))
			case "numFmt":
				l.format = val
			case "lvlText":
				l.text = val
			}
			levels[at] = l
		}
	}
}

// next counts one paragraph of the list and returns its label, "" for bullets and unknown lists.
func (n *docxNumbering) next(numID, level string) string {
	list := n.lists[numID]
	if list == nil || list.levels == nil {
		return ""
	}
	at := min(int(parseSmall(level)), 8)
	counts := n.counts[list.abstract]
	if counts == nil {
		counts = make([]int, 9)
		for i := range counts {
			counts[i] = list.levels[i].start - 1
		}
		n.counts[list.abstract] = counts
	}
	counts[at]++
	for i := at + 1; i < len(counts); i++ {
		counts[i] = list.levels[i].start - 1
	}
	l := list.levels[at]
	if l.format == "bullet" || l.format == "none" {
		return ""
	}
	label := l.text
	for i := range counts {
		mark := "%" + strconv.Itoa(i+1)
		if strings.Contains(label, mark) {
			label = strings.ReplaceAll(label, mark, formatNumber(max(counts[i], list.levels[i].start), list.levels[i].format))
		}
	}
	return label
}

func formatNumber(n int, format string) string {
	switch format {
	case "lowerLetter", "upperLetter":
		if n < 1 {
			return ""
		}
		s := strings.Repeat(string(rune('a'+(n-1)%26)), min((n-1)/26+1, 8))
		if format == "upperLetter" {
			return strings.ToUpper(s)
		}
		return s
	case "lowerRoman":
		return strings.ToLower(roman(n))
	case "upperRoman":
		return roman(n)
	case "decimalZero":
		if n < 10 {
			return "0" + strconv.Itoa(n)
		}
	}
	return strconv.Itoa(n)
}

func roman(n int) string {
	if n < 1 || n > 3999 {
		return strconv.Itoa(n)
	}
	var b strings.Builder
	for _, d := range []struct {
		value int
		text  string
	}{{1000, "M"}, {900, "CM"}, {500, "D"}, {400, "CD"}, {100, "C"}, {90, "XC"}, {50, "L"}, {40, "XL"}, {10, "X"},
		{9, "IX"}, {5, "V"}, {4, "IV"}, {1, "I"}} {
		for n >= d.value {
			b.WriteString(d.text)
			n -= d.value
		}
	}
	return b.String()
}

func startOf(tok xml.Token) (xml.StartElement, bool) {
	e, ok := tok.(xml.StartElement)
	return e, ok
}
