package crawl

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter bounds how long a server can send us away.
const maxRetryAfter = 24 * time.Hour

// parseRetryAfter reads both forms of Retry-After (RFC 9110, section 10.2.3): seconds, or a date. The result lies
// between 0 and maxRetryAfter; ok is false when the value is neither form.
func parseRetryAfter(v string, now time.Time) (d time.Duration, ok bool) {
	v = strings.TrimSpace(v)
	if v == "" {
		return 0, false
	}
	if isDigits(v) {
		secs, err := strconv.ParseInt(v, 10, 64)
		if err != nil || secs > int64(maxRetryAfter/time.Second) { // err: more digits than an int64 has
			return maxRetryAfter, true
		}
		return time.Duration(secs) * time.Second, true
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0, false
	}
	return min(max(at.Sub(now), 0), maxRetryAfter), true
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
