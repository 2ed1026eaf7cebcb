package events

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
)

// Log holds the steps of a response in progress, for any number of readers. It is safe for concurrent use.
type Log struct {
	mu      sync.Mutex
	steps   []Step
	rest    []*rest // pieces beyond MaxPieces
	tracer  Tracer
	ended   bool
	changed chan struct{} // closed when steps are added
}

// rest joins the pieces of an output item that Log.Add holds back, so that even a huge number of them takes little
// memory.
type rest struct {
	first  Step // the first piece
	output Output
	text   strings.Builder
}

// NewLog returns an empty log.
func NewLog() *Log { return &Log{changed: make(chan struct{})} }

// Add appends a step. An Ended step must come last. Pieces beyond MaxPieces are held back until the response ends and
// then appended as one piece per output item.
func (l *Log) Add(s Step) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	if o, _, isPiece := outputOf(s); isPiece && len(l.tracer.Trace.Pieces) >= MaxPieces {
		l.hold(s, o)
		return
	}
	if s.Kind == Ended {
		l.release()
		l.ended = true
	}
	l.append(s)
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *Log) append(s Step) {
	l.tracer.Add(s)
	l.steps = append(l.steps, s)
}

func (l *Log) hold(s Step, o Output) {
	i := slices.IndexFunc(l.rest, func(r *rest) bool { return r.output == o })
	if i < 0 {
		i = len(l.rest)
		l.rest = append(l.rest, &rest{first: s, output: o})
	}
	l.rest[i].text.WriteString(s.Text + s.Call.Arguments)
}

// release appends the held-back pieces in output item order, with new items last.
func (l *Log) release() {
	place := func(r *rest) int {
		if i := slices.Index(l.tracer.Output, r.output); i >= 0 {
			return i
		}
		return len(l.tracer.Output)
	}
	slices.SortStableFunc(l.rest, func(a, b *rest) int { return cmp.Compare(place(a), place(b)) })
	for _, r := range l.rest {
		s := r.first
		if s.Kind == Text {
			s.Text = r.text.String()
		} else {
			s.Call.Arguments = r.text.String()
		}
		l.append(s)
	}
	l.rest = nil
}

// Traced returns the trace and the output items for the steps so far.
func (l *Log) Traced() Tracer {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tracer
}

// Read returns the steps from number `from` on, waiting if there are none yet. `ended` means that no more will follow.
func (l *Log) Read(ctx context.Context, from int) (steps []Step, ended bool, err error) {
	for {
		l.mu.Lock()
		steps, ended = l.steps[min(from, len(l.steps)):], l.ended
		changed := l.changed
		l.mu.Unlock()
		if len(steps) > 0 || ended {
			return steps, ended, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
	}
}
