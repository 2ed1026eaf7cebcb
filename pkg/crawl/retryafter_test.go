package crawl

import (
	"testing"
	"time"
)

func TestParseRetryAfter_reads_both_forms(t *testing.T) {
	t.Parallel()
	now := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	for v, want := range map[string]time.Duration{
		"0": 0, "120": 2 * time.Minute, " 7 ": 7 * time.Second, "99999999999999999999999": maxRetryAfter, "100000": maxRetryAfter,
		"Wed, 01 Jan 2025 00:10:00 GMT": 10 * time.Minute, "Wed, 01 Jan 2020 00:10:00 GMT": 0,
		"Wednesday, 01-Jan-25 00:00:05 GMT": 5 * time.Second, "Thu, 01 Jan 2099 00:10:00 GMT": maxRetryAfter,
	} {
		if got, ok := parseRetryAfter(v, now); !ok || got != want {
			t.Errorf("%q is %s, %t; want %s", v, got, ok, want)
		}
	}
	for _, v := range []string{"", "soon", "-1", "1.5", "12s", "٣"} {
		if got, ok := parseRetryAfter(v, now); ok {
			t.Errorf("%q is %s", v, got)
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"0", "120", "Wed, 01 Jan 2025 00:10:00 GMT", "-1", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, v string) {
		if d, _ := parseRetryAfter(v, time.Unix(0, 0)); d < 0 || d > maxRetryAfter {
			t.Errorf("%q is %s", v, d)
		}
	})
}
