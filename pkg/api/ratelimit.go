package api

import (
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/sluice/sluice/pkg/domain"
)

// rateLimits holds one token bucket for every key, and for every address that calls without one.
type rateLimits struct {
	perSecond int // 0: no limit
	now       func() time.Time

	mu      sync.Mutex
	buckets map[string]*rate.Limiter
}

// maxBuckets bounds the memory of rate limits. Beyond it all buckets are dropped, which lets a burst pass, no more.
const maxBuckets = 100_000

func newRateLimits(perSecond int, now func() time.Time) *rateLimits {
	return &rateLimits{perSecond: perSecond, now: now, buckets: map[string]*rate.Limiter{}}
}

// allow takes one token of the caller's bucket; domain.CodeRateLimit, with the time to wait, when it is empty.
func (l *rateLimits) allow(who caller, remote string) error {
	if l.perSecond <= 0 {
		return nil
	}
	name := "key " + who.key.ID
	if who.anonymous {
		host, _, err := net.SplitHostPort(remote)
		if err != nil {
			host = remote
		}
		name = "address " + host
	}
	now := l.now()
	reservation := l.bucket(name).ReserveN(now, 1)
	wait := reservation.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	reservation.CancelAt(now)
	return &domain.Error{
		Code:       domain.CodeRateLimit,
		Message:    fmt.Sprintf("more than %d requests a second; slow down", l.perSecond),
		RetryAfter: wait,
	}
}

func (l *rateLimits) bucket(name string) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.buckets[name]
	if b == nil {
		if len(l.buckets) >= maxBuckets {
			clear(l.buckets)
		}
		b = rate.NewLimiter(rate.Limit(l.perSecond), 2*l.perSecond)
		l.buckets[name] = b
	}
	return b
}
