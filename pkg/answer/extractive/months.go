package extractive

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/answer/language"
	"github.com/sluice/sluice/pkg/lazyregexp"
)

// monthNames lists the names of the months in all supported languages, one month per line. It omits abbreviations,
// which are also ordinary words.
const monthNames = `
	january januar jänner janvier enero gennaio janeiro januari январь января январе
	february februar février febrero febbraio fevereiro februari февраль февраля феврале
	march märz mars marzo março maart март марта марте
	april avril abril aprile апрель апреля апреле
	may mai mayo maggio maio mei май мая мае
	june juni juin junio giugno junho июнь июня июне
	july juli juillet julio luglio julho июль июля июле
	august août agosto augustus август августа августе
	september septembre septiembre settembre setembro сентябрь сентября сентябре
	october oktober octobre octubre ottobre outubro октябрь октября октябре
	november novembre noviembre novembro ноябрь ноября ноябре
	december dezember décembre diciembre dicembre dezembro декабрь декабря декабре
`

// monthOf maps each name to its month's number.
var monthOf = func() map[string]int {
	out := make(map[string]int)
	for i, line := range strings.Split(strings.TrimSpace(monthNames), "\n") {
		for _, name := range strings.Fields(line) {
			out[name] = i + 1
		}
	}
	return out
}()

// monthsIn returns the months mentioned next to a day or a year: "in May 2025", "mayo de 2025", but not "may I".
func monthsIn(question string) []int {
	words := slices.DeleteFunc(language.Words(question), func(w string) bool { return w == "de" || w == "of" })
	number := func(i int) bool {
		if i < 0 || i >= len(words) {
			return false
		}
		first, _ := utf8.DecodeRuneInString(words[i])
		return unicode.IsDigit(first)
	}
	var out []int
	for i, w := range words {
		if m := monthOf[w]; m > 0 && (number(i-1) || number(i+1)) {
			out = append(out, m)
		}
	}
	return out
}

// numericDate matches numeric dates: 27/06/2025, 27.6.25, 2025-06-27, 06/2025.
var numericDate = lazyregexp.New(`\b(?:\d{1,2}[./-]\d{1,2}[./-](?:\d{4}|\d{2})|\d{4}-\d{1,2}-\d{1,2}|\d{1,2}/\d{4})\b`)

// mentionsMonth reports whether a text names the month or contains a date in it. In a numeric date, the month may be
// first or second.
func mentionsMonth(text string, month int) bool {
	if slices.Contains(monthsIn(text), month) || slices.ContainsFunc(language.Words(text), func(w string) bool { return monthOf[w] == month && w != "may" && w != "march" }) {
		return true
	}
	for _, date := range numericDate().FindAllString(text, -1) {
		parts := strings.FieldsFunc(date, func(r rune) bool { return !unicode.IsDigit(r) })
		for _, digits := range parts {
			if n, err := strconv.Atoi(digits); err == nil && n == month && len(digits) <= 2 {
				return true
			}
		}
	}
	return false
}
