package crawl

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Maximum delay that a server can ask for.
const maxRetryAfter = 24 * time.Hour

// parseRetryAfter parses Retry-After (RFC 9110, section 10.2.3) as seconds or a date. The result is between 0 and
// maxRetryAfter. `ok` is false if the value is neither.
func parseRetryAfter(v string, now time.Time) (d time.Duration, ok bool) {
	v = strings.TrimSpace(v)
	if v == "" {
		return 0, false
	}
	// If out of range, secs is the largest uint64.
	if secs, err := strconv.ParseUint(v, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(secs, uint64(maxRetryAfter/time.Second))) * time.Second, true
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0, false
	}
	return min(max(at.Sub(now), 0), maxRetryAfter), true
}
