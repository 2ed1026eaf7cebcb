package rerank

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// Circuit breaker settings.
const (
	maxFailures = 2 // consecutive failures
	minPause    = 5 * time.Second
	maxPause    = time.Minute
)

// ErrPaused is wrapped by Rerank's error if recent failures kept it from calling the server or the model.
var ErrPaused = errors.New("the reranker failed repeatedly, so it is paused")

// breaker is a circuit breaker. It keeps queries from waiting for a server that doesn't respond or an overloaded
// in-process model. After maxFailures failures, it opens for a while. Then one query probes the server. The pause gets
// longer each time a probe fails.
type breaker struct {
	now    func() time.Time
	server string // in messages: "the server" or "the model"

	mu       sync.Mutex
	failures int       // consecutive failures
	pauses   int       // consecutive pauses; attempts from before the latest one don't count
	until    time.Time // end of the latest pause
	probing  bool      // a query is probing the server
}

// attempt is a query's attempt to use the server.
type attempt struct {
	pauses int
	tries  bool // probes the server
}

// admit admits a query or rejects it with ErrPaused. After an admitted query, the caller must call record.
func (b *breaker) admit() (attempt, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	v := attempt{pauses: b.pauses, tries: b.pauses > 0}
	if left := b.until.Sub(b.now()); v.tries && (left > 0 || b.probing) {
		return v, &Error{Message: fmt.Sprintf("%s failed repeatedly, so it will not be used for %s", b.server, max(left, time.Second).Round(time.Second)), Err: ErrPaused}
	}
	b.probing = v.tries
	return v, nil
}

// record records an attempt's outcome. Only temporary failures count as failures. An abandoned attempt counts neither
// as a success nor as a failure.
func (b *breaker) record(v attempt, err error, abandoned bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if v.tries && v.pauses == b.pauses {
		b.probing = false
	}
	var failure *Error
	switch {
	case abandoned:
	case !errors.As(err, &failure) || !failure.retryable: // the server responds, if only with an error
		b.failures, b.pauses = 0, 0
	case v.pauses != b.pauses:
	case v.tries || b.failures+1 >= maxFailures:
		rest := min(minPause<<min(b.pauses, 8), maxPause)
		b.failures, b.pauses = 0, b.pauses+1
		b.until = b.now().Add(min(max(rest, failure.after), maxPause))
	default:
		b.failures++
	}
}
