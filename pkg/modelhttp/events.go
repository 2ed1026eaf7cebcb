package modelhttp

import (
	"bufio"
	"errors"
	"io"
	"iter"

	"github.com/tmaxmax/go-sse"

	"github.com/sluice/sluice/pkg/bounded"
)

// MaxEvent is the maximum size of an event in a stream, in bytes, including comments and field names.
const MaxEvent = 1 << 20

// Event is one server-sent event.
type Event struct {
	Type string // "" if the server gave none
	Data string // never ""
}

// Events reads server-sent events until the stream ends. If reading fails, the last pair contains the error. This is
// bounded.ErrTooLarge if an event has more than MaxEvent bytes, and otherwise the error from reading `body`. Events
// skips events without data, and an incomplete event at the end of the stream.
func Events(body io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		noted := &errorRecorder{r: body}
		for e, err := range sse.Read(noted, &sse.ReadConfig{MaxEventSize: MaxEvent}) {
			switch {
			case errors.Is(err, sse.ErrUnexpectedEOF): // the parser's own error; use the body's error instead
				if err = noted.err; err == nil {
					return
				}
			case errors.Is(err, bufio.ErrTooLong):
				err = bounded.ErrTooLarge
			case err == nil && e.Data == "":
				continue
			}
			if !yield(Event{Type: e.Type, Data: e.Data}, err) || err != nil {
				return
			}
		}
	}
}

// errorRecorder is a reader that remembers the underlying reader's error.
type errorRecorder struct {
	r   io.Reader
	err error // never io.EOF
}

// Read implements io.Reader.
func (n *errorRecorder) Read(p []byte) (int, error) {
	read, err := n.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		n.err = err
	}
	return read, err
}
