package rerank

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// Settings of the circuit breaker.
const (
	tripAfter    = 2 // consecutive failures
	shortestRest = 5 * time.Second
	longestRest  = time.Minute
)

// ErrPaused is the cause of the error of a Rerank that did not call the server because of recent failures.
var ErrPaused = errors.New("the server is not asked for a while")

// breaker is a circuit breaker. It keeps queries from waiting for their time-out when the server does not respond.
// After tripAfter failures it opens for a pause, after which one query probes the server. While probes fail, the pauses
// grow.
type breaker struct {
	now func() time.Time

	mu       sync.Mutex
	failures int       // consecutive failures
	rests    int       // consecutive pauses; results of visits that began before the latest are ignored
	until    time.Time // end of the latest pause
	trying   bool      // whether a query is probing the server
}

// visit is one query's use of the server.
type visit struct {
	rests int
	tries bool // whether it probes the server
}

// enter admits a query, which must call leave, or rejects it with ErrPaused.
func (b *breaker) enter() (visit, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	v := visit{rests: b.rests, tries: b.rests > 0}
	if left := b.until.Sub(b.now()); v.tries && (left > 0 || b.trying) {
		return v, &Error{Message: fmt.Sprintf("the server has failed, and is not asked again for %s", max(left, time.Second).Round(time.Second)), Err: ErrPaused}
	}
	b.trying = v.tries
	return v, nil
}

// leave records the result of a visit: success, a temporary failure, or, if abandoned, neither.
func (b *breaker) leave(v visit, err error, abandoned bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if v.tries && v.rests == b.rests {
		b.trying = false
	}
	var failure *Error
	switch {
	case abandoned:
	case !errors.As(err, &failure) || !failure.passes: // it responds, if only with an error
		b.failures, b.rests = 0, 0
	case v.rests != b.rests:
	case v.tries || b.failures+1 >= tripAfter:
		rest := min(shortestRest<<min(b.rests, 8), longestRest)
		b.failures, b.rests = 0, b.rests+1
		b.until = b.now().Add(min(max(rest, failure.after), longestRest))
	default:
		b.failures++
	}
}
