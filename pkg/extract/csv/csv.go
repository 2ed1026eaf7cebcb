// Package csv reads tables of delimiter-separated values.
package csv

import (
	"cmp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/table"
	"github.com/sluice/sluice/pkg/lazyregexp"
	"github.com/sluice/sluice/pkg/lists"
)

// Format describes tables of delimiter-separated values, such as CSV and TSV files.
var Format = format.Format{
	Type: format.TypeCSV, Aliases: []string{"application/csv", "text/comma-separated-values", "text/tab-separated-values"},
	Extensions: []string{".csv", ".tsv", ".tab"}, Name: "CSV", Label: "CSV", Text: true, Read: read,
}

// read finds the separator that best fits the first lines and then reads the file record by record.
func read(p *format.Parser) error {
	src, err := p.TextReader("csv", "")
	if err != nil {
		return err
	}
	r := &reader{lines: &format.LineReader{R: src.Reader}, maxFieldLines: maxRecordLines}
	if err := r.start(); err != nil {
		return err
	}
	if err := preamble(p, r); err != nil {
		return err
	}
	w := &table.Writer{Out: p.Out, Plain: p.Src.PlainRows}
	cells, together := 0, 0 // `together` counts the rows since the last empty row
	for {
		if err := p.Ctx.Err(); err != nil {
			return err
		}
		row, at, ok, err := r.record()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if cells += len(row); cells > p.Lim.MaxCells {
			return format.Errorf(format.TooLarge, "the table has more than %d cells; split the file", p.Lim.MaxCells)
		}
		if table.Filled(row) == 0 {
			if together > 1 { // an empty row ends a table, unless every second row is empty (double spacing)
				if err := w.EmptyRow(); err != nil {
					return err
				}
			}
			together = 0
			continue
		}
		together++
		if err := w.Add(table.Row{Number: at, Cells: row}); err != nil {
			return err
		}
	}
	if r.unclosedQuote > 0 {
		p.Out.Warn("the quotation mark on line " + strconv.Itoa(r.unclosedQuote) + " is never closed; it was read as an ordinary character")
	}
	return w.Flush()
}

// preamble reads the comment lines above the table. If a comment has as many fields as the rows below, it becomes the
// header row, with the comment character removed.
func preamble(p *format.Parser, r *reader) error {
	width := r.commonFieldCount()
	for len(r.lookahead) > 0 {
		line := r.lookahead[0]
		text := strings.TrimSpace(line.text)
		if !strings.HasPrefix(text, "#") {
			return nil
		}
		fields := splitRecord(text, r.sep)
		if len(fields) == width && width > 1 {
			r.lookahead[0].text = strings.TrimLeft(text, "# ")
			return nil
		}
		r.lookahead = r.lookahead[1:]
		if text = strings.Trim(text, "# "); text == "" {
			continue
		}
		if err := p.Out.Add(domain.Block{Kind: domain.BlockParagraph, Text: text, Row: line.number}); err != nil {
			return err
		}
	}
	return nil
}

const (
	sample              = 200       // maximum number of lines to read ahead when looking for the separator
	sampleBytes         = 1 << 20   // number of bytes after which no more lines are read ahead
	maxSampleFieldLines = 50        // maximum number of lines in a quoted field while reading ahead
	maxRecordLines      = 500       // maximum number of lines in a quoted field; longer ones count as unclosed quotation marks
	maxRecordBytes      = 512 << 10 // maximum size of a record in bytes
)

// textLine is a line and its number, from 1.
type textLine struct {
	text   string
	number int
}

// reader reads separated values as in RFC 4180. It also accepts common deviations: quotation marks within fields,
// unbalanced quotation marks, and rows of different lengths.
type reader struct {
	lines         *format.LineReader
	lookahead     []textLine // lines read ahead
	sep           rune
	unclosedQuote int // number of the first line with an unclosed quotation mark; 0 if there is none
	maxFieldLines int // maximum number of lines in a quoted field; each unclosed field halves it
	// escaped means that quotation marks in fields are escaped with backslashes.
	escaped bool
}

