package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"
)

// eventStreamType names the charset although server-sent events are always UTF-8: Python's requests and other clients decode text
// without a charset as ISO 8859-1, HTTP's old default.
const eventStreamType = "text/event-stream; charset=utf-8"

// eventStream writes server-sent events (HTML standard, section 9.2). It opens with the first event or heartbeat, so
// that what fails before is a plain HTTP error. It is safe for concurrent use.
type eventStream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration

	mu     sync.Mutex
	opened bool
	last   time.Time // of the last write
}

func newEventStream(w http.ResponseWriter, timeout time.Duration) *eventStream {
	return &eventStream{w: w, control: http.NewResponseController(w), timeout: timeout}
}

// send writes one event; without a name it is data alone. Every line of the text is a data line of its own.
func (e *eventStream) send(name, data string) error {
	var text strings.Builder
	if name != "" {
		text.WriteString("event: " + name + "\n")
	}
	for line := range strings.SplitSeq(data, "\n") {
		text.WriteString("data: " + line + "\n")
	}
	text.WriteString("\n")
	return e.write(text.String())
}

// comment writes a line that clients ignore, which keeps the connection alive.
func (e *eventStream) comment(text string) error { return e.write(": " + text + "\n\n") }

func (e *eventStream) write(text string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	// A client that does not read must not hold the connection; recorders in tests have no deadline to set.
	_ = e.control.SetWriteDeadline(time.Now().Add(e.timeout))
	if !e.opened {
		h := e.w.Header()
		h.Set("Content-Type", eventStreamType)
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

func (e *eventStream) isOpen() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.opened
}

// silentFor is how long nothing has been written.
func (e *eventStream) silentFor() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return time.Since(e.last)
}

// keepAlive writes a comment when nothing was written for the interval, at the latest after two of them, until stop is
// called; stop waits for the last one.
func (e *eventStream) keepAlive(interval time.Duration) (stop func()) {
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
				if e.comment("keep-alive") != nil {
					return // the writer of events meets the same error
				}
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(done)
		<-ended
	})
}

// streamAnswer answers a turn as an event stream.
func (s *server) streamAnswer(ctx context.Context, w http.ResponseWriter, t *turn) error {
	events := newEventStream(w, s.opts.WriteTimeout)
	stop := events.keepAlive(s.opts.Heartbeat)
	defer stop()
	tokens := tokenWriter{hold: t.holds, send: func(text string) error { return events.send("answer", text) }}
	answer, err := t.ask(ctx, tokens.write)
	if err == nil {
		err = tokens.close()
	}
	if err == nil {
		err = sendResponse(events, answer)
	}
	if err == nil {
		return events.send("", "[DONE]")
	}
	stop() // after it only this function writes, and the stream stays as it is: open or not
	if !events.isOpen() || ctx.Err() != nil {
		return err
	}
	s.metrics.streamed.Inc()
	_ = tokens.close() // what the answerer had given before it failed
	// The status has been sent: whatever the error, the stream says so and ends.
	return events.send("", "[ERROR] "+oneLine(s.explain(ctx, err).Message))
}

// responsePiece bounds the data of one endpoint_response event.
const responsePiece = 16 << 10

// sendResponse writes the endpoint's whole response as JSON, in pieces.
func sendResponse(events *eventStream, answer AgentAnswer) error {
	encoded, err := json.Marshal(answer)
	if err != nil {
		return fmt.Errorf("encoding the answer: %w", err)
	}
	rest := string(encoded)
	for rest != "" {
		cut := min(len(rest), responsePiece)
		for cut < len(rest) && !utf8.RuneStart(rest[cut]) {
			cut--
		}
		for _, piece := range apart(rest[:cut]) {
			if err := events.send("endpoint_response", piece); err != nil {
				return err
			}
		}
		rest = rest[cut:]
	}
	return nil
}

// tokenWriter passes on pieces of text in such a way that clients get every character back.
//
// The most used client library drops the line break of an event whose data begins with one, so to its clients no event may
// begin so. A piece may, though, and what precedes it has been sent by then. So the last character is always held back: a
// line break that follows goes out behind it. It costs one character of delay, which other clients are spared.
type tokenWriter struct {
	send func(text string) error
	hold bool   // the client may be that library's
	held string // the last character before line breaks, and they
}

// mayDropLineBreaks reports whether a client may be that library's: it asks for an event stream by name, as few others do.
func mayDropLineBreaks(ctx context.Context) bool {
	c, ok := ctx.(*gin.Context)
	return ok && strings.Contains(strings.ToLower(c.GetHeader("Accept")), "text/event-stream")
}

func (t *tokenWriter) write(piece string) error {
	if !t.hold {
		return t.sendAll(piece)
	}
	text := t.held + piece
	cut := len(strings.TrimRight(text, "\n"))
	_, size := utf8.DecodeLastRuneInString(text[:cut])
	cut -= size
	t.held = text[cut:]
	return t.sendAll(text[:cut])
}

// close sends what was held back.
func (t *tokenWriter) close() error {
	held := t.held
	t.held = ""
	return t.sendAll(held)
}

func (t *tokenWriter) sendAll(text string) error {
	for _, piece := range apart(text) {
		if err := t.send(piece); err != nil {
			return err
		}
	}
	return nil
}

// apart splits a piece that a client would take for a mark of the protocol, in the middle of the mark.
func apart(piece string) []string {
	switch {
	case piece == "":
		return nil
	case piece == "[DONE]", strings.HasPrefix(piece, "[ERROR]"):
		return []string{piece[:1], piece[1:]}
	default:
		return []string{piece}
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
