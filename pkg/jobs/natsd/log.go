package natsd

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
)

// logger passes the server's warnings and errors on to slog and drops the rest.
type logger struct {
	log *slog.Logger

	mu      sync.Mutex
	cause   error         // the first thing that the server cannot go on after
	refused bool          // the disk has refused a write since begin
	broken  chan struct{} // closed once it has
	damaged []consumer    // whose state on disk the server that was started last cannot read
}

// consumer is where a consumer's state lies.
type consumer struct{ account, stream, name string }

func newLogger(log *slog.Logger) *logger { return &logger{log: log, broken: make(chan struct{})} }

// begin forgets what was, for a server that is started.
func (l *logger) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cause, l.damaged = nil, nil
	if l.refused {
		l.refused, l.broken = false, make(chan struct{})
	}
}

// breaks are parts of what the server says when a write has failed. Nothing else tells: it goes on to answer, leaves who
// sent the message without one, and takes nothing more for that stream.
var breaks = []string{"Critical write error", "failed to store a msg", "will be DISABLED", "disabling JetStream"}

func (l *logger) notice(text string) {
	for _, b := range breaks {
		if !strings.Contains(text, b) {
			continue
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if !l.refused {
			l.refused = true
			close(l.broken)
		}
		return
	}
}

// What the server says of a consumer that it cannot recover: then that is left out, and cannot be made either.
const (
	lostConsumer = "Error adding consumer '%s > %s > %s': %v"
	corruptState = "corrupt state file"
)

func (l *logger) noticeLost(format string, v []any) {
	if strings.TrimSpace(format) != lostConsumer || len(v) != 4 || !strings.Contains(fmt.Sprint(v[3]), corruptState) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.damaged = append(l.damaged, consumer{fmt.Sprint(v[0]), fmt.Sprint(v[1]), fmt.Sprint(v[2])})
}

// damagedConsumers are those whose state the server that was started last cannot read.
func (l *logger) damagedConsumers() []consumer {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.damaged)
}

// brokenOff is closed once a write has failed.
func (l *logger) brokenOff() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.broken
}

func (l *logger) isBroken() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused
}

// noise are the beginnings or parts of warnings that say nothing to whoever runs Sluice.
var noise = []string{
	"SyncAlways", // the server thinks aloud about what was asked for
	"Plaintext passwords detected",
	"Filestore [", // recovery of a store whose process was killed: done by the time it is said
}

func (l *logger) Noticef(string, ...any) {}
func (l *logger) Debugf(string, ...any)  {}
func (l *logger) Tracef(string, ...any)  {}

func (l *logger) Warnf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	l.notice(text)
	l.noticeLost(format, v)
	for _, n := range noise {
		if strings.Contains(text, n) {
			l.log.Debug("NATS server", "detail", text)
			return
		}
	}
	l.log.Warn("NATS server", "detail", text)
}

func (l *logger) Errorf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	l.notice(text)
	l.log.Error("NATS server", "detail", text)
}

// Fatalf is called before the server gives up its start; it does not end the process.
func (l *logger) Fatalf(format string, v ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cause == nil {
		l.cause = fmt.Errorf(format, v...)
	}
}

// fatal returns what kept the server from starting.
func (l *logger) fatal() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cause
}
