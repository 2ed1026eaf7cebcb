package natsd

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
)

// logger passes the server's warnings and errors on to slog and drops the rest.
type logger struct {
	log *slog.Logger

	mu      sync.Mutex
	lastErr string
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
	for _, n := range noise {
		if strings.Contains(text, n) {
			l.log.Debug("NATS server", "detail", text)
			return
		}
	}
	l.log.Warn("NATS server", "detail", text)
}

func (l *logger) Errorf(format string, v ...any) { l.fail(fmt.Sprintf(format, v...)) }
func (l *logger) Fatalf(format string, v ...any) { l.fail(fmt.Sprintf(format, v...)) }

func (l *logger) fail(text string) {
	l.mu.Lock()
	l.lastErr = text
	l.mu.Unlock()
	l.log.Error("NATS server", "detail", text)
}

// last returns the last thing that went wrong, for the error of a start that did not succeed.
func (l *logger) last() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lastErr == "" {
		return nil
	}
	return errors.New(l.lastErr)
}
