// Package pdfobject reads the objects in PDF files: cross references, streams with their filters, and encryption with
// an empty password. It repairs files with unusable cross references. It also contains the scanner for content streams.
//
// The package presents the objects as values of github.com/ledongthuc/pdf. It does not use that library's own code for
// cross references, filters and encryption, which loops or panics on imperfect files. Only packages pdffont and pdftext
// import this package.
package pdfobject

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/ledongthuc/pdf"
)

// File is a PDF file as a set of objects. It is not safe for concurrent use.
//
// ReadAt presents the objects to the ledongthuc/pdf library as a valid, unencrypted file with a single cross-reference
// table. Object n is at offset n*stride. The cross-reference table and the end of the file follow the last object.
type File struct {
	data    []byte
	entries map[uint32]entry
	size    uint32 // greater than any object number
	reader  *pdf.Reader
	trailer Token
	crypt   *crypt

	scanned map[uint32]entry // objects found by searching the whole file; nil before the first search
	images  *cache[uint32, []byte]
	packed  *cache[uint32, *objectStream]
	loading map[uint32]bool // objects being loaded, to detect cycles
	budget  int64           // bytes that may still be unpacked
}

// entry is an object's location: an offset in the file, or an index in an object stream.
type entry struct {
	kind   byte   // 0: missing, 1: at an offset, 2: in an object stream
	at     uint32 // the offset, or the number of the object stream
	number uint32 // the generation, or the index in the object stream
}

const (
	strideBits  = 26
	stride      = 1 << strideBits
	maxObject   = 2_000_000 // higher object numbers count as damage; the library's table has an entry for each number
	maxImages   = 8 << 20   // maximum size in bytes of serialised objects in the cache
	maxPacked   = 24 << 20  // maximum size in bytes of unpacked object streams in the cache
	maxUnpacked = 8 << 30   // maximum number of bytes unpacked from all of a file's streams
	streamMark  = "pdftext.stream"
	objectMark  = "pdftext.object"
)

// MaxStream is the maximum unpacked size of a stream, in bytes.
const MaxStream = 64 << 20

var errUnpacked = errors.New("the unpacked data exceed the limit")

// Open finds a file's objects through its cross references or, if `search` is set, by searching the whole file. It
// returns ErrEncrypted if a password is needed.
func Open(data []byte, search bool) (f *File, err error) {
	defer Recover(&err)
	if f, err = find(data, search); err != nil {
		return nil, err
	}
	return f, f.openReader()
}

// find does the part of Open's work that doesn't need ledongthuc/pdf: it finds the objects and sets up decryption.
func find(data []byte, search bool) (*File, error) {
	if int64(len(data)) >= 1<<32 {
		return nil, errors.New("the file is too large")
	}
	f := &File{
		data: data, entries: map[uint32]entry{}, loading: map[uint32]bool{}, budget: maxUnpacked,
		images: newCache[uint32, []byte](maxImages), packed: newCache[uint32, *objectStream](maxPacked),
	}
	if search {
		if err := f.rebuildXref(); err != nil {
			return nil, err
		}
		return f, nil
	}
	if err := f.readXrefs(); err != nil {
		return nil, fmt.Errorf("reading the cross references: %w", err)
	}
	return f, f.decrypt()
}

// openReader opens the file with the library.
func (f *File) openReader() (err error) {
	f.size = 1
	for n := range f.entries {
		f.size = max(f.size, n+1)
	}
	if f.reader, err = pdf.NewReader(f, int64(f.size+1)<<strideBits+int64(len(f.tail()))); err != nil {
		return fmt.Errorf("opening: %w", err)
	}
	return nil
}

// Trailer returns the file's trailer. ledongthuc/pdf panics on unexpected values, so reading the trailer's values can
// panic, and callers must defer Recover.
func (f *File) Trailer() pdf.Value { return f.reader.Trailer() }

// Recover turns a panic in ledongthuc/pdf into an error. It must be deferred directly. It can't recover from running
// out of memory.
func Recover(err *error) {
	if x := recover(); x != nil {
		*err = fmt.Errorf("malformed PDF: %v", x)
	}
}

// ObjectNumber returns the object number of a dictionary or stream, or 0 for a value inside another object.
func ObjectNumber(v pdf.Value) uint32 { return uint32(v.Key(objectMark).Int64()) }

// Stream unpacks a stream. If the stream is damaged, it returns the data before the damage.
func (f *File) Stream(v pdf.Value) ([]byte, error) {
	if v.Kind() != pdf.Stream {
		return nil, errNoStream
	}
	o, err := f.load(ObjectNumber(v))
	if err != nil {
		return nil, err
	}
	return f.unpack(o)
}

