package xlsx

import (
	"encoding/xml"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/xuri/excelize/v2"

	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/ooxml"
	"github.com/sluice/sluice/pkg/extract/xmlscan"
)

const (
	maxNumberFormats = 4096    // maximum number of formats in a workbook; numbers in further formats are not formatted
	maxCellStyles    = 100_000 // maximum number of cell styles; Excel allows 65,490
	shownCache       = 4096    // maximum number of formatted values in the cache
	maxForeignCode   = 255     // maximum length of a format in characters, as in Excel; bounds excelize's running time
)

// builtInFormats are the predefined formats by number. Date formats whose order depends on the locale use ISO 8601
// order.
var builtInFormats = map[int]string{
	1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 5: "#,##0", 6: "#,##0", 7: "#,##0.00", 8: "#,##0.00", 9: "0%", 10: "0.00%", 11: "0.00E+00",
	12: "# ?/?", 13: "# ??/??", 14: "yyyy-mm-dd", 15: "d-mmm-yy", 16: "d-mmm", 17: "mmm-yy", 18: "h:mm AM/PM", 19: "h:mm:ss AM/PM", 20: "h:mm",
	21: "h:mm:ss", 22: "yyyy-mm-dd h:mm", 27: "yyyy-mm-dd", 28: "yyyy-mm-dd", 29: "yyyy-mm-dd", 30: "yyyy-mm-dd", 31: "yyyy-mm-dd", 32: "h:mm",
	33: "h:mm:ss", 36: "yyyy-mm-dd", 37: "#,##0;(#,##0)", 38: "#,##0;(#,##0)", 39: "#,##0.00;(#,##0.00)", 40: "#,##0.00;(#,##0.00)",
	41: "#,##0", 42: "#,##0", 43: "#,##0.00", 44: "#,##0.00", 45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss.0", 48: "##0.0E+0", 50: "yyyy-mm-dd",
	51: "yyyy-mm-dd", 52: "yyyy-mm-dd", 53: "yyyy-mm-dd", 54: "yyyy-mm-dd", 57: "yyyy-mm-dd", 58: "yyyy-mm-dd",
}

// sheetStyles formats numbers as the sheet displays them.
type sheetStyles struct {
	formats  []string // number formats by the cells' style numbers; "" is General
	marked   []bool   // by style number: the style is bold or has a background
	scratch  *excelize.File
	columns  map[string]string // each format's column in the scratch sheet
	codes    map[string]numberCode
	shown    map[[2]string]string
	date1904 bool
}

// cellStyle holds the indexes of a cell style's number format, font and fill.
type cellStyle struct {
	format, font, fill int
}

// readSheetStyles reads the cell styles in a part. If the part is missing, there are no styles. The caller must close
// the result.
func readSheetStyles(a *ooxml.Package, part string, date1904 bool) (*sheetStyles, error) {
	s := &sheetStyles{columns: map[string]string{}, codes: map[string]numberCode{}, shown: map[[2]string]string{}, date1904: date1904}
	custom := map[int]string{}
	var styles []cellStyle
	var bold, filled []bool
	err := a.Walk(part, func(sc *xmlscan.Scanner) {
		if _, ok := sc.Root(); !ok {
			return
		}
		sc.Each(func(e xml.StartElement) bool {
			switch e.Name.Local {
			case "numFmts":
				sc.Each(func(e xml.StartElement) bool {
					if id, err := strconv.Atoi(xmlscan.Attr(e, "numFmtId")); err == nil && len(custom) < maxCellStyles {
						custom[id] = format.Cut(xmlscan.Attr(e, "formatCode"), 1<<10)
					}
					return false
				})
			case "fonts":
				bold = styleMarks(sc, func(e xml.StartElement) bool { return e.Name.Local == "b" && xmlscan.IsOn(e) })
			case "fills":
				filled = styleMarks(sc, func(e xml.StartElement) bool { return xmlscan.Attr(e, "patternType") == "solid" })
			case "cellXfs":
				sc.Each(func(e xml.StartElement) bool {
					if e.Name.Local == "xf" && len(styles) < maxCellStyles {
						styles = append(styles, cellStyle{styleNumber(e, "numFmtId"), styleNumber(e, "fontId"), styleNumber(e, "fillId")})
					}
					return false
				})
			default:
				return false
			}
			return true
		})
	})
	for _, style := range styles {
		code, ok := custom[style.format]
		if !ok {
			code = builtInFormats[style.format]
		}
		if strings.EqualFold(code, "General") || code == "@" {
			code = ""
		}
		s.formats = append(s.formats, code)
		s.marked = append(s.marked, style.font < len(bold) && bold[style.font] || style.fill < len(filled) && filled[style.fill])
	}
	return s, err
}