// start reads the first lines and finds the separator.
func (r *reader) start() error {
	for size := 0; len(r.lookahead) < sample && size < sampleBytes; {
		line, ok, err := r.lines.Next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		size += len(line) + 1
		r.lookahead = append(r.lookahead, textLine{line, r.lines.Number})
	}
	if len(r.lookahead) > 0 {
		// Spreadsheets write a line such as "sep=;" before the data.
		v, ok := strings.CutPrefix(strings.Trim(r.lookahead[0].text, `"`), "sep=")
		if sep, size := utf8.DecodeRuneInString(v); ok && size > 0 && size == len(v) {
			r.sep, r.lookahead = sep, r.lookahead[1:]
			return nil
		}
	}
	texts := lists.Map(r.lookahead, func(l textLine) string { return l.text })
	r.sep = findSeparator(texts)
	return nil
}

// commonFieldCount returns the most common number of fields in the lookahead.
func (r *reader) commonFieldCount() int {
	texts := make([]string, 0, len(r.lookahead))
	for _, l := range r.lookahead {
		if !strings.HasPrefix(l.text, "#") {
			texts = append(texts, l.text)
		}
	}
	width, _, _ := fieldCounts(texts, r.sep)
	return width
}

func (r *reader) line() (textLine, bool, error) {
	if len(r.lookahead) > 0 {
		l := r.lookahead[0]
		r.lookahead = r.lookahead[1:]
		return l, true, nil
	}
	text, ok, err := r.lines.Next()
	return textLine{text, r.lines.Number}, ok, err
}

// record returns the fields of the next record and the number of its first line. `ok` is false at the end of the text.
func (r *reader) record() (fields []string, at int, ok bool, err error) {
	first, ok, err := r.line()
	if !ok || err != nil {
		return nil, 0, false, err
	}
	r.escaped = r.escaped || escapedQuote().MatchString(first.text)
	record := record{sep: r.sep, escaped: r.escaped}
	record.line(first.text)
	var used []textLine
	size := len(first.text)
	for record.open && len(used) < r.maxFieldLines && size < maxRecordBytes {
		next, ok, err := r.line()
		if err != nil {
			return nil, 0, false, err
		}
		if !ok {
			break
		}
		used = append(used, next)
		size += len(next.text) + 1
		record.line(next.text)
	}
	if record.open {
		r.unclosedQuote = cmp.Or(r.unclosedQuote, first.number)
		r.maxFieldLines /= 2
		r.lookahead = append(used, r.lookahead...)
		return strings.Split(first.text, string(r.sep)), first.number, true, nil
	}
	return record.fields, first.number, true, nil
}

// record splits one record into fields. It is fed line by line, so that a long quoted field is scanned only once.
type record struct {
	sep     rune
	escaped bool // as in reader
	fields  []string
	open    bool     // the last line ended within a quoted field
	quoted  []string // lines of that field so far
}

// escapedQuote matches a quotation mark between a backslash and a letter or digit. A match shows that the file escapes
// quotation marks with backslashes. Elsewhere, the backslash may just be the field's last character.
var escapedQuote = lazyregexp.New(`\\" ?[\p{L}\p{N}]`)

// line adds the next line of the record.
func (r *record) line(s string) {
	mark, within := string(r.sep), r.open
	for {
		trimmed := strings.TrimLeft(s, " ")
		switch {
		case within:
			within = false
		case strings.HasPrefix(trimmed, `"`):
			s = trimmed[1:]
		default:
			field, rest, more := strings.Cut(s, mark)
			r.fields = append(r.fields, field)
			if !more {
				return
			}
			s = rest
			continue
		}
		field, rest, closed := quotedField(s, mark, r.escaped)
		r.quoted = append(r.quoted, field)
		if r.open = !closed; r.open {
			return
		}
		r.fields, r.quoted = append(r.fields, strings.Join(r.quoted, "\n")), r.quoted[:0]
		if rest == "" {
			return
		}
		s = rest[len(mark):]
	}
}

