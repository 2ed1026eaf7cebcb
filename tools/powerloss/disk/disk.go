// Package disk simulates a disk with a volatile write cache: data written since the last flush may be lost when the
// power fails. The disk is served as a file, so that a file system can be mounted on it.
package disk

import (
	"io"
	"sync"
)

// Block is the size in bytes of a block, the unit that the disk stores and loses. It equals Linux's page size and
// ext4's block size.
const Block = 4096

// Sector is the number of bytes that the disk writes atomically. If the power fails while a block is being written,
// some of its sectors may have the old content and others the new.
const Sector = 512

// Maximum number of cached contents per block. Further writes to the block drop the oldest one, which then can't
// survive a power loss.
const maxVersions = 16

// content is a block's content, or nil for zeros. It is immutable: writes replace it.
type content []byte

// Disk is an in-memory disk. Its methods may be called concurrently.
type Disk struct {
	size int64

	mu      sync.Mutex
	durable map[int64]content   // flushed blocks by number; missing ones are all zeros
	cached  map[int64][]content // written since the last flush, by block number, oldest first
	atFlush func()              // called once, before the next flush with something to flush
}

// New returns a disk full of zeros. The size in bytes must be a multiple of Block.
func New(size int64) *Disk {
	return &Disk{size: size, durable: map[int64]content{}, cached: map[int64][]content{}}
}

// Size returns the size in bytes.
func (d *Disk) Size() int64 { return d.size }

// Unflushed returns the number of blocks written since the last flush.
func (d *Disk) Unflushed() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.cached)
}

// newest returns the content that a read of the block returns.
func (d *Disk) newest(block int64) content {
	if versions := d.cached[block]; len(versions) > 0 {
		return versions[len(versions)-1]
	}
	return d.durable[block]
}

// ReadAt implements io.ReaderAt.
func (d *Disk) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 || off >= d.size {
		return 0, io.EOF
	}
	if end := d.size - off; int64(len(p)) > end {
		p, err = p[:end], io.EOF
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for n < len(p) {
		block, from := (off+int64(n))/Block, (off+int64(n))%Block
		part := p[n:min(len(p), n+int(Block-from))]
		if c := d.newest(block); c == nil {
			clear(part)
		} else {
			copy(part, c[from:])
		}
		n += len(part)
	}
	return n, err
}

// WriteAt implements io.WriterAt. The data is cached until the next flush.
func (d *Disk) WriteAt(p []byte, off int64) (n int, err error) {
	if off < 0 || off+int64(len(p)) > d.size {
		return 0, io.ErrShortWrite
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.each(off, int64(len(p)), func(block, from, to int64) {
		c := make(content, Block)
		if to-from < Block {
			copy(c, d.newest(block))
		}
		n += copy(c[from:to], p[n:])
		d.cache(block, c)
	})
	return n, nil
}

// Zero makes a hole: it replaces `length` bytes with zeros. Like a write, it is cached until the next flush.
func (d *Disk) Zero(off, length int64) error {
	if off < 0 || length < 0 || length > d.size-off {
		return io.ErrShortWrite
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.each(off, length, func(block, from, to int64) {
		old := d.newest(block)
		switch {
		case old == nil: // already zero
		case to-from == Block:
			d.cache(block, nil)
		default:
			c := append(content(nil), old...)
			clear(c[from:to])
			d.cache(block, c)
		}
	})
	return nil
}

// each calls f for every block in a range, with the part of the block that is in it.
func (d *Disk) each(off, length int64, f func(block, from, to int64)) {
	for end := off + length; off < end; {
		block, from := off/Block, off%Block
		to := min(Block, from+end-off)
		f(block, from, to)
		off += to - from
	}
}

func (d *Disk) cache(block int64, c content) {
	versions := d.cached[block]
	if len(versions) == maxVersions {
		versions = append(versions[:0:0], versions[1:]...)
	}
	d.cached[block] = append(versions, c)
}

// Flush makes all previous writes durable.
func (d *Disk) Flush() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f := d.atFlush; f != nil && len(d.cached) > 0 {
		d.atFlush = nil
		f()
	}
	for block := range d.cached {
		d.durable[block] = d.newest(block)
		if d.durable[block] == nil {
			delete(d.durable, block)
		}
	}
	clear(d.cached)
}
