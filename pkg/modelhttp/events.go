package modelhttp

import (
	"bufio"
	"errors"
	"io"
	"iter"

	"github.com/tmaxmax/go-sse"

	"github.com/sluice/sluice/pkg/bounded"
)

// MaxEvent is the size in bytes that one event of a stream may have, with its comments and the names of its fields.
const MaxEvent = 1 << 20

// Event is one event of a stream.
type Event struct {
	Type string // "" if the server gave none
	Data string // never ""
}

// Events reads server-sent events until the stream ends. An error is the last element: bounded.ErrTooLarge for an event of more than MaxEvent,
// else the body's. Events without data are left out, and so is what follows the last end of a line, because that event was cut off.
func Events(body io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		noted := &noting{r: body}
		for e, err := range sse.Read(noted, &sse.ReadConfig{MaxEventSize: MaxEvent}) {
			switch {
			case errors.Is(err, sse.ErrUnexpectedEOF): // of the parser, and returned instead of the body's error
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

// noting keeps the error of a reader.
type noting struct {
	r   io.Reader
	err error // never io.EOF
}

// Read implements io.Reader.
func (n *noting) Read(p []byte) (int, error) {
	read, err := n.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		n.err = err
	}
	return read, err
}
