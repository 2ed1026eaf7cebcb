package natsd

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
)

// logger passes the server's warnings and errors to slog and drops all other messages.
type logger struct {
	log *slog.Logger

	mu        sync.Mutex
	cause     error         // the first fatal error
	hasFailed bool          // whether a write has failed since the last call to begin
	broken    chan struct{} // closed once a write has failed
	// recovering holds the names of streams whose recovery has begun but not ended.
	recovering map[string]bool
}

func newLogger(log *slog.Logger) *logger { return &logger{log: log, broken: make(chan struct{})} }

// begin resets the state before a server starts.
func (l *logger) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cause, l.recovering = nil, map[string]bool{}
	if l.hasFailed {
		l.hasFailed, l.broken = false, make(chan struct{})
	}
}

// writeFailures lists substrings of the server's log messages about failed writes. The log is the only sign of them:
// the server keeps answering other requests and just stops acknowledging messages for the affected stream.
var writeFailures = []string{"Critical write error", "failed to store a msg", "will be DISABLED", "disabling JetStream"}

func (l *logger) notice(text string) {
	for _, b := range writeFailures {
		if !strings.Contains(text, b) {
			continue
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if !l.hasFailed {
			l.hasFailed = true
			close(l.broken)
		}
		return
	}
}

// writeFailed returns a channel that is closed once a write has failed.
func (l *logger) writeFailed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.broken
}

func (l *logger) isBroken() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hasFailed
}

// ignoredWarnings lists substrings of server warnings that are of no concern to Sluice's operators.
var ignoredWarnings = []string{
	"SyncAlways", // a remark about an intended setting
	"Plaintext passwords detected",
	"Filestore [", // recovery of the store after a kill; complete when this is logged
}

// Prefixes, up to the stream's name, of the format strings for the server's log messages about a stream's recovery.
const (
	recoveryBegins = "Starting restore for stream '%s > %s'"
	recoveryEnded  = "Restored %s messages for stream '%s > %s'"
)

// Noticef drops the message, but keeps track of streams being recovered.
func (l *logger) Noticef(format string, v ...any) {
	format = strings.TrimSpace(format)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case strings.HasPrefix(format, recoveryBegins) && len(v) >= 2 && l.recovering != nil:
		l.recovering[fmt.Sprint(v[1])] = true
	case strings.HasPrefix(format, recoveryEnded) && len(v) >= 3:
		delete(l.recovering, fmt.Sprint(v[2]))
	}
}

// unrecovered returns the names of streams whose recovery has begun but not ended.
func (l *logger) unrecovered() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.recovering))
}

func (l *logger) Debugf(string, ...any) {}
func (l *logger) Tracef(string, ...any) {}

func (l *logger) Warnf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	l.notice(text)
	for _, n := range ignoredWarnings {
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

// Fatalf records an error. The server calls it just before a start fails. Unlike log.Fatalf, it does not exit the
// process.
func (l *logger) Fatalf(format string, v ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cause == nil {
		l.cause = fmt.Errorf(format, v...)
	}
}

// fatal returns the error that prevented the start, or nil.
func (l *logger) fatal() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cause
}
