package domain

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bounds of a refresh.
const (
	// MinRefresh is the least time between two refreshes of the same content.
	MinRefresh = 10 * time.Minute
	// MaxRefresh is the longest interval.
	MaxRefresh = 366 * 24 * time.Hour
	// maxRefreshLength bounds the text of a refresh in bytes.
	maxRefreshLength = 256
)

// Refresh says when web content is fetched again, as DatasourceConfig.Refresh writes it. The zero Refresh is never.
type Refresh struct {
	every time.Duration // whole seconds; 0: by calendar
	cron  string        // six fields, seconds first
}

// ParseRefresh reads a refresh: an interval of MinRefresh to MaxRefresh in whole seconds ("30m", "24h", "7d", "1d12h"), or
// five fields of cron in UTC (minute, hour, day of month, month, day of week: "0 3 * * 1-5") whose days come and which
// fire no more often than MinRefresh. Fields take numbers, names of months and days, lists, ranges and steps; a day
// matches when either of its two fields does if both are restricted. As schedulers write it, "@every 6h" is an interval, "@daily" and
// its like stand for five fields, and a second may go before these ("0 0 3 * * *"). "" is the zero Refresh. Everything else is an
// error of CodeInvalid that names the fault and the way out.
func ParseRefresh(text string) (Refresh, error) {
	if len(text) > maxRefreshLength {
		return Refresh{}, refreshFault("it has %d characters, and the limit is %d", len(text), maxRefreshLength)
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
		second, err := cronField{name: "second", max: 59}.value(fields[0], fields[0])
		if err == nil {
			err = checkCron(fields[1:])
		}
		if err != nil {
			return Refresh{}, err
		}
		return Refresh{cron: strconv.Itoa(second) + " " + strings.Join(fields[1:], " ")}, nil
	}
	return Refresh{}, refreshFault("%q has %d fields: write an interval such as \"24h\", or the five fields minute, hour, day of month, month and day of week, such as \"0 3 * * 1-5\"",
		text, len(fields))
}

// namedRefreshes are the names of crontab(5) that come no more often than MinRefresh.
var namedRefreshes = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// IsZero reports whether r is never.
func (r Refresh) IsZero() bool { return r == Refresh{} }

// Schedule is the refresh as a schedule of JetStream messages: "@every 24h0m0s", or six fields of cron with seconds first,
// in UTC. Two refreshes that mean the same times may differ in it. "" for the zero Refresh.
func (r Refresh) Schedule() string {
	if r.every > 0 {
		return "@every " + r.every.String()
	}
	return r.cron
}

func refreshFault(format string, args ...any) error {
	return Invalid("config.refresh", format, args...)
}

// parseInterval reads a duration of Go that may begin with days.
func parseInterval(text string) (time.Duration, error) {
	malformed := refreshFault("%q is not an interval such as \"30m\", \"24h\" or \"7d\", nor five fields of cron such as \"0 3 * * *\"", text)
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
		every += min(max(d, -MaxRefresh), 2*MaxRefresh) // neither end overflows, and both are refused
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

// shortDuration writes a duration without the zeros behind it: "10m".
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

// cronField is one of the five, with its least and greatest value.
type cronField struct {
	name     string
	min, max int
	names    []string // of the values from min on
}

var cronFields = [5]cronField{
	{name: "minute", max: 59},
	{name: "hour", max: 23},
	{name: "day of month", min: 1, max: 31},
	{name: "month", min: 1, max: 12, names: []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{name: "day of week", max: 6, names: []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

// cronSet is what a field matches: a bit for each value. free says that it is "*": every value, on purpose.
type cronSet struct {
	bits uint64
	free bool
}

// checkCron says what keeps five fields from being a refresh.
func checkCron(fields []string) error {
	var sets [5]cronSet
	for i, f := range cronFields {
		set, err := f.parse(fields[i])
		if err != nil {
			return err
		}
		sets[i] = set
	}
	text := strings.Join(fields, " ")
	if gap := shortestGap(sets[0].bits, sets[1].bits); gap < MinRefresh {
		return refreshFault("%q comes again after %s, and the shortest interval is %s: name fewer minutes", text, shortDuration(gap), shortDuration(MinRefresh))
	}
	if !dayComes(sets[2], sets[3], sets[4]) {
		return refreshFault("%q never comes: its months do not have that day", text)
	}
	return nil
}

// parse reads a list of values and ranges with steps.
func (f cronField) parse(text string) (set cronSet, err error) {
	for part := range strings.SplitSeq(text, ",") {
		span, stepText, stepped := strings.Cut(part, "/")
		step := 1
		if stepped {
			if step, err = strconv.Atoi(stepText); err != nil || step < 1 || step > f.max {
				return set, refreshFault("%q as %s: the step %q must be 1 to %d", text, f.name, stepText, f.max)
			}
		}
		first, last := f.min, f.max
		if span == "*" {
			set.free = set.free || step == 1
		} else {
			from, to, ranged := strings.Cut(span, "-")
			if first, err = f.value(text, from); err != nil {
				return set, err
			}
			switch {
			case ranged:
				if last, err = f.value(text, to); err != nil {
					return set, err
				}
			case !stepped: // "5/10" is 5 to the greatest
				last = first
			}
		}
		if first > last {
			return set, refreshFault("%q as %s: %d comes after %d", text, f.name, first, last)
		}
		for v := first; v <= last; v += step {
			set.bits |= 1 << v
		}
	}
	return set, nil
}

func (f cronField) value(field, text string) (int, error) {
	if i := slices.Index(f.names, strings.ToLower(text)); i >= 0 {
		return f.min + i, nil
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, f.outOfRange(field, text)
		}
	}
	v, err := strconv.Atoi(text)
	if err != nil || v < f.min || v > f.max {
		return 0, f.outOfRange(field, text)
	}
	return v, nil
}

func (f cronField) outOfRange(field, text string) error {
	hint := ""
	if len(f.names) > 0 {
		hint = fmt.Sprintf(", or %s to %s", f.names[0], f.names[len(f.names)-1])
		if f.min == 0 {
			hint += "; Sunday is 0"
		}
	}
	return refreshFault("%q as %s: %q must be a number of %d to %d%s", field, f.name, text, f.min, f.max, hint)
}

// shortestGap is the least time between two of the times of day, as if every day had them.
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

// dayComes reports whether some day matches. When both fields of days are restricted, a day of the week is enough.
func dayComes(days, months, weekdays cronSet) bool {
	if days.free || !weekdays.free {
		return true
	}
	lengths := [13]int{0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}
	earliest := bits.TrailingZeros64(days.bits)
	for month := 1; month <= 12; month++ {
		if months.bits>>month&1 == 1 && earliest <= lengths[month] {
			return true
		}
	}
	return false
}
