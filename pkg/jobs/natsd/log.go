package natsd

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
)

// logger passes the server's warnings and errors on to slog and drops the rest.
type logger struct {
	log *slog.Logger

	mu    sync.Mutex
	cause error // the first thing that the server cannot go on after
}

func newLogger(log *slog.Logger) *logger { return &logger{log: log} }

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
	for _, n := range noise {
		if strings.Contains(text, n) {
			l.log.Debug("NATS server", "detail", text)
			return
		}
	}
	l.log.Warn("NATS server", "detail", text)
}

func (l *logger) Errorf(format string, v ...any) {
	l.log.Error("NATS server", "detail", fmt.Sprintf(format, v...))
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
