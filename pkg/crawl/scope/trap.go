package scope

import (
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/wordset"
)

// Traps are endless series of addresses on badly built sites. This package recognises them from the address and the
// linking page alone, because a site's crawlers share no memory and a repeated crawl must find the same pages. The
// limits on depth and number of pages stop any other trap.

const (
	maxSegments    = 20
	maxParameters  = 8
	maxRepetitions = 3
	// First and last years that count as part of a date. Other four-digit numbers count as ids.
	firstYear, maxYear = 1900, 2100
	// How far ahead a journal issue may be dated.
	maxAhead = 62 * 24 * time.Hour
)

// isTrap recognises traps by address: relative links that accumulate segments (/a/b/a/b/…), parameters that accumulate
// with every click, and calendars for another century.
func isTrap(u *url.URL) bool {
	segments := strings.Split(strings.Trim(u.EscapedPath(), "/"), "/")
	if len(segments) > maxSegments || hasRepeatedSegments(segments) {
		return true
	}
	seen := make(map[string]int, len(segments))
	for _, s := range segments {
		if seen[s]++; s != "" && !isNumber(s) && seen[s] > maxRepetitions || s == "" && seen[s] > 1 {
			return true
		}
	}
	params := parameters(u)
	if len(params) > maxParameters {
		return true
	}
	keys := make(map[string]int, len(params))
	for _, p := range params {
		k, _, _ := strings.Cut(p, "=")
		if keys[k]++; keys[k] > maxRepetitions {
			return true
		}
	}
	return isFarDate(u)
}

// isFarDate reports whether an address is a calendar page for a year after maxYear. Four digits alone are not enough,
// because they could be an article's id.
func isFarDate(u *url.URL) bool {
	d, ok := dateOf(u, 9999)
	if !ok || d.year <= maxYear {
		return false
	}
	if d.reversed {
		return false
	}
	_, words := patternOf(u, d)
	return d.named || d.padded && slices.ContainsFunc(words, isCalendarWord)
}

func isCalendarWord(w string) bool { return calendars[w] || w == "date" || w == "datum" }

// isStep reports whether a link leads further into a trap: from one date in a calendar to another, or to a catalogue
// page with one more filter.
func isStep(from, to *url.URL, now time.Time) bool {
	if from == nil || domain.BareHost(from) != domain.BareHost(to) {
		return false
	}
	return isCalendarLink(from, to, now) || from.Path == to.Path && addsFilters(from, to)
}

// hasRepeatedSegments reports whether a path has the same group of segments twice in a row, or the same segment three
// times in a row. Numbers are exempt, because /volume/1/1/1 is the first article in the first issue.
func hasRepeatedSegments(segments []string) bool {
	for i := range segments {
		for n := 1; i+2*n <= len(segments); n++ {
			group := segments[i : i+n]
			times := 2
			if n == 1 {
				times = 3
			}
			if slices.ContainsFunc(group, func(s string) bool { return !isNumber(s) }) && isRepeated(segments[i:], group, times) {
				return true
			}
		}
	}
	return false
}

func isRepeated(segments, group []string, times int) bool {
	if len(segments) < times*len(group) {
		return false
	}
	for k := range times {
		if !slices.Equal(segments[k*len(group):(k+1)*len(group)], group) {
			return false
		}
	}
	return true
}

func parameters(u *url.URL) []string {
	if u.RawQuery == "" {
		return nil
	}
	return strings.Split(u.RawQuery, "&")
}

const (
	maxAddedFilters = 2 // maximum number of parameters that links may add to a path
	maxArguments    = 4 // the same for a path such as /index.php, whose parameters select the page
)

// paging lists parameters that select a page of a finite list.
var paging = wordset.Of(`page p pg paged pagenum pageno page_no page_num seite start offset skip limit cursor after before`)

