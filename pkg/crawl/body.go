package crawl

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/sluice/sluice/pkg/bounded"
)

// Maximum size in bytes of a body in memory. Longer bodies go to a temporary file.
const memoryBody = 1 << 20

// Body is the fetched content, decompressed but still in the server's character encoding. It is in memory or in a
// temporary file, which Close removes.
type Body struct {
	io.ReadSeeker
	size int64
	mem  []byte // the whole body if it is in memory
	file *os.File
	path string // the file's name; "" once it has been removed
}

// Size returns the size in bytes.
func (b *Body) Size() int64 { return b.size }

// Close removes the temporary file. It may be called more than once and on a nil Body.
func (b *Body) Close() error {
	if b == nil || b.file == nil {
		return nil
	}
	err := b.file.Close()
	if b.path != "" {
		err = errors.Join(err, os.Remove(b.path))
	}
	b.file, b.ReadSeeker = nil, bytes.NewReader(nil)
	return err
}

func (b *Body) rewind() error {
	_, err := b.Seek(0, io.SeekStart)
	return err
}

// head returns the first n bytes, or the whole body if it is shorter, and rewinds the body. The caller must not modify
// the bytes.
func (b *Body) head(n int) ([]byte, error) {
	if b.mem != nil {
		return b.mem[:min(n, len(b.mem))], b.rewind()
	}
	p := make([]byte, min(int64(n), b.size))
	if _, err := io.ReadFull(b, p); err != nil {
		return nil, fmt.Errorf("reading the stored body: %w", err)
	}
	return p, b.rewind()
}

// spool stores r's content. It returns bounded.ErrTooLarge if r has more than `limit` bytes. `expected` is a size hint;
// 0 means unknown.
func spool(r io.Reader, expected, limit int64, dir string) (*Body, error) {
	r = bounded.NewReader(r, limit)
	var mem bytes.Buffer
	if expected > 0 {
		mem.Grow(int(min(expected, memoryBody)) + bytes.MinRead)
	}
	_, err := io.CopyN(&mem, r, memoryBody)
	if errors.Is(err, io.EOF) {
		return &Body{ReadSeeker: bytes.NewReader(mem.Bytes()), size: int64(mem.Len()), mem: mem.Bytes()}, nil
	}
	if err != nil {
		return nil, err
	}
	return spoolFile(io.MultiReader(&mem, r), dir)
}

func spoolFile(r io.Reader, dir string) (_ *Body, err error) {
	f, err := os.CreateTemp(dir, "sluice-crawl-*")
	if err != nil {
		return nil, fmt.Errorf("storing the body: %w", err)
	}
	b := &Body{ReadSeeker: f, file: f, path: f.Name()}
	// Unlink the file right away where the OS allows it, so that a killed process leaves nothing behind.
	if os.Remove(b.path) == nil {
		b.path = ""
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Close())
		}
	}()
	if b.size, err = io.Copy(f, r); err != nil {
		return nil, err
	}
	return b, b.rewind()
}
