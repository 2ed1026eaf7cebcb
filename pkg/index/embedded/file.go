package embedded

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
)

// extentSlots is how many slots one memory mapping covers. A multiple of the page size times any record is one too.
const extentSlots = 4096

// extent is one memory-mapped part of a slot file.
type extent struct {
	data mmap.MMap
	// verified has a bit for each 64 slots whose records have been checked since the file was opened. What this process
	// writes later needs no check.
	verified atomic.Uint64
}

// shape is how the records of a slot file lie.
type shape struct {
	payload int // bytes of a record before its checksum
	stride  int // bytes of a record
	// columns is how many of its first bytes lie by columns, in groups of 64 records: the first byte of each, the second of each, and
	// so on, and behind them four bytes of each after the other, the checksums last. 0: records lie one after the other.
	columns int
}

// recordsOf is the shape of records of so many bytes, in steps of align.
func recordsOf(payload, align int) shape {
	return shape{payload: payload, stride: (payload + 4 + align - 1) / align * align}
}

// columnsOf is the shape of records of so many bytes, of which the first lie by columns.
func columnsOf(payload, columns int) shape {
	s := recordsOf(payload, groupAlign)
	s.columns = columns
	return s
}

// groupRows is how many records lie by columns together.
const groupRows = 64

// groupAlign is of what a record that lies by columns is a multiple, so that no extent ends within a page.
const groupAlign = 8

// slotView is the part of a slot file that a snapshot sees. It is immutable.
type slotView struct {
	shape
	extents []*extent
}

// group returns the records of the w-th 64 slots, unchecked.
func (v slotView) group(w int) []byte {
	at := w * 64 % extentSlots * v.stride
	return v.extents[w*64/extentSlots].data[at : at+64*v.stride : at+64*v.stride]
}

// number returns the i-th of a group's records' four bytes that lie behind so many bytes.
func (v slotView) number(group []byte, i, behind int) uint32 {
	return binary.LittleEndian.Uint32(group[64*behind+4*i:])
}

// record returns a slot's payload, unchecked, of records that lie one after the other.
func (v slotView) record(slot uint32) []byte {
	at := int(slot%extentSlots) * v.stride
	return v.extents[slot/extentSlots].data[at : at+v.payload : at+v.payload]
}

// check verifies the records of the live slots in the w-th group of 64, once per opening of the file.
func (v slotView) check(w int, live uint64) error {
	e := v.extents[w*64/extentSlots]
	bit := uint64(1) << (w % (extentSlots / 64))
	if e.verified.Load()&bit != 0 {
		return nil
	}
	group := v.group(w)
	var taken []byte
	if v.columns > 0 {
		taken = make([]byte, v.payload+4)
	}
	for m := live; m != 0; m &= m - 1 {
		i := bits.TrailingZeros64(m)
		slot, rec := uint32(w*64+i), taken
		if v.columns > 0 {
			TakeRecord(rec, group, v.columns, i)
		} else {
			rec = group[i*v.stride : (i+1)*v.stride]
		}
		if placed(int64(slot), rec[:v.payload]) != binary.LittleEndian.Uint32(rec[v.payload:]) {
			return fmt.Errorf("%w: the vector in slot %d does not match its checksum", index.ErrCorrupt, slot)
		}
	}
	e.verified.Or(bit)
	return nil
}

// slotFile is a file of equal records, one per slot, written by one writer and read through memory mappings.
type slotFile struct {
	path string
	file *os.File
	view slotView
}

// openSlotFile opens the file for a number of committed slots. A file that is too short for them is corrupt; what lies
// beyond them was never committed and is cut off.
func openSlotFile(path string, of shape, slots uint32) (_ *slotFile, err error) {
	f := &slotFile{path: path, view: slotView{shape: of}}
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
			_ = f.close()
		}
	}()
	info, err := f.file.Stat()
	if err != nil {
		return nil, fmt.Errorf("reading size of vector file: %w", err)
	}
	if want := int64(slots) * int64(of.stride); info.Size() < want {
		return nil, fmt.Errorf("%w: the vector file has %d bytes, %d slots need %d", index.ErrCorrupt, info.Size(), slots, want)
	}
	extents := (int(slots) + extentSlots - 1) / extentSlots
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

// newSlotFile makes an empty file in place of whatever lies there.
func newSlotFile(path string, of shape) (*slotFile, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("removing an abandoned vector file: %w", err)
	}
	return openSlotFile(path, of, 0)
}

func (f *slotFile) extentBytes() int64 { return extentSlots * int64(f.view.stride) }

