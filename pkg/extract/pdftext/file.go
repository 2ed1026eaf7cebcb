package pdftext

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/ledongthuc/pdf"
)

// file is a PDF file as a set of decrypted and unpacked objects. ReadAt presents it to the library as a valid file:
// each object at a fixed address, unencrypted, and listed in one cross-reference table. The library's own code for
// cross references, filters and encryption loops or panics on imperfect files, so it never sees them.
//
// The address of object n is n*stride. The cross-reference table and the end of the file follow the last object.
type file struct {
	data    []byte
	entries map[uint32]entry
	size    uint32 // above all object numbers
	trailer token
	crypt   *crypt

	scanned map[uint32]entry // objects found by a search through the whole file; nil before the first search
	images  *cache[uint32, []byte]
	packed  *cache[uint32, *objectStream]
	loading map[uint32]bool // objects being loaded, to detect cycles
	budget  int64           // bytes that may still be unpacked
}

// entry is the location of an object: an offset in the file, or an index in an object stream.
type entry struct {
	kind   byte   // 0 nowhere, 1 at an offset, 2 in a stream
	at     uint32 // the offset, or the stream's number
	number uint32 // the generation, or the index
}

const (
	strideBits  = 26
	stride      = 1 << strideBits
	maxObject   = 2_000_000 // higher object numbers are treated as damage, because the library's table has an entry for each number
	maxImages   = 8 << 20   // bytes of written objects that are kept
	maxPacked   = 24 << 20  // bytes of unpacked object streams that are kept
	maxUnpacked = 8 << 30   // bytes unpacked for one document, over all its streams
	streamMark  = "pdftext.stream"
	objectMark  = "pdftext.object"
)

var errUnpacked = errors.New("the file unpacks to too much")

// openFile finds the objects of a file. If the cross references are unusable or search is set, it searches the whole
// file.
func openFile(data []byte, search bool) (*file, error) {
	if int64(len(data)) >= 1<<32 {
		return nil, errors.New("the file is too large")
	}
	f := &file{
		data: data, entries: map[uint32]entry{}, loading: map[uint32]bool{}, budget: maxUnpacked,
		images: newCache[uint32, []byte](maxImages), packed: newCache[uint32, *objectStream](maxPacked),
	}
	if search {
		if err := f.search(); err != nil {
			return nil, err
		}
		return f, nil
	}
	if err := f.readXrefs(); err != nil {
		return nil, fmt.Errorf("reading the cross references: %w", err)
	}
	return f, f.decrypt()
}

// reader returns the file in the form for the library.
func (f *file) reader() (*pdf.Reader, error) {
	f.size = 1
	for n := range f.entries {
		f.size = max(f.size, n+1)
	}
	r, err := pdf.NewReader(f, int64(f.size+1)<<strideBits+int64(len(f.tail())))
	if err != nil {
		return nil, fmt.Errorf("opening: %w", err)
	}
	return r, nil
}

// tail is the end of the file as the library sees it, which reads 100 bytes at once there.
func (f *file) tail() []byte {
	return fmt.Appendf(bytes.Repeat([]byte{'\n'}, 100), "startxref\n%d\n%%%%EOF", int64(f.size)<<strideBits)
}

