package domain

import (
	"fmt"
	"math/bits"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Limits on refresh schedules.
const (
	// MinRefresh is the minimum time between two refreshes of the same content.
	MinRefresh = 10 * time.Minute
	// MaxRefresh is the longest interval in a schedule. Cron fields may match less often.
	MaxRefresh = 366 * 24 * time.Hour
	// Maximum length in bytes of a refresh schedule.
	maxRefreshLength = 256
)

// Refresh is a schedule for fetching web content again; see DatasourceConfig.Refresh. The zero Refresh means never.
type Refresh struct {
	every time.Duration // interval in whole seconds; 0 if cron applies
	cron  string        // six fields, seconds first
}

// ParseRefresh parses a refresh schedule:
//
//   - an interval in whole seconds, from MinRefresh to MaxRefresh: "30m", "24h", "7d", "1d12h", or "@every 6h";
//   - five cron fields in UTC (minute, hour, day of month, month, day of week): "0 3 * * 1-5";
//   - six cron fields, with seconds first: "0 0 3 * * *";
//   - a name such as "@daily";
//   - "", which is the zero Refresh.
//
// Cron fields may contain numbers, month and day names, lists, ranges and steps. If both day fields are restricted, a
// day has to match only one of them. The fields must match at least one day, and runs must be at least MinRefresh
// apart. For any other text, ParseRefresh returns a CodeInvalid error that says what is wrong and what to write
// instead.
func ParseRefresh(text string) (Refresh, error) {
	if len(text) > maxRefreshLength {
		return Refresh{}, refreshFault("it has %d characters; the limit is %d", len(text), maxRefreshLength)
	}
	fields := strings.Fields(text)
	if len(fields) == 1 && namedRefreshes[strings.ToLower(fields[0])] != "" {
		fields = strings.Fields(namedRefreshes[strings.ToLower(fields[0])])
	}
	switch {
	case len(fields) == 0:
		return Refresh{}, nil
	case len(fields) == 2 && strings.EqualFold(fields[0], "@every"):
		fields = fields[1:]
		fallthrough
	case len(fields) == 1:
		every, err := parseInterval(fields[0])
		return Refresh{every: every}, err
	case len(fields) == 5:
		fields = append([]string{"0"}, fields...)
		fallthrough
	case len(fields) == 6:
		second, err := strconv.ParseUint(fields[0], 10, 8)
		if err != nil || second > 59 {
			return Refresh{}, refreshFault("the seconds field %q is invalid: it must be a number between 0 and 59", fields[0])
		}
		if err := checkCron(fields[1:]); err != nil {
			return Refresh{}, err
		}
		return Refresh{cron: strconv.FormatUint(second, 10) + " " + strings.Join(fields[1:], " ")}, nil
	}
	return Refresh{}, refreshFault("%q has %d fields: write an interval such as \"24h\", or the five fields minute, hour, day of month, month and day of week, such as \"0 3 * * 1-5\"",
		text, len(fields))
}

// namedRefreshes maps names from crontab(5) to cron fields. All their intervals are at least MinRefresh.
var namedRefreshes = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// IsZero reports whether r is the zero Refresh, which means that content is never fetched again.
func (r Refresh) IsZero() bool { return r == Refresh{} }

// Schedule returns the refresh as a JetStream message schedule: "@every 24h0m0s" or six cron fields in UTC, seconds
// first. It returns "" for the zero Refresh. Equivalent refreshes may yield different schedules.
func (r Refresh) Schedule() string {
	if r.every > 0 {
		return "@every " + r.every.String()
	}
	return r.cron
}

func refreshFault(format string, args ...any) error {
	return Invalid("config.refresh", format, args...)
}

// parseInterval parses a Go duration, optionally preceded by days.
func parseInterval(text string) (time.Duration, error) {
	malformed := refreshFault("%q is neither an interval such as \"30m\", \"24h\" or \"7d\" nor a five-field cron expression such as \"0 3 * * *\"", text)
	var every time.Duration
	rest := text
	if days, after, ok := strings.Cut(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return 0, malformed
		}
		every, rest = time.Duration(n)*24*time.Hour, after
	}
	if rest != "" {
		d, err := time.ParseDuration(rest)
		if err != nil || every > 0 && d < 0 {
			return 0, malformed
		}
		every += min(max(d, -MaxRefresh), 2*MaxRefresh) // prevents overflow; values at these limits are rejected below
	}
	switch {
	case every < MinRefresh:
		return 0, refreshFault("%q is shorter than %s, the shortest interval", text, shortDuration(MinRefresh))
	case every > MaxRefresh:
		return 0, refreshFault("%q is longer than %d days, the longest interval", text, MaxRefresh/(24*time.Hour))
	case every%time.Second != 0:
		return 0, refreshFault("%q is not a whole number of seconds", text)
	}
	return every, nil
}

// shortDuration formats a duration without trailing zero units: "10m", not "10m0s".
func shortDuration(d time.Duration) string {
	text := d.String()
	if s, ok := strings.CutSuffix(text, "m0s"); ok {
		text = s + "m"
	}
	if s, ok := strings.CutSuffix(text, "h0m"); ok {
		text = s + "h"
	}
	return text
}

