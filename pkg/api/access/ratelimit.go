package access

import (
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/sluice/sluice/pkg/domain"
)

// RateLimits holds one token bucket per key, per address that sends requests without a key, and per visitor to a public
// agent. Each process keeps its own buckets.
type RateLimits struct {
	perSecond        int // maximum requests with one key or from one address; 0 means no limit
	visitorPerMinute int // maximum questions from one visitor; 0 means no limit
	now              func() time.Time

	mu      sync.Mutex
	buckets map[string]*rate.Limiter
}

// Maximum number of buckets in memory. When it's reached, all are dropped; at worst, some clients get another burst.
const maxBuckets = 100_000

// NewRateLimits allows `perSecond` requests per second per key or, for requests without a key, per address. It allows
// each visitor `visitorPerMinute` questions per minute. Zero means no limit.
func NewRateLimits(perSecond, visitorPerMinute int, now func() time.Time) *RateLimits {
	return &RateLimits{perSecond: perSecond, visitorPerMinute: visitorPerMinute, now: now, buckets: map[string]*rate.Limiter{}}
}

// Allow takes a token from the caller's bucket. If the bucket is empty, it returns domain.CodeRateLimit and says how
// long to wait. A key's own limit applies if it is lower than the general limit.
func (l *RateLimits) Allow(caller Caller) error {
	perSecond, name := l.perSecond, "key "+caller.Key.ID
	if own := int(caller.Key.Limits[domain.LimitRequests]); own > 0 && (perSecond == 0 || own < perSecond) {
		perSecond = own
		name = fmt.Sprintf("%s at %d", name, own) // a bucket's limit is fixed, so each limit needs its own bucket
	}
	if perSecond <= 0 {
		return nil
	}
	if caller.Anonymous {
		name = "address " + Host(caller.Remote)
	}
	return l.take(name, rate.Limit(perSecond), 2*perSecond, fmt.Sprintf("more than %d requests per second; slow down", perSecond))
}

// AllowVisitor takes a token from the visitor's bucket for the agent. Without a visitor id, callers are identified by
// address, and callers with a key aren't limited at all.
func (l *RateLimits) AllowVisitor(caller Caller, agentID, visitorID string) error {
	name := fmt.Sprintf("visitor %s %s", agentID, visitorID)
	switch {
	case l.visitorPerMinute <= 0, visitorID == "" && !caller.Anonymous:
		return nil
	case visitorID == "":
		name = fmt.Sprintf("visitor from %s %s", agentID, Host(caller.Remote))
	}
	n := l.visitorPerMinute
	return l.take(name, rate.Limit(float64(n)/60), n, fmt.Sprintf("more than %d questions per minute; wait a moment", n))
}

// Host returns an address without its port.
func Host(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return remote
	}
	return host
}

func (l *RateLimits) take(bucket string, limit rate.Limit, burst int, message string) error {
	now := l.now()
	reservation := l.bucket(bucket, limit, burst).ReserveN(now, 1)
	wait := reservation.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	reservation.CancelAt(now)
	return &domain.Error{Code: domain.CodeRateLimit, Message: message, RetryAfter: wait}
}

func (l *RateLimits) bucket(name string, limit rate.Limit, burst int) *rate.Limiter {
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