// ReadAt returns the bytes of an equivalent file without errors.
func (f *file) ReadAt(b []byte, off int64) (int, error) {
	zone, at := uint32(off>>strideBits), int(off&(stride-1))
	var image []byte
	switch {
	case zone == 0:
		image = []byte("%PDF-1.7\n")
	case zone < f.size:
		image = f.image(zone)
	case zone == f.size:
		return f.readTable(b, at)
	default:
		image = f.tail()
	}
	if at >= len(image) {
		return 0, io.EOF
	}
	n := copy(b, image[at:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// readTable is ReadAt for the table of references: its dictionary, then six bytes for each number.
func (f *file) readTable(b []byte, at int) (int, error) {
	head := fmt.Appendf(nil, "%d 0 obj\n<</Type/XRef/Size %d/W[0 6 0]/Length %d", f.size, f.size, 6*int64(f.size))
	for _, key := range []string{"Root", "Info"} {
		if v := f.trailer.key(key); v.kind == tokRef || v.kind == tokDict {
			head = append(append(head, '/'), key...)
			head = f.write(append(head, ' '), v, nil)
		}
	}
	head = append(head, ">>\nstream\n"...)
	n := 0
	for ; n < len(b); n++ {
		i := at + n
		switch {
		case i < len(head):
			b[n] = head[i]
		case i < len(head)+6*int(f.size):
			number := uint32(i-len(head)) / 6
			where := int64(0)
			if f.entries[number].kind != 0 && number > 0 {
				where = int64(number) << strideBits
			}
			b[n] = byte(where >> (8 * (5 - (i-len(head))%6)))
		default:
			return n, io.EOF
		}
	}
	return n, nil
}

// image returns an object as serialised for the library. An object that cannot be read is null.
func (f *file) image(number uint32) []byte {
	if b, ok := f.images.get(number); ok {
		return b
	}
	head := fmt.Appendf(nil, "%d 0 obj\n", number)
	b := head
	o, err := f.load(number)
	if err != nil {
		b = append(b, "null"...)
	} else {
		mark := []token{{kind: tokName, str: objectMark}, {kind: tokNumber, num: float64(number)}}
		if o.stream {
			mark = append(mark, token{kind: tokName, str: streamMark}, token{kind: tokBool, num: 1})
		}
		b = f.write(b, o.value, mark)
		if o.stream {
			b = append(b, "\nstream\n"...)
		}
	}
	if b = append(b, "\nendobj\n"...); len(b) >= stride {
		b = append(head, "null\nendobj\n"...)
	}
	f.images.put(number, b, len(b)+64)
	return b
}

// write appends a value in the syntax of PDF; mark is added to it if it is a dictionary.
func (f *file) write(b []byte, v token, mark []token) []byte {
	switch v.kind {
	case tokNumber:
		if v.num == float64(int64(v.num)) {
			return strconv.AppendInt(b, int64(v.num), 10)
		}
		return strconv.AppendFloat(b, v.num, 'f', -1, 64)
	case tokString:
		return fmt.Appendf(b, "<%x>", v.str)
	case tokName:
		return writeName(b, v.str)
	case tokBool:
		return strconv.AppendBool(b, v.num == 1)
	case tokRef:
		if v.num < 1 || v.num >= maxObject || f.entries[uint32(v.num)].kind == 0 {
			return append(b, "null"...)
		}
		return append(strconv.AppendInt(b, int64(v.num), 10), " 0 R"...)
	case tokArray:
		b = append(b, '[')
		for _, item := range v.items {
			b = append(f.write(b, item, nil), ' ')
		}
		return append(b, ']')
	case tokDict:
		b = append(b, "<<"...)
		for _, items := range [][]token{mark, v.items} {
			for i := 0; i+1 < len(items); i += 2 {
				if items[i].kind == tokName {
					b = append(f.write(writeName(b, items[i].str), items[i+1], nil), ' ')
				}
			}
		}
		return append(b, ">>"...)
	}
	return append(b, "null"...)
}

func writeName(b []byte, name string) []byte {
	b = append(b, '/')
	for i := range len(name) {
		if c := name[i]; regular(c) && c > ' ' && c < 0x7f && c != '#' {
			b = append(b, c)
		} else {
			b = fmt.Appendf(b, "#%02x", c)
		}
	}
	return append(b, ' ')
}

// number returns the object number of a value, 0 for a value inside another object.
func number(v pdf.Value) uint32 { return uint32(v.Key(objectMark).Int64()) }

// cache keeps recently used entries up to an approximate size. It has two generations: when the young one reaches half
// the size, the old one is dropped.
type cache[K comparable, V any] struct {
	young, old map[K]V
	size, most int
}

func newCache[K comparable, V any](most int) *cache[K, V] {
	return &cache[K, V]{young: map[K]V{}, most: most}
}

func (c *cache[K, V]) get(key K) (V, bool) {
	v, ok := c.young[key]
	if !ok {
		v, ok = c.old[key]
	}
	return v, ok
}

func (c *cache[K, V]) put(key K, value V, size int) {
	if c.size += size; c.size > c.most/2 {
		c.young, c.old, c.size = map[K]V{}, c.young, size
	}
	c.young[key] = value
}