// addsFilters reports whether a link keeps all of the linking page's parameters, adds at least one that isn't for
// paging, and ends up with more parameters than is normal.
func addsFilters(from, to *url.URL) bool {
	had, has := parameters(from), parameters(to)
	limit := maxAddedFilters
	if from.Path == "" || from.Path == "/" || path.Ext(from.Path) != "" {
		limit = maxArguments
	}
	if len(has) <= limit || len(has) <= len(had) {
		return false
	}
	for _, p := range had {
		if !slices.Contains(has, p) {
			return false
		}
	}
	return slices.ContainsFunc(has, func(p string) bool {
		key, _, _ := strings.Cut(strings.ToLower(p), "=")
		return !slices.Contains(had, p) && !paging[key]
	})
}

// calendars lists words that mark an address as part of a calendar, which has a page for every date, even those without
// events.
var calendars = wordset.Of(`calendar calendars calender cal kalender calendrier calendario calendar_page agenda event events termine
	veranstaltungen evenements eventos schedule day month week monat woche ical tribe_events timetable planner diary
	availability booking bookings reservation reservations`)

// calendarParameters select the next date in a calendar.
var calendarParameters = wordset.Of(`next prev previous forward back vor zurueck weiter`)

// isCalendarLink reports whether a link belongs to an endless series of pages. The linking page and its target may
// differ only in their dates. A calendar is endless in both directions. A journal or archive ends with its first and
// last entries, so only links from the present into the future are rejected.
func isCalendarLink(from, to *url.URL, now time.Time) bool {
	was, ok := dateOf(from, maxYear)
	if !ok {
		return false
	}
	is, ok := dateOf(to, maxYear)
	if !ok {
		return false
	}
	shape, words := patternOf(to, is)
	before, _ := patternOf(from, was)
	if from.Path == to.Path && len(parameters(to)) > len(parameters(from)) {
		for _, p := range parameters(to) {
			key, value, _ := strings.Cut(strings.ToLower(p), "=")
			if calendarParameters[key] || calendarParameters[value] {
				return true
			}
		}
	}
	if shape != before || is.equal(was) {
		return false
	}
	inCalendar := slices.ContainsFunc(words, func(w string) bool { return calendars[w] })
	if is.reversed {
		return inCalendar && is.month != was.month // otherwise 2027 is an item's id within a category: /events/12/2027
	}
	if inCalendar {
		return true
	}
	if is.dashed && !is.padded {
		return false // a part number: 2027-1
	}
	// Reject a link only if it leads from before the horizon, the latest plausible date, to after it. The linking page
	// was accepted, so if its own date seems to be later, that number must mean something else.
	end := now.Add(maxAhead)
	horizon := date{year: end.Year(), month: int(end.Month()), day: end.Day()}
	return !was.after(horizon) && is.after(horizon)
}

// patternOf returns an address's shape, which is the address without its numbers and month name. It also returns the
// words in the address. Names of date parameters don't count as words, because any archive's query may contain "month".
func patternOf(u *url.URL, d date) (shape string, words []string) {
	s := strings.ToLower(strings.TrimSuffix(u.Path, "/"))
	named := s
	for _, p := range parameters(u) {
		p = strings.ToLower(p)
		key, value, _ := strings.Cut(p, "=")
		if isDateKey := yearKeys[key] || monthKeys[key] || dayKeys[key]; isDateKey && (isNumber(value) || months[value] > 0) {
			continue
		}
		named += "?" + p
	}
	words = strings.FieldsFunc(named, func(c rune) bool { return (c < 'a' || c > 'z') && c != '_' })
	s += "?" + strings.ToLower(u.RawQuery)
	if at := strings.LastIndex(s, d.word); d.word != "" && at >= 0 {
		s = s[:at] + "0" + s[at+len(d.word):]
	}
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c < '0' || c > '9' {
			b.WriteByte(c)
		} else if i == 0 || s[i-1] < '0' || s[i-1] > '9' {
			b.WriteByte('0')
		}
	}
	return b.String(), words
}

func isNumber(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
