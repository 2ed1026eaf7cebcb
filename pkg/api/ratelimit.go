package api

import (
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/sluice/sluice/pkg/domain"
)

// rateLimits holds one token bucket for every key, for every address that calls without one, and for every visitor of a
// public agent. They are those of this process.
type rateLimits struct {
	perSecond        int // of a key or an address; 0: no limit
	visitorPerMinute int // questions of a visitor; 0: no limit
	now              func() time.Time

	mu      sync.Mutex
	buckets map[string]*rate.Limiter
}

// maxBuckets bounds the memory of rate limits. Beyond it all buckets are dropped, which lets a burst pass, no more.
const maxBuckets = 100_000

func newRateLimits(o Options, now func() time.Time) *rateLimits {
	return &rateLimits{perSecond: o.RatePerSecond, visitorPerMinute: o.VisitorPerMinute, now: now, buckets: map[string]*rate.Limiter{}}
}

// allow takes one token of the caller's bucket; domain.CodeRateLimit, with the time to wait, when it is empty. A key may
// have a limit of its own, below that of all.
func (l *rateLimits) allow(who caller) error {
	perSecond, name := l.perSecond, "key "+who.key.ID
	if own := int(who.key.Limits[domain.LimitRequests]); own > 0 && (perSecond == 0 || own < perSecond) {
		perSecond = own
		name = fmt.Sprintf("%s at %d", name, own) // a bucket that was made for another limit does not hold it
	}
	if perSecond <= 0 {
		return nil
	}
	if who.anonymous {
		name = "address " + hostOf(who.remote)
	}
	return l.take(name, rate.Limit(perSecond), 2*perSecond, fmt.Sprintf("more than %d requests a second; slow down", perSecond))
}

// allowVisitor takes one token of the visitor's bucket, of one agent. Who says no visitor's id counts by address, and who
// has a key, and so is known, not at all then.
func (l *rateLimits) allowVisitor(who caller, agentID, visitorID string) error {
	name := fmt.Sprintf("visitor %s %s", agentID, visitorID)
	switch {
	case l.visitorPerMinute <= 0, visitorID == "" && !who.anonymous:
		return nil
	case visitorID == "":
		name = fmt.Sprintf("visitor from %s %s", agentID, hostOf(who.remote))
	}
	n := l.visitorPerMinute
	return l.take(name, rate.Limit(float64(n)/60), n, fmt.Sprintf("more than %d questions a minute; wait a little", n))
}

func hostOf(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return remote
	}
	return host
}

func (l *rateLimits) take(bucket string, limit rate.Limit, burst int, message string) error {
	now := l.now()
	reservation := l.bucket(bucket, limit, burst).ReserveN(now, 1)
	wait := reservation.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	reservation.CancelAt(now)
	return &domain.Error{Code: domain.CodeRateLimit, Message: message, RetryAfter: wait}
}

func (l *rateLimits) bucket(name string, limit rate.Limit, burst int) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.buckets[name]
	if b == nil {
		if len(l.buckets) >= maxBuckets {
			clear(l.buckets)
		}
		b = rate.NewLimiter(limit, burst)
		l.buckets[name] = b
	}
	return b
}
