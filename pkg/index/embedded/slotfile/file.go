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

// ExtentSlots is how many slots one memory mapping covers. A multiple of the page size times any record is one too.
const ExtentSlots = 4096

// extent is one memory-mapped part of a slot file.
type extent struct {
	data mmap.MMap
	// verified has a bit for each 64 slots whose records have been checked since the file was opened. What this process
	// writes later needs no check.
	verified atomic.Uint64
}

// Layout is how the records of a slot file lie.
type Layout struct {
	Payload int // bytes of a record before its checksum
	stride  int // bytes of a record
	// Columns is how many of its first bytes lie by columns, in groups of 64 records: the first byte of each, the second of each, and
	// so on, and behind them four bytes of each after the other, the checksums last. 0: records lie one after the other.
	Columns int
}

// Records is the shape of records of so many bytes, in steps of align.
func Records(payload, align int) Layout {
	return Layout{Payload: payload, stride: (payload + 4 + align - 1) / align * align}
}

// Columns is the shape of records of so many bytes, of which the first lie by columns.
func Columns(payload, columns int) Layout {
	s := Records(payload, columnsAlign)
	s.Columns = columns
	return s
}

// groupRows is how many records lie by columns together.
const groupRows = 64

// columnsAlign is of what a record that lies by columns is a multiple, so that no extent ends within a page.
const columnsAlign = 8

// View is the part of a slot file that a snapshot sees. It is immutable.
type View struct {
	Layout
	extents []*extent
}

// Group returns the records of the w-th 64 slots, unchecked.
func (v View) Group(w int) []byte {
	at := w * 64 % ExtentSlots * v.stride
	return v.extents[w*64/ExtentSlots].data[at : at+64*v.stride : at+64*v.stride]
}

// Uint32 returns the i-th of a group's records' four bytes that lie behind so many bytes.
func (v View) Uint32(group []byte, i, behind int) uint32 {
	return binary.LittleEndian.Uint32(group[64*behind+4*i:])
}

// Record returns a slot's payload, unchecked, of records that lie one after the other.
func (v View) Record(slot uint32) []byte {
	at := int(slot%ExtentSlots) * v.stride
	return v.extents[slot/ExtentSlots].data[at : at+v.Payload : at+v.Payload]
}

// Check verifies the records of the live slots in the w-th group of 64, once per opening of the file.
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

// File is a file of equal records, one per slot, written by one writer and read through memory mappings.
type File struct {
	Path string
	file *os.File
	View View
}

// Open opens the file for a number of committed slots. A file that is too short for them is corrupt; what lies
// beyond them was never committed and is cut off.
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
		return nil, fmt.Errorf("%w: the vector file has %d bytes, %d slots need %d", index.ErrCorrupt, info.Size(), slots, want)
	}
	extents := (int(slots) + ExtentSlots - 1) / ExtentSlots
	if err := f.file.Truncate(int64(extents) * f.extentBytes()); err != nil {
		return nil, fmt.Errorf("cutting vector file to its committed size: %w", err)
	}
	for range extents {
		if err := f.mapNext(); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Create makes an empty file in place of whatever lies there.
func Create(path string, of Layout) (*File, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("removing an abandoned vector file: %w", err)
	}
	return Open(path, of, 0)
}

func (f *File) extentBytes() int64 { return ExtentSlots * int64(f.View.stride) }

// mapNext maps the extent after the last one; the file must have it.
func (f *File) mapNext() error {
	n := len(f.View.extents)
	data, err := mmap.MapRegion(f.file, int(f.extentBytes()), mmap.RDONLY, 0, int64(n)*f.extentBytes())
	if err != nil {
		return fmt.Errorf("mapping vector file: %w", err)
	}
	// Appending never changes what older views see: they have their own length.
	f.View.extents = append(f.View.extents, &extent{data: data})
	return nil
}

// Grow makes room for a number of slots.
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

// Write stores the records of slots in ascending order; neighbours go in one call. payloads[i] belongs to slots[i].
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

// writeGroups is write where records lie by columns. What else is in their groups is written again as it was: readers see no
// change in it, nor does a crash leave one.
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

// Append grows the file, writes records and makes them durable.
func (f *File) Append(slots []uint32, payloads [][]byte, end uint32) error {
	if err := f.Grow(end); err != nil {
		return err
	}
	if err := f.Write(slots, payloads); err != nil {
		return err
	}
	return f.Sync()
}

// Sync makes what was written durable.
func (f *File) Sync() error {
	if err := syncData(f.file); err != nil {
		return fmt.Errorf("syncing vector file: %w", err)
	}
	return nil
}

// Close unmaps and closes the file. No view of it may be used afterwards.
func (f *File) Close() error {
	var errs []error
	for _, e := range f.View.extents {
		errs = append(errs, e.data.Unmap())
	}
	f.View.extents = nil
	return errors.Join(append(errs, f.file.Close())...)
}

// Put puts the i-th of groupRows records to its place in a group that lies by columns: one byte of each after the other for so many
// columns, and then four bytes of each after the other. The rest of a record behind its columns is a multiple of four bytes.
func Put(group []byte, columns, i int, record []byte) {
	for c, b := range record[:columns] {
		group[c*groupRows+i] = b
	}
	for at := columns; at < len(record); at += 4 {
		copy(group[at*groupRows+4*i:], record[at:at+4])
	}
}

// Take reads what putRecord has put, as much of it as record has room for.
func Take(record, group []byte, columns, i int) {
	for c := range record[:columns] {
		record[c] = group[c*groupRows+i]
	}
	for at := columns; at < len(record); at += 4 {
		copy(record[at:at+4], group[at*groupRows+4*i:])
	}
}
