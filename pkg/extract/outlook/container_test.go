package outlook_test

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
)

// Values in a compound file's tables (MS-CFB).
const (
	sectorSize = 512
	miniSize   = 64
	miniLimit  = 4096
	chainEnd   = 0xfffffffe
	fatSector  = 0xfffffffd
	noEntry    = 0xffffffff
)

// entry is a storage in a compound file or, if it has no children, a stream.
type entry struct {
	name     string
	data     []byte
	children []entry
	folder   bool
}

// container writes a compound file. Entries form a linked list, which readers accept as a tree.
func container(entries []entry) []byte {
	w := &containerWriter{}
	w.add(entry{name: "Root Entry", children: entries, folder: true}, 5)
	mini := w.chain(w.mini.Bytes())
	binary.LittleEndian.PutUint32(w.directory[0][116:], mini)
	binary.LittleEndian.PutUint32(w.directory[0][120:], uint32(w.mini.Len()))
	miniTable := w.chain(words(w.miniFAT))
	directory := w.chain(bytes.Join(w.directory, nil))
	fats := 1
	for (len(w.fat)+fats)*4 > fats*sectorSize {
		fats++
	}
	first := len(w.fat)
	for range fats {
		w.fat = append(w.fat, fatSector)
	}
	table := words(w.fat)
	for len(table) < fats*sectorSize {
		table = append(table, 0xff)
	}
	header := make([]byte, sectorSize)
	copy(header, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
	for at, v := range map[int]uint16{24: 0x3e, 26: 3, 28: 0xfffe, 30: 9, 32: 6} {
		binary.LittleEndian.PutUint16(header[at:], v)
	}
	for at, v := range map[int]uint32{44: uint32(fats), 48: directory, 56: miniLimit, 60: miniTable, 64: uint32((len(w.miniFAT)*4 + sectorSize - 1) / sectorSize), 68: chainEnd} {
		binary.LittleEndian.PutUint32(header[at:], v)
	}
	for i := range 109 {
		n := uint32(noEntry)
		if i < fats {
			n = uint32(first + i)
		}
		binary.LittleEndian.PutUint32(header[76+4*i:], n)
	}
	return append(append(header, w.sectors.Bytes()...), table...)
}

type containerWriter struct {
	sectors   bytes.Buffer
	fat       []uint32
	mini      bytes.Buffer
	miniFAT   []uint32
	directory [][]byte
}

// add adds an entry to the directory and returns its number.
func (w *containerWriter) add(e entry, kind byte) uint32 {
	number := len(w.directory)
	d := make([]byte, 128)
	w.directory = append(w.directory, d)
	name := utf16.Encode([]rune(e.name))
	for i, u := range name {
		binary.LittleEndian.PutUint16(d[2*i:], u)
	}
	binary.LittleEndian.PutUint16(d[64:], uint16(2*len(name)+2))
	d[66] = kind
	for _, at := range []int{68, 72, 76} {
		binary.LittleEndian.PutUint32(d[at:], noEntry)
	}
	previous := d[76:] // link to the first child, then links from child to child
	for _, c := range e.children {
		kind := byte(2)
		if c.folder {
			kind = 1
		}
		binary.LittleEndian.PutUint32(previous, w.add(c, kind))
		previous = w.directory[binary.LittleEndian.Uint32(previous)][72:]
	}
	if !e.folder {
		binary.LittleEndian.PutUint32(d[116:], w.store(e.data))
		binary.LittleEndian.PutUint32(d[120:], uint32(len(e.data)))
	}
	return uint32(number)
}

// store stores a stream's content and returns its first sector.
func (w *containerWriter) store(data []byte) uint32 {
	if len(data) >= miniLimit {
		return w.chain(data)
	}
	if len(data) == 0 {
		return chainEnd
	}
	first := len(w.miniFAT)
	for at := 0; at < len(data); at += miniSize {
		w.mini.Write(data[at:min(at+miniSize, len(data))])
		w.mini.Write(make([]byte, (miniSize-w.mini.Len()%miniSize)%miniSize))
		w.miniFAT = append(w.miniFAT, uint32(len(w.miniFAT)+1))
	}
	w.miniFAT[len(w.miniFAT)-1] = chainEnd
	return uint32(first)
}

// chain stores data in sectors and returns the first of these sectors.
func (w *containerWriter) chain(data []byte) uint32 {
	if len(data) == 0 {
		return chainEnd
	}
	first := len(w.fat)
	for at := 0; at < len(data); at += sectorSize {
		piece := make([]byte, sectorSize)
		copy(piece, data[at:])
		w.sectors.Write(piece)
		w.fat = append(w.fat, uint32(len(w.fat)+1))
	}
	w.fat[len(w.fat)-1] = chainEnd
	return uint32(first)
}

func words(values []uint32) []byte {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}
