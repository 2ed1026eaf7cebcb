// Package slotfile stores one fixed-length record for each of a space's slots. Searches read the file through memory
// maps.
//
// A record is a payload and its checksum (4 bytes), padded to an alignment. In a columnar layout, each group of 64
// records is transposed: the first bytes of all 64 records come first, then their second bytes, and so on. This way,
// one vector instruction can read the same byte of many records.
package slotfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"os"
	"sync/atomic"

	"github.com/edsrzf/mmap-go"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/checksum"
)

// ExtentSlots is the number of slots per memory map. It is a multiple of the page size, so maps start at page
// boundaries regardless of the record size.
const ExtentSlots = 4096

// extent is one memory map of a slot file.
type extent struct {
	data mmap.MMap
	// One bit per group of 64 slots, set once the group's checksums have been verified. Records that this process writes
	// later are not verified.
	verified atomic.Uint64
}

// Layout describes how a file's records are stored.
type Layout struct {
	Payload int // bytes per record, without checksum and padding
	stride  int // bytes per record, with checksum and padding
	// Columns is the number of leading bytes per record that are transposed one by one, in groups of 64 records. The
	// remaining payload is transposed in units of four bytes, and the checksums come last. 0 means that records are not
	// transposed.
	Columns int
}

// Records returns a layout with contiguous records. The payload and the alignment are in bytes.
func Records(payload, align int) Layout {
	return Layout{Payload: payload, stride: (payload + 4 + align - 1) / align * align}
}

// Columns returns a columnar layout with a payload of the given length in bytes. `columns` is the number of leading
// bytes that are transposed one by one.
func Columns(payload, columns int) Layout {
	s := Records(payload, columnsAlign)
	s.Columns = columns
	return s
}

const (
	// Number of records transposed together.
	groupRows = 64
	// Alignment of transposed records in bytes. It makes extents end at a page boundary.
	columnsAlign = 8
)

// View is an immutable view of a file for one snapshot.
type View struct {
	Layout
	extents []*extent
}

// Group returns the records of slots 64w to 64w+63 without verifying them.
func (v View) Group(w int) []byte {
	at := w * 64 % ExtentSlots * v.stride
	return v.extents[w*64/ExtentSlots].data[at : at+64*v.stride : at+64*v.stride]
}

// Uint32 returns the four bytes at `offset` in the i-th record of a transposed group. `offset` must be a multiple of
// four and beyond the columns.
func (v View) Uint32(group []byte, i, offset int) uint32 {
	return binary.LittleEndian.Uint32(group[64*offset+4*i:])
}

// Record returns a slot's payload without verifying it. The layout must not be columnar.
func (v View) Record(slot uint32) []byte {
	at := int(slot%ExtentSlots) * v.stride
	return v.extents[slot/ExtentSlots].data[at : at+v.Payload : at+v.Payload]
}

// Check verifies the checksums of the live slots among 64w to 64w+63, unless this was already done since the file was
// opened. It returns index.ErrCorrupt if a checksum does not match.
func (v View) Check(w int, live uint64) error {
	e := v.extents[w*64/ExtentSlots]
	bit := uint64(1) << (w % (ExtentSlots / 64))
	if e.verified.Load()&bit != 0 {
		return nil
	}
	group := v.Group(w)
	var taken []byte
	if v.Columns > 0 {
		taken = make([]byte, v.Payload+4)
	}
	for m := live; m != 0; m &= m - 1 {
		i := bits.TrailingZeros64(m)
		slot, rec := uint32(w*64+i), taken
		if v.Columns > 0 {
			Take(rec, group, v.Columns, i)
		} else {
			rec = group[i*v.stride : (i+1)*v.stride]
		}
		if checksum.Of(int64(slot), rec[:v.Payload]) != binary.LittleEndian.Uint32(rec[v.Payload:]) {
			return fmt.Errorf("%w: the vector in slot %d does not match its checksum", index.ErrCorrupt, slot)
		}
	}
	e.verified.Or(bit)
	return nil
}

// File is a slot file open for writing by a single writer. Readers use its views.
type File struct {
	Path string
	View View // all records written so far
	file *os.File
}

// Open opens a space's file and removes records beyond the given number of committed slots. If `slots` is 0, a missing
// file is created. Otherwise, a file that is missing or too short yields index.ErrCorrupt.
func Open(path string, of Layout, slots uint32) (_ *File, err error) {
	f := &File{Path: path, View: View{Layout: of}}
	flags := os.O_RDWR
	if slots == 0 {
		flags |= os.O_CREATE
	}
	if f.file, err = os.OpenFile(path, flags, 0o600); err != nil {
		if slots > 0 && errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w: the vector file is missing: %w", index.ErrCorrupt, err)
		}
		return nil, fmt.Errorf("opening vector file: %w", err)
	}
	defer func() {
		if err != nil {
			_ = f.Close()
		}
	}()
	info, err := f.file.Stat()
	if err != nil {
		return nil, fmt.Errorf("reading size of vector file: %w", err)
	}
	if want := int64(slots) * int64(of.stride); info.Size() < want {
		return nil, fmt.Errorf("%w: the vector file has %d bytes, but %d slots need %d", index.ErrCorrupt, info.Size(), slots, want)
	}
	extents := (int(slots) + ExtentSlots - 1) / ExtentSlots
	if err := f.file.Truncate(int64(extents) * f.extentBytes()); err != nil {
		return nil, fmt.Errorf("truncating the vector file to its committed size: %w", err)
	}
	for range extents {
		if err := f.mapNext(); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Create creates an empty file, replacing any existing one.
func Create(path string, of Layout) (*File, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("removing an abandoned vector file: %w", err)
	}
	return Open(path, of, 0)
}

