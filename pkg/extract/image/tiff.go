package image

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A TIFF file starts with the byte order, a magic number and the first directory's offset. Each directory describes a
// page and holds the next one's offset (TIFF 6.0, section 2).
const (
	headerBytes    = 8
	offsetAt       = 4 // position of the first directory's offset
	entryBytes     = 12
	maxDirectories = 20_000
)

// header is the start of a TIFF file, up to and including a directory's offset.
type header [headerBytes]byte

func (h header) order() binary.ByteOrder {
	if h[0] == 'M' {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// directories returns, for each page in a TIFF file, a copy of the file's header that points to that page. If this copy
// replaces the original header, that page becomes the first page in the file.
func directories(data io.ReaderAt, size int64) ([]header, error) {
	var first header
	if _, err := data.ReadAt(first[:], 0); err != nil {
		return nil, fmt.Errorf("reading the header: %w", err)
	}
	order := first.order()
	var pages []header
	seen := map[uint32]bool{}
	for at := order.Uint32(first[offsetAt:]); at != 0; {
		if seen[at] || int64(at) >= size || len(pages) == maxDirectories {
			break // a loop or a truncated file: keep the pages read so far
		}
		seen[at] = true
		var count [2]byte
		if _, err := data.ReadAt(count[:], int64(at)); err != nil {
			break
		}
		page := first
		order.PutUint32(page[offsetAt:], at)
		pages = append(pages, page)
		var next [4]byte
		if _, err := data.ReadAt(next[:], int64(at)+2+int64(order.Uint16(count[:]))*entryBytes); err != nil {
			break
		}
		at = order.Uint32(next[:])
	}
	if len(pages) == 0 {
		return nil, errors.New("there is no page")
	}
	return pages, nil
}

// startingAt is a TIFF file with its header replaced.
type startingAt struct {
	io.ReaderAt
	header header
}

// ReadAt implements io.ReaderAt.
func (f startingAt) ReadAt(p []byte, at int64) (int, error) {
	n, err := f.ReaderAt.ReadAt(p, at)
	if at < headerBytes {
		copy(p[:n], f.header[at:])
	}
	return n, err
}
