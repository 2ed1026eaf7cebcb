package rerank

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// Bounds of the pauses of a server that fails.
const (
	tripAfter    = 2 // failures one after the other
	shortestRest = 5 * time.Second
	longestRest  = time.Minute
)

// ErrPaused is behind the error of a Rerank that has not asked the server, which has failed a moment ago.
var ErrPaused = errors.New("the server is not asked for a while")

// breaker keeps queries from waiting, each for as long as it may, for a server that does not answer: after tripAfter
// failures the server has a rest, and then one query asks it. While that fails, its rests grow.
type breaker struct {
	now func() time.Time

	mu       sync.Mutex
	failures int       // one after the other
	rests    int       // one after the other; what was begun before the last one says nothing new
	until    time.Time // the end of the last rest
	trying   bool      // a query asks whether the server is back
}

// visit is a query's turn with the server.
type visit struct {
	rests int
	tries bool // whether the server is back
}

// enter admits a query, which leaves later, or refuses it with ErrPaused.
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

// leave tells what came of a visit: no error, or a failure that may pass by itself, or something that says nothing of how
// the server does.
func (b *breaker) leave(v visit, err error, abandoned bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if v.tries && v.rests == b.rests {
		b.trying = false
	}
	var failure *Error
	switch {
	case abandoned:
	case !errors.As(err, &failure) || !failure.passes: // it answers, if only to refuse
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