// cronField describes one of the five fields of a cron expression.
type cronField struct {
	name     string
	min, max int
	names    string // description of the accepted names, if any
	bits     func(*cron.SpecSchedule) uint64
}

var cronFields = [5]cronField{
	{name: "minute", max: 59, bits: func(s *cron.SpecSchedule) uint64 { return s.Minute }},
	{name: "hour", max: 23, bits: func(s *cron.SpecSchedule) uint64 { return s.Hour }},
	{name: "day of month", min: 1, max: 31, bits: func(s *cron.SpecSchedule) uint64 { return s.Dom }},
	{name: "month", min: 1, max: 12, names: ", or jan to dec", bits: func(s *cron.SpecSchedule) uint64 { return s.Month }},
	{name: "day of week", max: 6, names: ", or sun to sat; Sunday is 0", bits: func(s *cron.SpecSchedule) uint64 { return s.Dow }},
}

// cronParser accepts the same expressions as the NATS server, which has a copy of this parser.
var cronParser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

// cronPart matches one item in a field's list. The parser alone would accept further expressions, some of which have
// surprising meanings.
var cronPart = regexp.MustCompile(`^(?:\*|([0-9a-zA-Z]+)(?:-([0-9a-zA-Z]+))?)(?:/([0-9]+))?$`)

// everyValue is the bit that the parser sets for a field written as "*".
const everyValue = 1 << 63

// restricted reports whether a day field is anything other than "*".
func restricted(bits uint64) bool { return bits&everyValue == 0 }

// checkCron returns an error unless the five fields form a valid refresh schedule.
func checkCron(fields []string) error {
	var sets [5]uint64
	for i, f := range cronFields {
		for part := range strings.SplitSeq(fields[i], ",") {
			set, err := f.parse(i, part)
			if err != nil {
				return refreshFault("the %s field %q is invalid: %v", f.name, fields[i], err)
			}
			sets[i] |= set
		}
	}
	text := strings.Join(fields, " ")
	if gap := shortestGap(sets[0], sets[1]); gap < MinRefresh {
		return refreshFault("%q runs again after %s; the shortest interval is %s, so list fewer minutes", text, shortDuration(gap), shortDuration(MinRefresh))
	}
	if !hasMatchingDay(sets[2], sets[3], sets[4]) {
		return refreshFault("%q never runs: none of its months has that day", text)
	}
	return nil
}

// parse parses one item in field i's list and returns the permitted values as a bit set.
func (f cronField) parse(i int, part string) (uint64, error) {
	found := cronPart.FindStringSubmatch(part)
	if found == nil {
		return 0, fmt.Errorf("%q must be a number between %d and %d%s, a range such as %d-%d, \"*\", or one of these with a step such as */2", part, f.min, f.max, f.names, f.min, f.min+1)
	}
	if step, err := strconv.Atoi(found[3]); found[3] != "" && (err != nil || step < 1 || step > f.max) {
		return 0, fmt.Errorf("the step %q must be between 1 and %d", found[3], f.max)
	}
	for _, value := range found[1:3] {
		if value == "" {
			continue
		}
		if _, err := f.schedule(i, value); err != nil {
			return 0, fmt.Errorf("%q must be a number between %d and %d%s", value, f.min, f.max, f.names)
		}
	}
	schedule, err := f.schedule(i, part)
	if err != nil {
		return 0, fmt.Errorf("%q must not end before it begins", part)
	}
	return f.bits(schedule), nil
}

func (f cronField) schedule(i int, part string) (*cron.SpecSchedule, error) {
	fields := [5]string{"*", "*", "*", "*", "*"}
	fields[i] = part
	parsed, err := cronParser.Parse(strings.Join(fields[:], " "))
	if err != nil {
		return nil, err
	}
	return parsed.(*cron.SpecSchedule), nil
}

// shortestGap returns the shortest time between two runs of a daily schedule with these minutes and hours.
func shortestGap(minutes, hours uint64) time.Duration {
	const day = 24 * 60
	shortest, first, last := day, -1, 0
	for at := range day {
		if hours>>(at/60)&1 == 0 || minutes>>(at%60)&1 == 0 {
			continue
		}
		if first < 0 {
			first = at
		} else {
			shortest = min(shortest, at-last)
		}
		last = at
	}
	if first != last {
		shortest = min(shortest, first+day-last)
	}
	return time.Duration(shortest) * time.Minute
}

// hasMatchingDay reports whether the fields match any existing day. If both day fields are restricted, some weekday
// always matches.
func hasMatchingDay(days, months, weekdays uint64) bool {
	if !restricted(days) || restricted(weekdays) {
		return true
	}
	lengths := [13]int{0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}
	earliest := bits.TrailingZeros64(days)
	for month := 1; month <= 12; month++ {
		if months>>month&1 == 1 && earliest <= lengths[month] {
			return true
		}
	}
	return false
}
