package scope

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/lazyregexp"
	"github.com/sluice/sluice/pkg/wordset"
)

// date is a day, a month (with day 0) or a week (represented by its Monday) in an address.
type date struct {
	year, month, day int
	padded           bool   // month and day have two digits
	dashed           bool   // dashes separate the numbers
	named            bool   // the year is the value of a parameter such as "year"
	reversed         bool   // the year follows the month; both numbers may then be ids instead
	word             string // month name as in the address, in lower case; "" for a number
}

func (d date) after(other date) bool {
	return slices.Compare([]int{d.year, d.month, d.day}, []int{other.year, other.month, other.day}) > 0
}

func (d date) equal(other date) bool {
	return d.year == other.year && d.month == other.month && d.day == other.day
}

// dateOf returns the date in the address of a list of pages, such as an archive. The date is at the end of the path
// (/2026/11/05, /2026-11, /2026/november, /2026-W48, /11/2026) or in the query (date=2026-11-05, year=2026&month=11).
// Pages below a date, such as /2026/11/05/an-article, are not lists. `last` is the last valid year.
func dateOf(u *url.URL, last int) (date, bool) {
	if !strings.ContainsAny(u.Path, "0123456789") && !strings.ContainsAny(u.RawQuery, "0123456789") {
		return date{}, false
	}
	segments := strings.Split(strings.Trim(u.Path, "/"), "/")
	if d, ok := dashed(segments[len(segments)-1], last); ok {
		return d, true
	}
	for n := min(3, len(segments)); n >= 2; n-- {
		if d, ok := numbers(segments[len(segments)-n:], last); ok {
			return d, true
		}
	}
	d := date{named: true}
	for _, p := range parameters(u) {
		key, value, _ := strings.Cut(strings.ToLower(p), "=")
		if on, ok := dashed(value, last); ok {
			return on, true
		}
		n, err := strconv.Atoi(value)
		switch {
		case monthKeys[key] && months[value] > 0:
			d.month, d.word = months[value], value
		case err != nil:
		case yearKeys[key] && firstYear <= n && n <= last:
			d.year = n
		case monthKeys[key] && 1 <= n && n <= 12:
			d.month = n
		case dayKeys[key] && 1 <= n && n <= 31:
			d.day = n
		}
	}
	if d.year > 0 && d.month > 0 {
		return d, true
	}
	return monthFirst(segments, last)
}

// monthFirst parses a month and a year at the end of a path: 11/2026 or 11-2026.
func monthFirst(segments []string, last int) (date, bool) {
	parts := strings.Split(segments[len(segments)-1], "-")
	if len(parts) == 1 {
		parts = segments[max(0, len(segments)-2):]
	}
	if len(parts) != 2 || len(parts[0]) != 2 {
		return date{}, false
	}
	d, ok := numbers([]string{parts[1], parts[0]}, last)
	d.reversed = true
	return d, ok
}

var (
	yearKeys  = wordset.Of(`year y yr jahr annee ano`)
	monthKeys = wordset.Of(`month m mon mo monat mois mes`)
	dayKeys   = wordset.Of(`day d tag jour dia`)
)

// months maps month names and their usual abbreviations to numbers.
var months = numbered(`january jan januar januari janvier janeiro enero gennaio`,
	`february feb februar februari février fevrier fevereiro febrero febbraio`,
	`march mar märz maerz mrz maart mars março marco marzo`,
	`april apr avril abril aprile`,
	`may mai mei maio mayo maggio`,
	`june jun juni juin junho junio giugno`,
	`july jul juli juillet julho julio luglio`,
	`august aug augustus août aout agosto`,
	`september sep sept septembre setembro septiembre settembre`,
	`october oct oktober okt octobre outubro octubre ottobre`,
	`november nov novembre novembro noviembre`,
	`december dec dezember dez décembre decembre dezembro diciembre dicembre`) //nolint:misspell // French, as addresses write it

func numbered(lists ...string) map[string]int {
	out := map[string]int{}
	for i, list := range lists {
		for name := range wordset.Of(list) {
			out[name] = i + 1
		}
	}
	return out
}

// dashed parses 2026-11, 2026-11-05, 2026-november, november-2026, 2026-W48, and dates followed by a time.
func dashed(s string, last int) (date, bool) {
	for i := 1; i < len(s); i++ {
		if c := s[i]; c == ' ' || (c == 't' || c == 'T') && isNumber(s[i-1:i]) {
			s = s[:i]
			break
		}
	}
	if strings.Count(s, "-") == 0 || strings.Count(s, "-") > 2 {
		return date{}, false
	}
	d, ok := numbers(strings.Split(s, "-"), last)
	d.dashed = true
	return d, ok
}

// numbers parses the parts of a date: year, month and optionally day; month name and year; or year and week. `last` is
// the last valid year.
func numbers(parts []string, last int) (date, bool) {
	parts = slices.Clone(parts)
	if len(parts) == 2 && months[strings.ToLower(parts[0])] > 0 {
		slices.Reverse(parts)
	}
	word := strings.ToLower(parts[1])
	if n := months[word]; n > 0 {
		parts[1] = fmt.Sprintf("%02d", n)
	} else {
		word = ""
	}
	if week := weekForm().FindStringSubmatch(parts[1]); week != nil && len(parts) == 2 {
		n, _ := strconv.Atoi(week[1])
		return weekOf(parts[0], n, last)
	}
	var n [3]int
	for i, p := range parts {
		if len(p) > 4 || !isNumber(p) {
			return date{}, false
		}
		n[i], _ = strconv.Atoi(p)
	}
	d := date{
		year: n[0], month: n[1], day: n[2], word: word,
		padded: len(parts[1]) == 2 && (len(parts) == 2 || len(parts[2]) == 2),
	}
	ok := len(parts[0]) == 4 && firstYear <= d.year && d.year <= last && 1 <= d.month && d.month <= 12 && len(parts[1]) <= 2 &&
		(len(parts) == 2 || 1 <= d.day && d.day <= 31 && len(parts[2]) <= 2)
	return d, ok
}

// weekForm matches a week in ISO 8601 ("W48") or in German notation ("KW48").
var weekForm = lazyregexp.New(`^(?i:w|kw)([0-9]{1,2})$`)

// weekOf returns the Monday of a week. A year's first week contains 4 January.
func weekOf(year string, week, last int) (date, bool) {
	y, err := strconv.Atoi(year)
	if err != nil || len(year) != 4 || y < firstYear || y > last || week < 1 || week > 53 {
		return date{}, false
	}
	fourth := time.Date(y, time.January, 4, 0, 0, 0, 0, time.UTC)
	sinceMonday := (int(fourth.Weekday()) + 6) % 7
	monday := fourth.AddDate(0, 0, 7*(week-1)-sinceMonday)
	return date{year: monday.Year(), month: int(monday.Month()), day: monday.Day(), padded: true}, true
}
