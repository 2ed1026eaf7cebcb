package domain

import (
	"strings"
	"testing"
)

func TestParseRefreshReadsIntervalsAndCron(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                       "",
		"  ":                     "",
		"24h":                    "@every 24h0m0s",
		" 30m ":                  "@every 30m0s",
		"10m":                    "@every 10m0s",
		"7d":                     "@every 168h0m0s",
		"1d12h":                  "@every 36h0m0s",
		"366d":                   "@every 8784h0m0s",
		"90m30s":                 "@every 1h30m30s",
		"0 3 * * 1-5":            "0 0 3 * * 1-5",
		"  0   3 * *  mon-FRI ":  "0 0 3 * * mon-FRI",
		"*/10 * * * *":           "0 */10 * * * *",
		"0,30 8-18/2 1,15 jan *": "0 0,30 8-18/2 1,15 jan *",
		"0 0 29 2 *":             "0 0 0 29 2 *",
		"0 0 31 2 mon":           "0 0 0 31 2 mon",
		"5/20 */6 * * *":         "0 5/20 */6 * * *",
		"59 23 31 12 *":          "0 59 23 31 12 *",
		"@every 6h":              "@every 6h0m0s",
		"@EVERY 7d":              "@every 168h0m0s",
		"@daily":                 "0 0 0 * * *",
		" @Midnight":             "0 0 0 * * *",
		"@hourly":                "0 0 * * * *",
		"@weekly":                "0 0 0 * * 0",
		"@monthly":               "0 0 0 1 * *",
		"@yearly":                "0 0 0 1 1 *",
		"0 0 3 * * *":            "0 0 3 * * *",
		"07 30 3 * * 1-5":        "7 30 3 * * 1-5",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			r, err := ParseRefresh(text)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Schedule(); got != want {
				t.Errorf("schedule is %q, want %q", got, want)
			}
			if r.IsZero() != (want == "") {
				t.Errorf("IsZero is %t", r.IsZero())
			}
		})
	}
}

func TestParseRefreshSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"soon":                   `"soon" is neither an interval such as "30m"`,
		"@every 5m":              `"5m" is shorter than 10m`,
		"@every":                 `"@every" is neither an interval`,
		"@every @daily":          `"@daily" is neither an interval`,
		"every 6h":               `has 2 fields`,
		"@reboot":                `"@reboot" is neither an interval`,
		"9m59s":                  `"9m59s" is shorter than 10m, the shortest interval`,
		"-24h":                   `"-24h" is shorter than 10m`,
		"-1d":                    `"-1d" is neither an interval`,
		"0":                      `"0" is shorter than 10m`,
		"24":                     `"24" is neither an interval`,
		"367d":                   `longer than 366 days`,
		"65535d":                 `longer than 366 days`,
		"65536d":                 `is neither an interval`,
		"999999h":                `longer than 366 days`,
		"1d-1h-30m":              `is neither an interval`,
		"1d-1h":                  `is neither an interval`,
		"1h0.5s":                 `is not a whole number of seconds`,
		"0 0 3 * * * *":          `has 7 fields: write an interval such as "24h", or the five fields minute`,
		"* 0 3 * * *":            `the seconds field "*" is invalid: it must be a number between 0 and 59`,
		"60 0 3 * * *":           `the seconds field "60"`,
		"0 * * * * *":            `"* * * * *" runs again after 1m`,
		"* * * * *":              `runs again after 1m; the shortest interval is 10m, so list fewer minutes`,
		"0,5 3 * * *":            `runs again after 5m`,
		"0,55 3,4 * * *":         `runs again after 5m`,
		"0,55 0,23 * * *":        `runs again after 5m`,
		"60 3 * * *":             `the minute field "60" is invalid: "60" must be a number between 0 and 59`,
		"0 24 * * *":             `the hour field "24" is invalid: "24" must be a number between 0 and 23`,
		"0 0 0 * *":              `the day of month field "0" is invalid: "0" must be a number between 1 and 31`,
		"0 0 * 13 *":             `the month field "13" is invalid: "13" must be a number between 1 and 12, or jan to dec`,
		"0 0 * * 7":              `the day of week field "7" is invalid: "7" must be a number between 0 and 6, or sun to sat; Sunday is 0`,
		"0 0 * * fri-mon":        `the day of week field "fri-mon" is invalid: "fri-mon" must not end before it begins`,
		"0 0 30 2 *":             `never runs: none of its months has that day`,
		"0 0 31 4,6,9,11 *":      `never runs`,
		"*/0 3 * * *":            `the minute field "*/0" is invalid: the step "0" must be between 1 and 59`,
		"*/x 3 * * *":            `the minute field "*/x" is invalid: "*/x" must be a number between 0 and 59, a range such as 0-1, "*", or one of these with a step such as */2`,
		"1,,2 3 * * *":           `the minute field "1,,2" is invalid: "" must be a number`,
		"+1 3 * * *":             `"+1" must be a number`,
		"1-2-3 3 * * *":          `"1-2-3" must be a number`,
		"1/2/3 3 * * *":          `"1/2/3" must be a number`,
		"? 3 * * *":              `"?" must be a number`,
		"*-5 3 * * *":            `"*-5" must be a number`,
		"*/60 3 * * *":           `the step "60" must be between 1 and 59`,
		"0 0 * foo *":            `the month field "foo" is invalid: "foo" must be a number between 1 and 12, or jan to dec`,
		"TZ=UTC 0 3 * * *":       `the seconds field "TZ=UTC"`,
		strings.Repeat("1", 257): `it has 257 characters; the limit is 256`,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			r, err := ParseRefresh(text)
			if CodeOf(err) != CodeInvalid || !strings.Contains(err.Error(), want) {
				t.Errorf("error is %v, want one with %q", err, want)
			}
			if !r.IsZero() {
				t.Errorf("refresh is %q", r.Schedule())
			}
		})
	}
}

func FuzzParseRefresh(f *testing.F) {
	for _, seed := range []string{"24h", "7d", "1d12h", "0 3 * * 1-5", "*/15 8-18 1,15 jan-mar *", "0 0 31 2 *", "5/7 * * * ?", "-1d", "@daily", "@every 6h", "09 0 3 * * *"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRefresh(text)
		if err != nil {
			if CodeOf(err) != CodeInvalid || !r.IsZero() {
				t.Fatalf("%q: %q, %v", text, r.Schedule(), err)
			}
			return
		}
		switch s := r.Schedule(); {
		case s == "":
			if strings.TrimSpace(text) != "" {
				t.Fatalf("%q is taken for never", text)
			}
		case strings.HasPrefix(s, "@every "):
			if r.every < MinRefresh || r.every > MaxRefresh {
				t.Fatalf("%q: %s", text, r.every)
			}
		default:
			again, err := ParseRefresh(strings.TrimPrefix(s, "0 "))
			if err != nil || again != r {
				t.Fatalf("%q becomes %q, which reads as %q, %v", text, s, again.Schedule(), err)
			}
		}
	})
}
