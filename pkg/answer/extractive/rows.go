package extractive

import (
	"regexp"
	"strings"
	"unicode"
)

// recordLine is a row of a table or an object of a list as extraction writes them: "name: value; name: value".
var recordLine = regexp.MustCompile(`^[^:;]{1,80}: [^;]*; [^:;]{1,80}:`)

// cellSeparator parts the cells of a row with the names of its columns.
const cellSeparator = "; "

// maxColumnBytes is how long the name of a column may be.
const maxColumnBytes = 80

// entries are the lines of a list or a table. One that ends in a colon takes the others along; one that only names the
// columns of those below it is a heading, and gives its names to rows that lack them.
func entries(lines []string) []part {
	var out []part
	if announces(lines[0]) && len(lines) > 1 {
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
		if strings.Contains(line, "\t") || recordLine.MatchString(named) {
			p.kind = partRow
		}
		out = append(out, p)
	}
	return out
}

// headsTable reports whether a line names the columns of the next one: each of its cells has letters and none begins with
// a figure, and the next line is a row of as many cells, or one that has the names itself.
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
	return strings.Count(next, "\t") == len(cells)-1 || recordLine.MatchString(next) && strings.Contains(next, strings.TrimSpace(cells[0])+": ")
}

// row gives the cells of a row the names of their columns. A line that is no row of the table stays as it is.
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

// columnsOf are the names of a row's columns.
func columnsOf(row string) string {
	var out []string
	for cell := range strings.SplitSeq(row, cellSeparator) {
		if name, _, ok := strings.Cut(cell, ": "); ok {
			out = append(out, name)
		}
	}
	return strings.Join(out, "\n")
}
