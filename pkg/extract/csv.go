package extract

import (
	"encoding/csv"
	"errors"
	"io"
	"strings"
)

// csv reads separated values: the separator is found by trying each on the first lines.
func (p *parser) csv() error {
	text, err := p.decoded("csv")
	if err != nil {
		return err
	}
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.ReplaceAll(text, "\x00", ""))
	sep, text := separatorLine(text)
	if sep == 0 {
		sep = findSeparator(text)
	}
	r := csv.NewReader(strings.NewReader(text))
	r.Comma = sep
	r.FieldsPerRecord = -1
	r.LazyQuotes = true
	r.ReuseRecord = true
	w := &rowWriter{out: p.out, plain: p.src.PlainRows}
	cells := 0
	for {
		if err := p.ctx.Err(); err != nil {
			return err
		}
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return w.flush()
		}
		if err != nil {
			p.out.warn("a line that is not well-formed csv was left out")
			continue
		}
		if cells += len(row); cells > p.lim.MaxCells {
			return fail(TooLarge, "the table has more than %d cells", p.lim.MaxCells)
		}
		if err := w.add(row); err != nil {
			return err
		}
	}
}

// separatorLine reads the line "sep=;" that spreadsheets write before the data.
func separatorLine(text string) (rune, string) {
	line, rest, _ := strings.Cut(text, "\n")
	if v, ok := strings.CutPrefix(line, "sep="); ok && len(v) == 1 {
		return rune(v[0]), rest
	}
	return 0, text
}

// findSeparator picks the separator that parts the first lines into the most equal number of at least two fields.
func findSeparator(text string) rune {
	sample := text[:min(len(text), 64<<10)]
	best, bestScore := ',', 0.0
	for _, sep := range []rune{',', ';', '\t', '|'} {
		if score := separatorScore(sample, sep); score > bestScore {
			best, bestScore = sep, score
		}
	}
	return best
}

// separatorScore is the share of sampled rows that have the most frequent number of fields, a little more for
// more fields, 0 when that number is one.
func separatorScore(sample string, sep rune) float64 {
	r := csv.NewReader(strings.NewReader(sample))
	r.Comma = sep
	r.FieldsPerRecord = -1
	r.LazyQuotes = true
	counts := map[int]int{}
	rows := 0
	for ; rows < 50; rows++ {
		row, err := r.Read()
		if err != nil {
			break
		}
		counts[len(row)]++
	}
	width, votes := 0, 0
	for n, c := range counts {
		if c > votes || c == votes && n > width {
			width, votes = n, c
		}
	}
	if rows == 0 || width < 2 {
		return 0
	}
	return float64(votes)/float64(rows) + min(float64(width), 20)/100
}