// mapNext maps the extent after the last one; the file must have it.
func (f *slotFile) mapNext() error {
	n := len(f.view.extents)
	data, err := mmap.MapRegion(f.file, int(f.extentBytes()), mmap.RDONLY, 0, int64(n)*f.extentBytes())
	if err != nil {
		return fmt.Errorf("mapping vector file: %w", err)
	}
	// Appending never changes what older views see: they have their own length.
	f.view.extents = append(f.view.extents, &extent{data: data})
	return nil
}

// grow makes room for a number of slots.
func (f *slotFile) grow(slots uint32) error {
	for len(f.view.extents)*extentSlots < int(slots) {
		if err := f.file.Truncate(int64(len(f.view.extents)+1) * f.extentBytes()); err != nil {
			return fmt.Errorf("growing vector file: %w", err)
		}
		if err := f.mapNext(); err != nil {
			return err
		}
	}
	return nil
}

// write stores the records of slots in ascending order; neighbours go in one call. payloads[i] belongs to slots[i].
func (f *slotFile) write(slots []uint32, payloads [][]byte) error {
	if f.view.columns > 0 {
		return f.writeGroups(slots, payloads)
	}
	for i := 0; i < len(slots); {
		end := i + 1
		for end < len(slots) && slots[end] == slots[end-1]+1 {
			end++
		}
		buf := make([]byte, (end-i)*f.view.stride)
		for j := i; j < end; j++ {
			rec := buf[(j-i)*f.view.stride:]
			copy(rec, payloads[j])
			binary.LittleEndian.PutUint32(rec[f.view.payload:], placed(int64(slots[j]), payloads[j]))
		}
		if _, err := f.file.WriteAt(buf, int64(slots[i])*int64(f.view.stride)); err != nil {
			return fmt.Errorf("writing vectors: %w", err)
		}
		i = end
	}
	return nil
}

// writeGroups is write where records lie by columns. What else is in their groups is written again as it was: readers see no
// change in it, nor does a crash leave one.
func (f *slotFile) writeGroups(slots []uint32, payloads [][]byte) error {
	record := make([]byte, f.view.payload+4)
	for i := 0; i < len(slots); {
		var buf []byte
		first := int(slots[i] / 64)
		for w := first; i < len(slots) && int(slots[i]/64) == w; w++ {
			from := len(buf)
			buf = append(buf, f.view.group(w)...)
			for ; i < len(slots) && int(slots[i]/64) == w; i++ {
				copy(record, payloads[i])
				binary.LittleEndian.PutUint32(record[f.view.payload:], placed(int64(slots[i]), payloads[i]))
				putRecord(buf[from:], f.view.columns, int(slots[i]%64), record)
			}
		}
		if _, err := f.file.WriteAt(buf, int64(first)*64*int64(f.view.stride)); err != nil {
			return fmt.Errorf("writing codes: %w", err)
		}
	}
	return nil
}

// append grows the file, writes records and makes them durable.
func (f *slotFile) append(slots []uint32, payloads [][]byte, end uint32) error {
	if err := f.grow(end); err != nil {
		return err
	}
	if err := f.write(slots, payloads); err != nil {
		return err
	}
	return f.sync()
}

// sync makes what was written durable.
func (f *slotFile) sync() error {
	if err := syncData(f.file); err != nil {
		return fmt.Errorf("syncing vector file: %w", err)
	}
	return nil
}

// close unmaps and closes the file. No view of it may be used afterwards.
func (f *slotFile) close() error {
	var errs []error
	for _, e := range f.view.extents {
		errs = append(errs, e.data.Unmap())
	}
	f.view.extents = nil
	return errors.Join(append(errs, f.file.Close())...)
}

// putRecord puts the i-th of groupRows records to its place in a group that lies by columns: one byte of each after the other for so many
// columns, and then four bytes of each after the other. The rest of a record behind its columns is a multiple of four bytes.
func putRecord(group []byte, columns, i int, record []byte) {
	for c, b := range record[:columns] {
		group[c*groupRows+i] = b
	}
	for at := columns; at < len(record); at += 4 {
		copy(group[at*groupRows+4*i:], record[at:at+4])
	}
}

// TakeRecord reads what putRecord has put, as much of it as record has room for.
func TakeRecord(record, group []byte, columns, i int) {
	for c := range record[:columns] {
		record[c] = group[c*groupRows+i]
	}
	for at := columns; at < len(record); at += 4 {
		copy(record[at:at+4], group[at*groupRows+4*i:])
	}
}
