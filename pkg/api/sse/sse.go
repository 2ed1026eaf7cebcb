// Package sse writes server-sent events (HTML standard, section 9.2) in such a way that clients receive every character
// of the text. It does not depend on the events' content; pkg/api may import it.
package sse

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// contentType specifies the charset even though server-sent events are always UTF-8. Otherwise Python's requests and
// other clients decode the text as ISO 8859-1, HTTP's old default.
const contentType = "text/event-stream; charset=utf-8"

// Stream writes server-sent events. It sends the HTTP header with the first event or heartbeat; until then, an error
// can be sent as a plain HTTP error. It is safe for concurrent use.
type Stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration

	mu     sync.Mutex
	opened bool
	last   time.Time // time of the last write
}

// New returns a stream to w. `timeout` is the time limit for writing an event.
func New(w http.ResponseWriter, timeout time.Duration) *Stream {
	return &Stream{w: w, control: http.NewResponseController(w), timeout: timeout}
}

// Event is a server-sent event. Every line in Data becomes a separate data field.
type Event struct {
	Name string // "" means no name
	Data string
}

func (e Event) write(text *strings.Builder) {
	if e.Name != "" {
		text.WriteString("event: " + e.Name + "\n")
	}
	for line := range strings.SplitSeq(e.Data, "\n") {
		text.WriteString("data: " + line + "\n")
	}
	text.WriteString("\n")
}

// Send writes one event. If the name is empty, the event has none.
func (e *Stream) Send(name, data string) error { return e.SendAll(Event{name, data}) }

// SendAll writes several events at once, so that they reach the client in one packet.
func (e *Stream) SendAll(events ...Event) error {
	var text strings.Builder
	for _, event := range events {
		event.write(&text)
	}
	return e.write(text.String())
}

// Comment writes a line that clients ignore, to keep the connection alive.
func (e *Stream) Comment(text string) error { return e.write(": " + text + "\n\n") }

func (e *Stream) write(text string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	// Disconnect a client that doesn't read. Ignore the error: test recorders have no deadlines.
	_ = e.control.SetWriteDeadline(time.Now().Add(e.timeout))
	if !e.opened {
		h := e.w.Header()
		h.Set("Content-Type", contentType)
		h.Set("Cache-Control", "no-cache")
		h.Set("X-Accel-Buffering", "no")
		e.w.WriteHeader(http.StatusOK)
		e.opened = true
	}
	if _, err := io.WriteString(e.w, text); err != nil {
		return fmt.Errorf("writing to the stream: %w", err)
	}
	if err := e.control.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("flushing the stream: %w", err)
	}
	e.last = time.Now()
	return nil
}

// SetHeader sets a response header. It has no effect once the stream is open.
func (e *Stream) SetHeader(name, value string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.opened {
		e.w.Header().Set(name, value)
	}
}

// IsOpen reports whether the status has been sent.
func (e *Stream) IsOpen() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.opened
}

func (e *Stream) silentFor() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return time.Since(e.last)
}

// KeepAlive writes a comment whenever the stream has been idle for the interval, so the stream is never silent for more
// than twice the interval. `stop` stops it and waits for any comment being written.
func (e *Stream) KeepAlive(interval time.Duration) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				if e.silentFor() < interval {
					continue
				}
				if e.Comment("keep-alive") != nil {
					return // the next event will fail with the same error
				}
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(done)
		<-ended
	})
}
