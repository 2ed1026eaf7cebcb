package sandbox

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
)

// Parent and child speak in frames over the child's standard input and output: four bytes of length, big-endian,
// one byte that says what follows, and a JSON value.

type frameKind byte

const (
	frameRequest  frameKind = 'R' // to the child: childRequest
	frameAccepted frameKind = 'A' // from the child: []string, what it could not give up; it has taken the document
	frameBlocks   frameKind = 'B' // from the child: []domain.Block, as many frames as it takes
	frameSpent    frameKind = 'S' // from the child: true; it is not to be given another document
	frameDocument frameKind = 'D' // from the child: domain.Document without blocks; the end
	frameRefusal  frameKind = 'E' // from the child: Error; the end
	frameFault    frameKind = 'F' // from the child: a string, why it could not do its work; the end
)

// maxFrame bounds what a reader of the protocol allocates for one frame.
const maxFrame = 16 << 20

// batchBytes is about how much text the child gathers into one frame of blocks.
const batchBytes = 256 << 10

// Request is one document for a child to read.
type Request struct {
	Path       string        `json:"path"` // where files cannot be handed over; "" elsewhere
	Name       string        `json:"name"`
	Declared   string        `json:"declared"`
	URL        string        `json:"url"`
	PlainRows  bool          `json:"plain_rows"`
	CPUSeconds uint64        `json:"cpu_seconds"` // processor time this document may use
	Limits     format.Limits `json:"limits"`
}

// refusal carries an *Error with its cause as text.
type refusal struct {
	Kind    format.Kind `json:"kind"`
	Message string      `json:"message"`
	Cause   string      `json:"cause,omitempty"`
}

func newRefusal(e *format.Error) refusal {
	const maxMessage, maxCause = 1 << 10, 16 << 10 // a panic's value and stack can be of any length
	r := refusal{Kind: e.Kind, Message: format.Cut(e.Message, maxMessage)}
	if e.Err != nil {
		r.Cause = format.Cut(strings.ToValidUTF8(e.Err.Error(), "\uFFFD"), maxCause)
	}
	return r
}

func (r refusal) err() *format.Error {
	e := &format.Error{Kind: r.Kind, Message: r.Message}
	if r.Cause != "" {
		e.Err = errors.New(r.Cause)
	}
	return e
}

func writeFrame(w io.Writer, kind frameKind, v any) error {
	var buf bytes.Buffer
	buf.Write([]byte{0, 0, 0, 0, byte(kind)})
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encoding a frame: %w", err)
	}
	b := buf.Bytes()
	if len(b)-5 > maxFrame {
		return fmt.Errorf("a frame of %d bytes is too large", len(b)-5)
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-5))
	if _, err := w.Write(b); err != nil {
		return fmt.Errorf("writing a frame: %w", err)
	}
	return nil
}

// readFrame returns io.EOF, unwrapped, when the other side has closed between frames.
func readFrame(r io.Reader) (frameKind, []byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		if errors.Is(err, io.EOF) {
			return 0, nil, io.EOF
		}
		return 0, nil, fmt.Errorf("reading a frame's head: %w", err)
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > maxFrame {
		return 0, nil, fmt.Errorf("a frame of %d bytes is too large", n)
	}
	payload := make([]byte, n)
	if _, err := io.ReadFull(r, payload); err != nil {
		return 0, nil, fmt.Errorf("reading a frame: %w", err)
	}
	return frameKind(head[4]), payload, nil
}

// blockBatch gathers blocks into frames of useful size.
type blockBatch struct {
	w      io.Writer
	blocks []domain.Block
	bytes  int
}

func (b *blockBatch) add(block domain.Block) error {
	b.blocks = append(b.blocks, block)
	b.bytes += len(block.Text) + 64
	for _, l := range block.Links {
		b.bytes += len(l.Text) + len(l.URL) + 16
	}
	if b.bytes < batchBytes {
		return nil
	}
	return b.flush()
}

func (b *blockBatch) flush() error {
	if len(b.blocks) == 0 {
		return nil
	}
	err := writeFrame(b.w, frameBlocks, b.blocks)
	clear(b.blocks)
	b.blocks, b.bytes = b.blocks[:0], 0
	return err
}
