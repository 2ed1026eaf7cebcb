package table

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// HeaderRows returns the index of the first header row, or -1 if there is none, and the number of header rows. The
// first header row fills most columns, has only short and mostly distinct words, and looks unlike the rows below. If
// column groups have names, the header has several rows.
func HeaderRows(rows [][]string) (at, depth int) {
	width := 0
	for _, r := range rows {
		width = max(width, Filled(r))
	}
	if width < 2 {
		return -1, 0
	}
	for i, r := range rows {
		if depth := groupedRows(rows[i:]); depth > 0 {
			return i, depth
		}
		if Filled(r)*5 < width*3 || Filled(r) < 2 || isTitle(rows[i:]) {
			continue
		}
		if i == len(rows)-1 || !namesColumns(r) || hasRepeats(r, rows[i+1:]) || ProseRow(r, rows[i+1:]) {
			return -1, 0
		}
		return i, 1
	}
	return -1, 0
}

// isTitle reports whether the first row is a title or note above the header. The next row that fills more columns must
// look like a header: names, with values below them.
func isTitle(rows [][]string) bool {
	own := Filled(rows[0])
	at := slices.IndexFunc(rows, func(r []string) bool { return Filled(r) > own })
	return at > 0 && len(rows[0]) == own && namesColumns(rows[at]) && valuesBelow(rows[at:])
}

// MaxHeaderRows is the maximum number of rows in a header.
const MaxHeaderRows = 4

// mergedHeader finds a multi-row header by its merged cells: group names that span columns, next to names that span
// rows. It returns the index of its first row, or -1 if there is none, and the number of its rows.
func mergedHeader(rows []Row) (at, depth int) {
	for i, r := range rows {
		if Filled(r.Cells) < 2 {
			continue // a title
		}
		wide := false
		for _, m := range r.Merged {
			wide, depth = wide || m.ColumnSpan > 1 && m.RowSpan < 2, max(depth, m.RowSpan)
		}
		if !wide || depth < 2 || depth > MaxHeaderRows || i+depth >= len(rows) || !AllNames(r.Cells) {
			return -1, 0
		}
		return i, depth
	}
	return -1, 0
}

// AllNames reports whether every cell could be a name, i.e. none contains a value or text that is too long for a name.
func AllNames(cells []string) bool {
	return !slices.ContainsFunc(cells, func(c string) bool { return utf8.RuneCountInString(c) > 80 || LooksNumeric(c) })
}

// groupedRows returns the number of rows in a header that starts with group names, or 0 if the rows don't start with
// such a header.
func groupedRows(rows [][]string) int {
	for n := min(MaxHeaderRows, len(rows)-1); n > 1; n-- {
		if isGrouped(rows, n) {
			return n
		}
	}
	return 0
}

// isGrouped reports whether the first n rows are a header with groups. The last of these rows names columns of values.
// Each row above it groups the names below: "", "2023", "", "2024", "" above "Region", "Q1", "Q2", "Q1", "Q2".
func isGrouped(rows [][]string, n int) bool {
	names := rows[n-1]
	if Filled(names) < 3 || Filled(names) < len(names)-1 || !AllNames(names) || !valuesBelow(rows[n-1:]) {
		return false
	}
	// A lone year among names is more likely a value in the first record than a column name.
	if years := slices.IndexFunc(names, IsYear); years >= 0 && !slices.ContainsFunc(names[years+1:], IsYear) {
		return false
	}
	for k, groups := range rows[:n-1] {
		if Filled(groups) < 2 || Filled(groups) >= Filled(rows[k+1]) || len(groups) > len(names) || !AllNames(groups) || !hasGap(groups, len(names)) {
			return false
		}
	}
	return true
}

// hasGap reports whether a group name has an empty cell to its right, i.e. covers several columns. `columns` is the
// table's number of columns.
func hasGap(groups []string, columns int) bool {
	for i, c := range groups {
		if c != "" && i+1 < columns && (i+1 >= len(groups) || groups[i+1] == "") {
			return true
		}
	}
	return false
}

// valuesBelow reports whether any name in the first row has mostly numbers, dates or amounts below it.
func valuesBelow(rows [][]string) bool {
	for col, name := range rows[0] {
		if name == "" || LooksNumeric(name) {
			continue
		}
		values, other := 0, 0
		for _, r := range rows[1:] {
			switch {
			case col >= len(r) || r[col] == "":
			case LooksNumeric(r[col]) || IsYear(r[col]):
				values++
			default:
				other++
			}
		}
		if values > other {
			return true
		}
	}
	return false
}

// hasRepeats reports whether the row's words often recur below it in the same column. Values tend to recur, but names
// don't. A repetition of the whole header, as in concatenated files, does not count.
func hasRepeats(row []string, below [][]string) bool {
	hits := 0
	for _, r := range below {
		same := 0
		for i, c := range row {
			if i < len(r) && c != "" && r[i] == c {
				same++
			}
		}
		if same > 0 && same < Filled(row) {
			hits++
		}
	}
	return hits*5 > len(below)
}

func namesColumns(row []string) bool {
	seen := make(map[string]bool, len(row))
	for _, c := range row {
		if c == "" {
			continue
		}
		if utf8.RuneCountInString(c) > 80 || LooksNumeric(c) {
			return false
		}
		seen[c] = true
	}
	// "Amount", "Date", "Amount", "Date" are column names; "x", "x", "x" are not.
	return len(seen) >= 2 && len(seen)*2 >= Filled(row)
}

// LooksNumeric reports whether a cell is a value, such as a number, a date, or an amount with its unit. A bare year
// counts as a name, as in tables of figures by year.
func LooksNumeric(s string) bool {
	if IsYear(s) {
		return false
	}
	if _, amount := amountUnit(s); amount {
		return true
	}
	digits, letters := 0, 0
	for _, r := range s {
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsLetter(r):
			letters++
		}
	}
	return digits > 0 && letters*2 < digits || strings.Contains(s, "@") || strings.HasPrefix(s, "http")
}

// IsYear reports whether a cell may be a year.
func IsYear(s string) bool {
	n, err := strconv.Atoi(s)
	return err == nil && n >= 1900 && n <= 2100
}

// Filled returns the number of non-empty cells.
func Filled(row []string) int {
	n := 0
	for _, c := range row {
		if c != "" {
			n++
		}
	}
	return n
}