// ListPages replaces the page tree with a list of at most `limit` pages, ordered by object number. It is for files with
// an empty page tree.
func (f *File) ListPages(limit int) error {
	list := Token{Kind: Array}
	for _, n := range slices.Sorted(maps.Keys(f.entries)) {
		if o, err := f.load(n); err == nil && o.value.Key("Type").Str == "Page" && len(list.Items) < limit {
			list.Items = append(list.Items, Token{Kind: Ref, Num: float64(n)})
		}
	}
	dict := func(key string, value Token) Token {
		return Token{Kind: Dict, Items: []Token{{Kind: Name, Str: key}, value}}
	}
	f.trailer = dict("Root", dict("Pages", dict("Kids", list)))
	return f.openReader()
}

// HasObjects reports whether `data` contains an object outside object streams.
func HasObjects(data []byte) bool {
	f := &File{data: data}
	f.scan()
	return len(f.scanned) > 0
}

// tail returns the end of the file that ReadAt presents. It starts with line feeds, because ledongthuc/pdf reads a
// file's last 100 bytes at once and the actual tail is shorter.
func (f *File) tail() []byte {
	return fmt.Appendf(bytes.Repeat([]byte{'\n'}, 100), "startxref\n%d\n%%%%EOF", int64(f.size)<<strideBits)
}

// ReadAt implements io.ReaderAt for the valid file presented to ledongthuc/pdf.
func (f *File) ReadAt(b []byte, off int64) (int, error) {
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

// readTable reads from the cross-reference table for ReadAt: a dictionary, then six bytes per object number.
func (f *File) readTable(b []byte, at int) (int, error) {
	head := fmt.Appendf(nil, "%d 0 obj\n<</Type/XRef/Size %d/W[0 6 0]/Length %d", f.size, f.size, 6*int64(f.size))
	for _, key := range []string{"Root", "Info"} {
		if v := f.trailer.Key(key); v.Kind == Ref || v.Kind == Dict {
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

// image returns an object's bytes as ReadAt presents them. An unreadable object becomes null.
func (f *File) image(number uint32) []byte {
	if b, ok := f.images.get(number); ok {
		return b
	}
	head := fmt.Appendf(nil, "%d 0 obj\n", number)
	b := head
	o, err := f.load(number)
	if err != nil {
		b = append(b, "null"...)
	} else {
		mark := []Token{{Kind: Name, Str: objectMark}, {Kind: Number, Num: float64(number)}}
		if o.stream {
			mark = append(mark, Token{Kind: Name, Str: streamMark}, Token{Kind: Bool, Num: 1})
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

// write appends a value in PDF syntax. If the value is a dictionary, the entries in `mark` are added to it.
func (f *File) write(b []byte, v Token, mark []Token) []byte {
	switch v.Kind {
	case Number:
		if v.Num == float64(int64(v.Num)) {
			return strconv.AppendInt(b, int64(v.Num), 10)
		}
		return strconv.AppendFloat(b, v.Num, 'f', -1, 64)
	case String:
		return fmt.Appendf(b, "<%x>", v.Str)
	case Name:
		return writeName(b, v.Str)
	case Bool:
		return strconv.AppendBool(b, v.Num == 1)
	case Ref:
		if v.Num < 1 || v.Num >= maxObject || f.entries[uint32(v.Num)].kind == 0 {
			return append(b, "null"...)
		}
		return append(strconv.AppendInt(b, int64(v.Num), 10), " 0 R"...)
	case Array:
		b = append(b, '[')
		for _, item := range v.Items {
			b = append(f.write(b, item, nil), ' ')
		}
		return append(b, ']')
	case Dict:
		b = append(b, "<<"...)
		for _, items := range [][]Token{mark, v.Items} {
			for i := 0; i+1 < len(items); i += 2 {
				if items[i].Kind == Name {
					b = append(f.write(writeName(b, items[i].Str), items[i+1], nil), ' ')
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
		if c := name[i]; isRegular(c) && c > ' ' && c < 0x7f && c != '#' {
			b = append(b, c)
		} else {
			b = fmt.Appendf(b, "#%02x", c)
		}
	}
	return append(b, ' ')
}

// cache holds recently used entries up to an approximate size, in two generations. When the young generation reaches
// half of that size, it replaces the old generation.
type cache[K comparable, V any] struct {
	young, old  map[K]V
	size, limit int
}

func newCache[K comparable, V any](limit int) *cache[K, V] {
	return &cache[K, V]{young: map[K]V{}, limit: limit}
}

func (c *cache[K, V]) get(key K) (V, bool) {
	v, ok := c.young[key]
	if !ok {
		v, ok = c.old[key]
	}
	return v, ok
}

func (c *cache[K, V]) put(key K, value V, size int) {
	if c.size += size; c.size > c.limit/2 {
		c.young, c.old, c.size = map[K]V{}, c.young, size
	}
	c.young[key] = value
}
