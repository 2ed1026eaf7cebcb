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

// Parent and child exchange frames over the child's standard input and output. A frame consists of a length (four
// bytes, big-endian), a kind (one byte) and a JSON value.

type frameKind byte

const (
	frameRequest    frameKind = 'R' // to the child: Request
	frameAccepted   frameKind = 'A' // from the child: []string, rights it could not give up; sent on each request
	frameBlocks     frameKind = 'B' // from the child: []domain.Block, in any number of frames
	frameSpent      frameKind = 'S' // from the child: true if the child must be replaced after this document
	frameDocument   frameKind = 'D' // from the child: domain.Document without blocks; ends the answer
	framePicture    frameKind = 'P' // from the child: []byte, a picture, or for OCR its angle; ends the answer
	frameRectangles frameKind = 'L' // from the child: [][][]domain.PageRectangle, for passages; ends the answer
	frameRefusal    frameKind = 'E' // from the child: Error; ends the answer
	frameFault      frameKind = 'F' // from the child: a string, the error that prevented reading; ends the answer
)

// maxFrame is the maximum size of a frame, in bytes.
const maxFrame = 16 << 20

// batchBytes is the approximate amount of text per frame of blocks, in bytes.
const batchBytes = 256 << 10

// Request asks a child to read a document, render one of its pages, or locate passages in it.
type Request struct {
	Path       string        `json:"path"` // only on systems that cannot pass open files; "" elsewhere
	Name       string        `json:"name"`
	Declared   string        `json:"declared"`
	URL        string        `json:"url"`
	PlainRows  bool          `json:"plain_rows"`
	CPUSeconds uint64        `json:"cpu_seconds"` // CPU time limit
	Page       int           `json:"page"`        // page to draw, from 1; 0 means read the document
	Limits     format.Limits `json:"limits"`

	Passages []format.Passage `json:"passages,omitempty"` // passages to locate; none means read the document

	Scan  bool         `json:"scan,omitempty"` // write the page's picture for OCR instead of drawing it
	Turn  int          `json:"turn,omitempty"` // clockwise quarter turns for that picture
	Scans format.Scans `json:"scans"`          // what to do with pages that need OCR
	// Recognised means that the child's folder holds recognised text of scanned pages.
	Recognised bool `json:"recognised,omitempty"`
}

// refusal is the wire format of an *Error, with the cause as text.
type refusal struct {
	Kind    format.Kind `json:"kind"`
	Message string      `json:"message"`
	Cause   string      `json:"cause,omitempty"`
	Pages   []int       `json:"pages,omitempty"`
}

func newRefusal(e *format.Error) refusal {
	const maxMessage, maxCause = 1 << 10, 16 << 10 // in bytes; a panic's value and stack may have any length
	r := refusal{Kind: e.Kind, Message: format.Cut(e.Message, maxMessage), Pages: e.Pages}
	if e.Err != nil {
		r.Cause = format.Cut(strings.ToValidUTF8(e.Err.Error(), "\uFFFD"), maxCause)
	}
	return r
}

func (r refusal) err() *format.Error {
	e := &format.Error{Kind: r.Kind, Message: r.Message, Pages: r.Pages}
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

// readFrame reads one frame. It returns plain io.EOF if the other side closed the pipe between two frames.
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

// blockBatch collects blocks and writes them in frames of about batchBytes.
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