// styleMarks reads the current element, a list of fonts or fills. For each item, it reports whether `says` is true for
// any of its elements.
func styleMarks(sc *xmlscan.Scanner, says func(e xml.StartElement) bool) []bool {
	var marks []bool
	sc.Each(func(xml.StartElement) bool {
		mark := false
		sc.Descend(func(e xml.StartElement) bool {
			mark = mark || says(e)
			return false
		})
		if len(marks) < maxCellStyles {
			marks = append(marks, mark)
		}
		return true
	})
	return marks
}

// styleNumber returns a numeric attribute of a style, or 0 if it is not a number.
func styleNumber(e xml.StartElement, name string) int {
	n, err := strconv.Atoi(xmlscan.Attr(e, name))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

func (s *sheetStyles) close() {
	if s.scratch != nil {
		_ = s.scratch.Close() // nothing was written to disk
	}
}

// isHighlighted reports whether a cell style is bold or has a background.
func (s *sheetStyles) isHighlighted(style string) bool {
	n, err := strconv.Atoi(style)
	return err == nil && n >= 0 && n < len(s.marked) && s.marked[n]
}

// show formats a stored number as cells with this style display it.
func (s *sheetStyles) show(value string, style int) string {
	code := ""
	if style >= 0 && style < len(s.formats) {
		code = s.formats[style]
	}
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsInf(n, 0) || math.IsNaN(n) {
		return value
	}
	if code == "" {
		return generalNumber(n)
	}
	key := [2]string{code, value}
	if shown, ok := s.shown[key]; ok {
		return shown
	}
	shown, err := s.format(value, n, code)
	if err != nil {
		shown = generalNumber(n)
	}
	if len(s.shown) >= shownCache {
		clear(s.shown)
	}
	s.shown[key] = shown
	return shown
}

// generalNumber formats a number without a format. All of its 15 significant digits are written, because the number may
// be an article number. Rounding noise beyond these digits is dropped.
func generalNumber(n float64) string {
	if n == math.Trunc(n) && math.Abs(n) < 1e15 {
		return strconv.FormatFloat(n, 'f', 0, 64)
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(n, 'e', 14, 64), 64)
	if err != nil {
		rounded = n
	}
	if a := math.Abs(rounded); a >= 1e21 || a < 1e-9 {
		return strings.Replace(strconv.FormatFloat(rounded, 'E', -1, 64), "E+0", "E+", 1)
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// format applies a number format. Unlike excelize, this package handles fractional seconds, conditions, and text
// between digits as Excel does. Unsupported formats are left to excelize.
func (s *sheetStyles) format(value string, n float64, code string) (string, error) {
	parsed, ok := s.codes[code]
	if !ok {
		if len(s.codes) >= maxNumberFormats {
			return "", errors.New("too many formats")
		}
		parsed = parseCode(code)
		s.codes[code] = parsed
	}
	section, signed := parsed.sectionFor(n)
	switch {
	case section == nil:
		return generalNumber(n), nil
	case section.needsExcelize:
		return s.formatWithExcelize(value, code)
	case section.dated:
		shown, ok := section.date(n, s.date1904)
		if !ok {
			return generalNumber(n), nil
		}
		return shown, nil
	}
	return section.number(n, signed), nil
}

// formatWithExcelize uses excelize to apply a format, in a scratch sheet with one column per format.
func (s *sheetStyles) formatWithExcelize(value, code string) (shown string, err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("applying format %q: %v", code, x)
		}
	}()
	if utf8.RuneCountInString(code) > maxForeignCode {
		return "", errors.New("the format is too long")
	}
	if s.scratch == nil {
		s.scratch = excelize.NewFile()
		if err := s.scratch.SetWorkbookProps(&excelize.WorkbookPropsOptions{Date1904: &s.date1904}); err != nil {
			return "", err
		}
	}
	cell, ok := s.columns[code]
	if !ok {
		if len(s.columns) >= maxNumberFormats {
			return "", errors.New("too many formats")
		}
		if cell, err = excelize.CoordinatesToCellName(len(s.columns)+1, 1); err != nil {
			return "", err
		}
		style, err := s.scratch.NewStyle(&excelize.Style{CustomNumFmt: &code})
		if err != nil {
			return "", err
		}
		if err := s.scratch.SetCellStyle("Sheet1", cell, cell, style); err != nil {
			return "", err
		}
		s.columns[code] = cell
	}
	if err := s.scratch.SetCellDefault("Sheet1", cell, value); err != nil {
		return "", err
	}
	return s.scratch.GetCellValue("Sheet1", cell)
}
