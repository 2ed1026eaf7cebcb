package ooxml

import (
	"encoding/xml"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/xmlscan"
)

const (
	maxChartPoints = 20_000  // maximum number of points to read per series, and of rows per chart
	maxPointText   = 1 << 10 // size in bytes above which no more text is added to a point
)

// chartText is a chart's text: its titles and a table of its points with one column per series.
type chartText struct {
	titles []string // chart titles, then axis titles
	series []*chartSeries
}

// chartSeries is a series in a chart, with its points by index. There may be gaps.
type chartSeries struct {
	name          string
	names, values map[int]string
}

// Chart emits a chart's titles as paragraphs and its points as table rows. `page` is the slide's number, or 0.
func (a *Package) Chart(sc *xmlscan.Scanner, page int, emit func(domain.Block) error) error {
	c := &chartText{}
	data := map[string]int{} // for newer chart kinds: index in c.series by data id
	sc.Descend(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "title":
			if t := drawnText(sc); t != "" {
				c.titles = append(c.titles, t)
			}
			return true
		case "ser": // a series in an older chart kind
			c.series = append(c.series, readSeries(sc))
			return true
		case "data": // points of newer chart kinds: waterfall, funnel, tree map
			data[xmlscan.Attr(e, "id")] = len(c.series)
			c.series = append(c.series, readDimensions(sc))
			return true
		case "series": // a series' name, with a reference to its points
			id, name := "", ""
			sc.Each(func(e xml.StartElement) bool {
				switch e.Name.Local {
				case "tx":
					name = drawnText(sc)
					return true
				case "dataId":
					id = xmlscan.Attr(e, "val")
				}
				return false
			})
			if at, ok := data[id]; ok && c.series[at].name == "" {
				c.series[at].name = name
			}
			return true
		}
		return false
	})
	for _, t := range c.titles {
		if err := emit(domain.Block{Kind: domain.BlockParagraph, Text: t, Page: page}); err != nil {
			return err
		}
	}
	return c.rows(&Table{Emit: emit, Page: page, Plain: a.P.Src.PlainRows})
}

// rows writes one row per category with the values from all series. Every series repeats the category names, so rows
// uses the names from the first series that has any.
func (c *chartText) rows(w *Table) error {
	if len(c.series) > format.MaxColumns-1 {
		c.series = c.series[:format.MaxColumns-1]
	}
	header, named := []Cell{{}}, 0
	names := map[int]string{}
	seen := map[int]bool{}
	for _, s := range c.series {
		header = append(header, Cell{Text: s.name})
		if s.name != "" {
			named = 1
		}
		if len(names) == 0 {
			names = s.names
		}
		for i := range s.values {
			seen[i] = true
		}
	}
	for i := range names {
		seen[i] = true
	}
	w.Named = named
	if err := w.Add(Row{Cells: header}); err != nil {
		return err
	}
	indexes := slices.Sorted(maps.Keys(seen))
	for _, i := range indexes[:min(len(indexes), maxChartPoints)] {
		cells := []Cell{{Text: names[i]}}
		for _, s := range c.series {
			cells = append(cells, Cell{Text: s.values[i]})
		}
		if err := w.Add(Row{Cells: cells}); err != nil {
			return err
		}
	}
	return w.Flush()
}

// readSeries reads a series in a chart. In scatter charts, x values become the points' names.
func readSeries(sc *xmlscan.Scanner) *chartSeries {
	s := &chartSeries{}
	sc.Each(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "tx":
			s.name = format.OneLine(strings.Join(orderedPoints(readPoints(sc)), " "))
		case "cat", "xVal":
			s.names = readPoints(sc)
		case "val", "yVal":
			s.values = readPoints(sc)
		default:
			return false
		}
		return true
	})
	return s
}

// readPoints reads a series' literal values or, if it refers to the chart's workbook, the cached values. It joins
// multi-level category names outermost level first; the file has the innermost first. Values stored as text aren't
// formatted, even if they look like numbers.
func readPoints(sc *xmlscan.Scanner) map[int]string {
	points := map[int]string{}
	format, at, numeric := "", 0, false
	sc.Descend(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "numRef", "numLit", "numCache":
			numeric = true
		case "formatCode":
			format = sc.Text()
			return true
		case "lvl":
			at = 0
		case "pt":
			at, _ = strconv.Atoi(xmlscan.Attr(e, "idx"))
		case "v", "t":
			text := strings.TrimSpace(sc.Text())
			if numeric {
				text = shownNumber(text, format)
			}
			addPoint(points, at, text)
			return true
		}
		return false
	})
	return points
}

// addPoint prepends text to the point at index `at`.
func addPoint(points map[int]string, at int, text string) {
	before, known := points[at]
	if text == "" || at < 0 || !known && len(points) >= maxChartPoints || len(before) > maxPointText {
		return
	}
	points[at] = strings.TrimSpace(text + " " + before)
}

func orderedPoints(points map[int]string) []string {
	var out []string
	for _, i := range slices.Sorted(maps.Keys(points)) {
		out = append(out, points[i])
	}
	return out
}

// readDimensions reads the points of a newer kind of chart, which stores them separately from the series.
func readDimensions(sc *xmlscan.Scanner) *chartSeries {
	s := &chartSeries{}
	sc.Each(func(e xml.StartElement) bool {
		into, numeric := &s.values, true
		switch e.Name.Local {
		case "strDim":
			into, numeric = &s.names, false
		case "numDim":
		default:
			return false
		}
		points := map[int]string{}
		sc.Descend(func(e xml.StartElement) bool {
			if e.Name.Local != "pt" {
				return false
			}
			at, err := strconv.Atoi(xmlscan.Attr(e, "idx"))
			text := strings.TrimSpace(sc.Text())
			if numeric {
				text = shownNumber(text, "")
			}
			if err == nil {
				addPoint(points, at, text)
			}
			return true
		})
		*into = points
		return true
	})
	return s
}

// shownNumber formats a stored number roughly as its number format would: as a percentage, a date, or without rounding
// noise. Other text is returned unchanged.
func shownNumber(s, format string) string {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || len(s) > 40 {
		return s
	}
	lower := strings.ToLower(format)
	switch {
	case strings.Contains(format, "%"):
		return strconv.FormatFloat(n*100, 'g', 6, 64) + "%"
	case (strings.Contains(lower, "yy") || strings.Contains(lower, "d/") || strings.Contains(lower, "d-")) && n >= 1 && n < 2_958_466:
		return time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC).AddDate(0, 0, int(n)).Format(time.DateOnly)
	}
	if len(s) <= 12 {
		return s
	}
	return strconv.FormatFloat(n, 'g', 12, 64)
}