// splitRecord splits a record into fields. The record must be a single line.
func splitRecord(s string, sep rune) []string {
	r := record{sep: sep, escaped: escapedQuote().MatchString(s)}
	r.line(s)
	return append(r.fields, r.quoted...)
}

// quotedField reads a field up to its closing quotation mark, which must be followed by a separator or the end of the
// line. Any other quotation mark, doubled or not, is part of the text: it may be an inch mark, for example. If
// `escaped` is set, a quotation mark after a backslash never closes the field.
func quotedField(s, sep string, escaped bool) (field, rest string, closed bool) {
	var b strings.Builder
	marks := `"`
	if escaped {
		marks = `"\`
	}
	for {
		at := strings.IndexAny(s, marks)
		if at < 0 {
			b.WriteString(s)
			return b.String(), "", false
		}
		b.WriteString(s[:at])
		if s[at] == '\\' {
			if s = s[at+1:]; s != "" && (s[0] == '"' || s[0] == '\\') {
				b.WriteByte(s[0])
				s = s[1:]
			} else {
				b.WriteByte('\\')
			}
			continue
		}
		after := s[at+1:]
		if strings.HasPrefix(after, `"`) {
			b.WriteByte('"')
			s = after[1:]
			continue
		}
		end := strings.TrimLeft(after, " ")
		switch {
		case end == "" || strings.HasPrefix(end, sep):
			return b.String(), end, true
		case strings.HasPrefix(after, sep): // the separator itself is a space
			return b.String(), after, true
		}
		b.WriteByte('"')
		s = after
	}
}

// separators lists the possible separators in the order they are tried. A separator's edge is added to its score. The
// edge is higher for separators that are rarer in ordinary text and numbers.
var separators = []struct {
	r    rune
	edge float64
}{{',', 0.02}, {';', 0.06}, {'\t', 0.08}, {'|', 0.05}, {'\x1f', 0.05}, {'\x01', 0.05}, {'^', 0}, {'~', 0}, {':', -0.2}}

// findSeparator returns the separator that splits the most lines into the same number of fields, at least two.
func findSeparator(lines []string) rune {
	best, bestScore := ',', 0.0
	for _, sep := range separators {
		width, votes, records := fieldCounts(lines, sep.r)
		if width < 2 || sep.r == ';' && greekQuestions(lines) {
			continue
		}
		score := float64(votes)/float64(records) + min(float64(width), 20)/200 + sep.edge
		if score > bestScore {
			best, bestScore = sep.r, score
		}
	}
	return best
}

// greekQuestions reports whether semicolons in comma-separated text are Greek question marks.
func greekQuestions(lines []string) bool {
	marks, ends := 0, 0
	for _, line := range lines {
		marks += strings.Count(line, ";")
		ends += strings.Count(line, ";,")
	}
	return ends > 0 && ends*2 > marks
}

// fieldCounts splits the lines into records and counts fields. `width` is the most common number of fields, `votes` is
// the number of records that have that many, and `records` is the total. Records with one field don't affect `width`.
// Comments and empty lines don't count.
func fieldCounts(lines []string, sep rune) (width, votes, records int) {
	counts, escaped := map[int]int{}, false
	for i := 0; i < len(lines); i++ {
		if strings.TrimSpace(lines[i]) == "" || strings.HasPrefix(lines[i], "#") {
			continue
		}
		escaped = escaped || escapedQuote().MatchString(lines[i])
		record := record{sep: sep, escaped: escaped}
		record.line(lines[i])
		for end := i + 1; record.open && end < min(len(lines), i+maxSampleFieldLines); end++ {
			if record.line(lines[end]); !record.open {
				i = end
			}
		}
		n := len(record.fields)
		if record.open {
			n++
		}
		records++
		counts[n]++
	}
	for n, c := range counts {
		if n > 1 && (c > votes || c == votes && n > width) {
			width, votes = n, c
		}
	}
	return width, votes, max(records, 1)
}
