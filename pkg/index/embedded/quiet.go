package embedded

import (
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/index"
)

// quietTime is how long nobody writes to a space before its segments are merged to a few: while there are writes, that would be in
// vain.
const quietTime = 2 * time.Second

// quietSpaces tells when spaces have not been written to for a while.
type quietSpaces struct {
	due chan struct{} // something is to be taken

	mu      sync.Mutex
	after   time.Duration
	timer   *time.Timer
	written map[index.Space]time.Time // when last
	running bool                      // the timer
	ended   bool
}

// begin makes it tell after so long.
func (q *quietSpaces) begin(after time.Duration) {
	q.due, q.after, q.written = make(chan struct{}, 1), after, make(map[index.Space]time.Time)
	q.timer = time.AfterFunc(after, func() {
		select {
		case q.due <- struct{}{}:
		default:
		}
	})
	q.timer.Stop()
}

// note says that a space was written to just now.
func (q *quietSpaces) note(id index.Space) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.written[id] = time.Now()
	q.run(q.after)
}

// run has the timer tell. The caller holds mu.
func (q *quietSpaces) run(after time.Duration) {
	if !q.running && !q.ended {
		q.running = true
		q.timer.Reset(after)
	}
}

// take returns the spaces that have been quiet for long enough, once, after due has told.
func (q *quietSpaces) take() []index.Space {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running = false
	now := time.Now()
	var out []index.Space
	next := q.after
	for id, at := range q.written {
		if left := at.Add(q.after).Sub(now); left > 0 {
			next = min(next, left)
			continue
		}
		delete(q.written, id)
		out = append(out, id)
	}
	if len(q.written) > 0 {
		q.run(next)
	}
	return out
}

// end stops the timer.
func (q *quietSpaces) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	q.timer.Stop()
}
