package extractive

import (
	"strings"
	"unicode"

	"github.com/sluice/sluice/pkg/lazyregexp"
)

// recordLine matches a table row or list object as extraction writes it: "name: value; name: value".
var recordLine = lazyregexp.New(`^[^:;]{1,80}: [^;]*; [^:;]{1,80}:`)

// cellSeparator separates the cells in a row that repeats the column names: "name: value; name: value".
const cellSeparator = "; "

// Maximum length of a column name in bytes.
const maxColumnBytes = 80

// entries splits a list or table into one part per line. If the first line ends in a colon, its part also contains the
// lines that follow. A line of column names becomes a heading, and the names are added to the rows below it, unless the
// rows already contain them.
func entries(lines []string) []part {
	var out []part
	if endsInColon(lines[0]) && len(lines) > 1 {
		out = append(out, part{text: lines[0] + "\n" + firstLines(strings.Join(lines[1:], "\n"))})
		lines = lines[1:]
	}
	var columns []string
	for i, line := range lines {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if columns == nil && i+1 < len(lines) && headsTable(line, lines[i+1]) {
			columns = strings.Split(line, "\t")
			out = append(out, part{kind: partHeading, text: strings.TrimSpace(line)})
			continue
		}
		named := row(columns, line)
		p := part{kind: partEntry, text: strings.TrimSpace(named)}
		if strings.Contains(line, "\t") || recordLine().MatchString(named) {
			p.kind = partRow
		}
		out = append(out, p)
	}
	return out
}

// headsTable reports whether a line contains column names: each cell must contain letters and not start with a digit,
// and the next line must be a row with as many cells or one that already repeats the names.
func headsTable(line, next string) bool {
	cells := strings.Split(line, "\t")
	if len(cells) < 2 {
		return false
	}
	for _, c := range cells {
		c = strings.TrimSpace(c)
		if len(c) > maxColumnBytes || !strings.ContainsFunc(c, unicode.IsLetter) || strings.IndexFunc(c, unicode.IsDigit) == 0 {
			return false
		}
	}
	return strings.Count(next, "\t") == len(cells)-1 || recordLine().MatchString(next) && strings.Contains(next, strings.TrimSpace(cells[0])+": ")
}

// row adds the column names to a row's cells. It returns other lines unchanged.
func row(columns []string, line string) string {
	cells := strings.Split(line, "\t")
	if len(columns) < 2 || len(cells) != len(columns) {
		return line
	}
	var out []string
	for i, c := range cells {
		if c = strings.TrimSpace(c); c != "" {
			out = append(out, strings.TrimSpace(columns[i])+": "+c)
		}
	}
	return strings.Join(out, cellSeparator)
}

func columnsOf(row string) string {
	var out []string
	for cell := range strings.SplitSeq(row, cellSeparator) {
		if name, _, ok := strings.Cut(cell, ": "); ok {
			out = append(out, name)
		}
	}
	return strings.Join(out, "\n")
}
