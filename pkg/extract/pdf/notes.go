package pdf

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/extract/pdf/pdftext"
)

const (
	widerLeading = 1.12 // minimum distance between a caption and other text, as a multiple of the usual line distance
	smallerNote  = 0.25 // minimum difference in size between a note and the text above, in points
)

// startsApart reports whether a line starts a caption or footnote, or is the first line after one. Spacing and
// indentation may not change at such a line, so startsApart relies on other evidence.
func startsApart(para []pdftext.Line, line pdftext.Line, wide bool) bool {
	last, text := para[len(para)-1], line.Text()
	ended := endsSentence(last.Text())
	differs := max(line.Size-last.Size, last.Size-line.Size) > smallerNote
	switch {
	case isCaption(text):
		return ended || wide || differs || line.Bold != last.Bold
	case isCaption(para[0].Text()):
		return differs || wide && ended
	case startsNote(text) == "":
		return false
	}
	return last.Size-line.Size > smallerNote && ended || isNextNoteMark(startsNote(para[0].Text()), startsNote(text)) && ended
}

// captionWords are words that start captions in common languages. A number and a punctuation mark must follow.
var captionWords = map[string]bool{
	"figure": true, "fig": true, "table": true, "chart": true, "listing": true, "algorithm": true, "scheme": true, "exhibit": true, "plate": true,
	"abbildung": true, "abb": true, "tabelle": true, "tab": true, "schaubild": true, "tableau": true, "figura": true, "tabla": true, "tabela": true, "tabella": true,
	"quadro": true, "grafico": true, "gráfico": true, "afbeelding": true, "tabel": true, "figuur": true, "рисунок": true, "рис": true, "таблица": true, "табл": true,
	"図": true, "表": true, "图": true, "圖": true, "그림": true, "표": true,
}

// isCaption reports whether a line starts like a figure or table caption: "Figure 3:", "Tab. 2.1 –". In a running
// sentence, no punctuation mark follows the number.
func isCaption(s string) bool {
	at := strings.IndexFunc(s, func(r rune) bool { return unicode.IsDigit(r) })
	const longestWord = 24 // maximum length of a caption word in bytes
	if at <= 0 || at > longestWord || !captionWords[strings.ToLower(strings.TrimRight(s[:at], ". \t"))] {
		return false
	}
	rest := strings.TrimLeftFunc(s[at:], func(r rune) bool { return unicode.IsDigit(r) || r == '.' || r == '-' })
	if number := s[at : len(s)-len(rest)]; strings.HasSuffix(number, ".") {
		return true
	}
	rest = strings.TrimLeft(rest, " \t")
	first, _ := utf8.DecodeRuneInString(rest)
	return rest == "" || strings.ContainsRune(":.|–—：．", first)
}

// startsNote returns the mark at the start of a footnote: a symbol, or a number without a full stop. It returns "" for
// other lines.
func startsNote(s string) string {
	n := len(s) - len(strings.TrimLeft(s, "0123456789"))
	const longestNumber = 3
	if n == 0 {
		n = len(s) - len(strings.TrimLeft(s, "*†‡§"))
	} else if n > longestNumber {
		return ""
	}
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(s[n:], " \t"))
	if n == 0 || !unicode.IsLetter(first) {
		return ""
	}
	return s[:n]
}

// isNextNoteMark reports whether note mark b may follow a: b is the next number or a different symbol, or one is a
// number and the other a symbol.
func isNextNoteMark(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	x, y := numbersOf(a), numbersOf(b)
	return len(x) != len(y) || len(x) == 0 && a != b || len(x) == 1 && y[0] == x[0]+1
}
