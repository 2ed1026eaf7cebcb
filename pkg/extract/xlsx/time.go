package xlsx

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// lastDay is the number of the last displayable day, 31 December 9999.
const lastDay = 2_958_465

// sheetTime is the date and time that a number in a sheet represents.
type sheetTime struct {
	year, day  int
	month      time.Month
	weekday    time.Weekday
	hour       int
	minute     int
	second     int
	fraction   int     // fraction of a second, in units of the last displayed digit
	total      float64 // seconds since the first day, rounded to the displayed digits
	hasHalf    bool    // the format has a 12-hour clock
	showsClock bool
}

// date formats a number as a date or time. `ok` is false if it is not a valid date.
func (s *codeSection) date(n float64, date1904 bool) (text string, ok bool) {
	t, ok := s.timeOf(n, date1904)
	if !ok {
		return "", false
	}
	var b strings.Builder
	for i, token := range s.tokens {
		switch token.part {
		case codeLiteral:
			b.WriteString(token.text)
		case codeFraction:
			width := len(token.text) - 1
			fmt.Fprintf(&b, ".%0*d", width, t.fraction/pow10(s.places-width))
		case codeAMPM:
			b.WriteString(t.amPM(token.text))
		case codeElapsed:
			unit := map[byte]float64{'h': 3600, 'm': 60, 's': 1}[token.text[0]]
			fmt.Fprintf(&b, "%0*.0f", len(token.text), math.Floor(t.total/unit))
		case codeDate:
			b.WriteString(t.field(token.text, s.isMinute(i)))
		}
	}
	return b.String(), true
}

// timeOf converts a number to a date and time, rounded to the fraction of a second that the section displays.
func (s *codeSection) timeOf(n float64, date1904 bool) (t sheetTime, ok bool) {
	for _, token := range s.tokens {
		t.hasHalf = t.hasHalf || token.part == codeAMPM
		t.showsClock = t.showsClock || token.part != codeLiteral && token.part != codeDate || token.part == codeDate && strings.ContainsAny(token.text, "hs")
	}
	last := lastDay
	if date1904 {
		last -= 1462
	}
	if n < 0 || n >= float64(last)+1 {
		return t, false
	}
	units := pow10(s.places)
	if !t.showsClock {
		units = 1000 // round to milliseconds; otherwise the date would change half a second early
	}
	scaled := int64(math.Round(n * 86400 * float64(units)))
	t.total, t.fraction = float64(scaled)/float64(units), int(scaled%int64(units))
	seconds := scaled / int64(units)
	days, clock := int(seconds/86400), int(seconds%86400)
	if days > last { // rounding can pass the last day
		return t, false
	}
	t.hour, t.minute, t.second = clock/3600, clock/60%60, clock%60
	if date1904 {
		days += 1462
	}
	t.setDay(days)
	return t, true
}

// setDay sets the date from a day number. As in Excel, day 1 is 1 January 1900, and day 60 is the nonexistent 29
// February 1900.
func (t *sheetTime) setDay(days int) {
	t.weekday = time.Weekday((days + 6) % 7)
	switch days {
	case 0:
		t.year, t.month, t.day = 1900, time.January, 0
	case 60:
		t.year, t.month, t.day = 1900, time.February, 29
	default:
		first := time.Date(1899, time.December, 31, 0, 0, 0, 0, time.UTC)
		if days > 60 {
			days--
		}
		t.year, t.month, t.day = first.AddDate(0, 0, days).Date()
	}
}

// amPM returns AM or PM in the format's style. "A/P" yields one letter and keeps its case; "AM/PM" is always upper
// case.
func (t *sheetTime) amPM(format string) string {
	first, second := "AM", "PM"
	if len(format) == len("A/P") {
		first, second = format[:1], format[2:]
	}
	if t.hour >= 12 {
		return second
	}
	return first
}

// field formats one part of the date or time. `letters` is a run of y, m, d, h or s. `minute` means that m is minutes,
// not months.
func (t *sheetTime) field(letters string, minute bool) string {
	width := min(len(letters), 2)
	pad := func(n int) string { return fmt.Sprintf("%0*d", width, n) }
	switch letters[0] {
	case 'y':
		if len(letters) > 2 {
			return strconv.Itoa(t.year)
		}
		return fmt.Sprintf("%02d", t.year%100)
	case 'd':
		switch len(letters) {
		case 1, 2:
			return pad(t.day)
		case 3:
			return t.weekday.String()[:3]
		}
		return t.weekday.String()
	case 'h':
		if t.hasHalf {
			return pad((t.hour+11)%12 + 1)
		}
		return pad(t.hour)
	case 's':
		return pad(t.second)
	}
	switch name := t.month.String(); {
	case minute:
		return pad(t.minute)
	case len(letters) <= 2:
		return pad(int(t.month))
	case len(letters) == 3:
		return name[:3]
	case len(letters) == 5:
		return name[:1]
	default:
		return name
	}
}

// isMinute reports whether the m or mm in tokens[at] is minutes: after hours or before seconds.
func (s *codeSection) isMinute(at int) bool {
	if t := s.tokens[at]; t.text[0] != 'm' || len(t.text) > 2 {
		return false
	}
	timed := func(t codeToken) bool { return t.part == codeDate || t.part == codeElapsed }
	for i := at - 1; i >= 0; i-- {
		if timed(s.tokens[i]) {
			if s.tokens[i].text[0] == 'h' {
				return true
			}
			break
		}
	}
	for _, t := range s.tokens[at+1:] {
		if timed(t) {
			return t.text[0] == 's'
		}
	}
	return false
}

// pow10 returns ten to the power of n.
func pow10(n int) int {
	p := 1
	for range n {
		p *= 10
	}
	return p
}