func (f *File) extentBytes() int64 { return ExtentSlots * int64(f.View.stride) }

// mapNext maps the file's next extent. The file must already be long enough.
func (f *File) mapNext() error {
	n := len(f.View.extents)
	data, err := mmap.MapRegion(f.file, int(f.extentBytes()), mmap.RDONLY, 0, int64(n)*f.extentBytes())
	if err != nil {
		return fmt.Errorf("mapping vector file: %w", err)
	}
	// Snapshots' views have their own lengths, so appending doesn't affect them.
	f.View.extents = append(f.View.extents, &extent{data: data})
	return nil
}

// Grow extends the file to the given number of slots.
func (f *File) Grow(slots uint32) error {
	for len(f.View.extents)*ExtentSlots < int(slots) {
		if err := f.file.Truncate(int64(len(f.View.extents)+1) * f.extentBytes()); err != nil {
			return fmt.Errorf("growing vector file: %w", err)
		}
		if err := f.mapNext(); err != nil {
			return err
		}
	}
	return nil
}

// Write writes payloads[i] to slots[i]. The slots must be ascending; adjacent ones share a write call.
func (f *File) Write(slots []uint32, payloads [][]byte) error {
	if f.View.Columns > 0 {
		return f.writeGroups(slots, payloads)
	}
	for i := 0; i < len(slots); {
		end := i + 1
		for end < len(slots) && slots[end] == slots[end-1]+1 {
			end++
		}
		buf := make([]byte, (end-i)*f.View.stride)
		for j := i; j < end; j++ {
			rec := buf[(j-i)*f.View.stride:]
			copy(rec, payloads[j])
			binary.LittleEndian.PutUint32(rec[f.View.Payload:], checksum.Of(int64(slots[j]), payloads[j]))
		}
		if _, err := f.file.WriteAt(buf, int64(slots[i])*int64(f.View.stride)); err != nil {
			return fmt.Errorf("writing vectors: %w", err)
		}
		i = end
	}
	return nil
}

// writeGroups implements Write for columnar layouts. It writes whole groups: the other records in a group are rewritten
// with the same bytes, so readers don't notice, and a crash can't damage them.
func (f *File) writeGroups(slots []uint32, payloads [][]byte) error {
	record := make([]byte, f.View.Payload+4)
	for i := 0; i < len(slots); {
		var buf []byte
		first := int(slots[i] / 64)
		for w := first; i < len(slots) && int(slots[i]/64) == w; w++ {
			from := len(buf)
			buf = append(buf, f.View.Group(w)...)
			for ; i < len(slots) && int(slots[i]/64) == w; i++ {
				copy(record, payloads[i])
				binary.LittleEndian.PutUint32(record[f.View.Payload:], checksum.Of(int64(slots[i]), payloads[i]))
				Put(buf[from:], f.View.Columns, int(slots[i]%64), record)
			}
		}
		if _, err := f.file.WriteAt(buf, int64(first)*64*int64(f.View.stride)); err != nil {
			return fmt.Errorf("writing codes: %w", err)
		}
	}
	return nil
}

// Append extends the file to the given number of slots, writes the records like Write, and syncs the file.
func (f *File) Append(slots []uint32, payloads [][]byte, end uint32) error {
	if err := f.Grow(end); err != nil {
		return err
	}
	if err := f.Write(slots, payloads); err != nil {
		return err
	}
	return f.Sync()
}

// Sync makes all writes durable.
func (f *File) Sync() error {
	if err := syncData(f.file); err != nil {
		return fmt.Errorf("syncing vector file: %w", err)
	}
	return nil
}

// Close unmaps and closes the file, which may be nil. Its views must not be used afterwards.
func (f *File) Close() error {
	if f == nil {
		return nil
	}
	var errs []error
	for _, e := range f.View.extents {
		errs = append(errs, e.data.Unmap())
	}
	f.View.extents = nil
	return errors.Join(append(errs, f.file.Close())...)
}

// Put stores the i-th of 64 records in a transposed group: the first `columns` bytes one by one and the rest in units
// of four, each next to its counterparts in other records. The rest must be a multiple of four bytes.
func Put(group []byte, columns, i int, record []byte) {
	for c, b := range record[:columns] {
		group[c*groupRows+i] = b
	}
	for at := columns; at < len(record); at += 4 {
		copy(group[at*groupRows+4*i:], record[at:at+4])
	}
}

// Take fills `record` with the leading bytes of the i-th record in a transposed group.
func Take(record, group []byte, columns, i int) {
	for c := range record[:columns] {
		record[c] = group[c*groupRows+i]
	}
	for at := columns; at < len(record); at += 4 {
		copy(record[at:at+4], group[at*groupRows+4*i:])
	}
}
