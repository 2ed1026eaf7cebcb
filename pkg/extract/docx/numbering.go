package docx

import (
	"encoding/xml"
	"maps"
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/ooxml"
	"github.com/sluice/sluice/pkg/extract/xmlscan"
)

// numbering computes the numbers and letters that Word displays before list items and numbered headings without storing
// them as text.
type numbering struct {
	lists  map[string]*numberedList // by numId
	counts map[string]*numberCounts // by abstract list; lists with the same abstract list share their counts
}

// numberLevels is the number of list levels.
const numberLevels = 9

type numberedList struct {
	abstract string
	levels   map[int]numberLevel
	starts   map[int]int // start values by level; they override counts from other lists with the same abstract list
	begun    bool
}

type numberLevel struct {
	start   int
	format  string // number format: decimal, lowerLetter, bullet, …
	text    string // label with the levels' numbers: "%1.%2)"
	style   string // paragraph style linked to the level
	restart int    // level, from 1, that restarts this level's numbers; 0 for none; -1 for any higher level
	legal   bool   // all numbers in the label are decimal
	suffix  string // what follows the label: tab, space, nothing
}

type numberCounts struct {
	n  [numberLevels]int
	on [numberLevels]bool
}

type abstractList struct {
	levels    map[int]numberLevel
	styleLink string // the numbering style that defines the list
}

const maxLists = 50_000

func readNumbering(a *ooxml.Package, part string, styles styles) (*numbering, error) {
	n := &numbering{lists: map[string]*numberedList{}, counts: map[string]*numberCounts{}}
	abstracts := map[string]*abstractList{}
	err := a.Walk(part, func(sc *xmlscan.Scanner) {
		sc.Descend(func(e xml.StartElement) bool {
			switch {
			case e.Name.Local == "abstractNum" && len(abstracts) < maxLists:
				abstracts[xmlscan.Attr(e, "abstractNumId")] = readAbstractList(sc)
			case e.Name.Local == "num" && len(n.lists) < maxLists:
				n.lists[xmlscan.Attr(e, "numId")] = readList(sc)
			default:
				return false
			}
			return true
		})
	})
	// Collect the links before changing any list, so that lookups see the lists as defined in the file.
	linked := make(map[string]string, len(n.lists))
	for id, list := range n.lists {
		linked[id] = list.abstract
		if abstract := abstracts[list.abstract]; abstract != nil && abstract.styleLink != "" && len(abstract.levels) == 0 {
			if st := styles.byID[abstract.styleLink]; st != nil && n.lists[st.numID] != nil && abstracts[n.lists[st.numID].abstract] != nil {
				linked[id] = n.lists[st.numID].abstract
			}
		}
	}
	for id, list := range n.lists {
		list.abstract = linked[id]
		if abstract := abstracts[list.abstract]; abstract != nil {
			levels := maps.Clone(abstract.levels)
			maps.Copy(levels, list.levels)
			list.levels = levels
		}
	}
	return n, err
}

func readAbstractList(sc *xmlscan.Scanner) *abstractList {
	l := &abstractList{levels: map[int]numberLevel{}}
	sc.Each(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "numStyleLink":
			l.styleLink = xmlscan.Attr(e, "val")
		case "lvl":
			l.levels[listLevel(xmlscan.Attr(e, "ilvl"))] = readLevel(sc)
			return true
		}
		return false
	})
	return l
}

func readList(sc *xmlscan.Scanner) *numberedList {
	l := &numberedList{levels: map[int]numberLevel{}, starts: map[int]int{}}
	sc.Each(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "abstractNumId":
			l.abstract = xmlscan.Attr(e, "val")
		case "lvlOverride":
			at := listLevel(xmlscan.Attr(e, "ilvl"))
			sc.Each(func(e xml.StartElement) bool {
				switch e.Name.Local {
				case "startOverride":
					l.starts[at], _ = strconv.Atoi(xmlscan.Attr(e, "val"))
				case "lvl":
					l.levels[at] = readLevel(sc)
					return true
				}
				return false
			})
			return true
		}
		return false
	})
	return l
}

func readLevel(sc *xmlscan.Scanner) numberLevel {
	l := numberLevel{start: 1, restart: -1}
	sc.Descend(func(e xml.StartElement) bool {
		val := xmlscan.Attr(e, "val")
		switch e.Name.Local {
		case "start":
			l.start, _ = strconv.Atoi(val)
		case "numFmt":
			if l.format = val; val == "custom" {
				l.format, _, _ = strings.Cut(xmlscan.Attr(e, "format"), ",")
			}
		case "lvlText":
			l.text = val
		case "pStyle":
			l.style = val
		case "lvlRestart":
			l.restart = int(ooxml.ParseSmall(val))
		case "isLgl":
			l.legal = xmlscan.IsOn(e)
		case "suff":
			l.suffix = val
		case "pPr", "rPr", "Fallback":
			sc.Skip()
			return true
		}
		return false
	})
	return l
}

func listLevel(s string) int { return min(int(ooxml.ParseSmall(s)), numberLevels-1) }

// levelOf returns a paragraph's 0-based list level. If the paragraph sets no level, the level whose paragraph style is
// `style` is used, because a list level can name the style of the paragraphs it numbers.
func (n *numbering) levelOf(numID, level, style string) int {
	if list := n.lists[numID]; list != nil && level == "" && style != "" {
		for at := range numberLevels {
			if list.levels[at].style == style {
				return at
			}
		}
	}
	return listLevel(level)
}

// next advances the list to its next paragraph at level `at`. It returns the label and the separator after it, or ""
// for bullets and unknown lists.
func (n *numbering) next(numID string, at int) string {
	list := n.lists[numID]
	if list == nil || len(list.levels) == 0 {
		return ""
	}
	c := n.counts[list.abstract]
	if c == nil {
		c = &numberCounts{}
		n.counts[list.abstract] = c
	}
	if !list.begun {
		list.begun = true
		for i := range list.starts {
			c.on[i] = false
		}
	}
	c.count(list, at)
	l := list.levels[at]
	if l.format == "bullet" {
		return ""
	}
	label := l.text
	for i := range numberLevels {
		mark := "%" + strconv.Itoa(i+1)
		if strings.Contains(label, mark) {
			numberFormat := list.levels[i].format
			if l.legal {
				numberFormat = "decimal"
			}
			label = strings.ReplaceAll(label, mark, format.Number(c.n[i], numberFormat))
		}
	}
	if label = strings.TrimSpace(label); label == "" || l.suffix == "nothing" {
		return label
	}
	return label + " "
}

// count advances the counters to the next paragraph at level `at`. Skipped outer levels start counting as well.
func (c *numberCounts) count(list *numberedList, at int) {
	for i := range at + 1 {
		switch {
		case !c.on[i]:
			c.on[i], c.n[i] = true, list.startOf(i)
		case i == at:
			c.n[i]++
		}
	}
	for i := at + 1; i < numberLevels; i++ {
		if r := list.levels[i].restart; r < 0 || r > at {
			c.on[i] = false
		}
	}
}

func (l *numberedList) startOf(level int) int {
	if n, ok := l.starts[level]; ok {
		return n
	}
	if lv, ok := l.levels[level]; ok {
		return lv.start
	}
	return 1
}
