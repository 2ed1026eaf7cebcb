package pdfobject

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// readXrefs reads the chain of cross-reference sections, starting at the end of the file. If several sections list an
// object, the newest wins. It returns an error if any section is unreadable; the caller then searches the whole file
// for objects.
func (f *File) readXrefs() error {
	at := bytes.LastIndex(f.data, []byte("startxref"))
	if at < 0 {
		return errors.New("startxref is missing")
	}
	t := &Scanner{data: f.data, pos: at + len("startxref")}
	next := []Token{t.Next()}
	seen := map[int]bool{}
	for len(next) > 0 {
		where := next[0].integer()
		next = next[1:]
		if where <= 0 || where >= len(f.data) {
			return errors.New("the offset of a section is outside the file")
		}
		if seen[where] {
			return errors.New("the sections form a loop")
		}
		seen[where] = true
		trailer, err := f.readSection(where)
		if err != nil {
			return err
		}
		if f.trailer.Kind != Dict {
			f.trailer = trailer
		}
		for _, key := range []string{"XRefStm", "Prev"} {
			if v := trailer.Key(key); v.Kind == Number {
				next = append(next, v)
			}
		}
	}
	if f.trailer.Key("Root").Kind != Ref {
		return errors.New("the trailer has no catalogue")
	}
	return nil
}

// readSection reads one section, a table or a stream, and returns its trailer.
func (f *File) readSection(at int) (Token, error) {
	t := &Scanner{data: f.data, pos: at, objects: true}
	if t.Next().Str == "xref" {
		return f.readTableSection(t)
	}
	o, _, err := f.parse(at)
	if err != nil || !o.stream {
		return Token{}, fmt.Errorf("no section at offset %d", at)
	}
	o.plain = true // sections are never encrypted
	if err := f.readStreamSection(o); err != nil {
		return Token{}, err
	}
	return o.value, nil
}

func (f *File) set(number uint32, e entry) {
	if _, ok := f.entries[number]; !ok && number < maxObject {
		f.entries[number] = e
	}
}

func (f *File) readTableSection(t *Scanner) (Token, error) {
	for {
		first := t.Next()
		if first.Kind == Operator && first.Str == "trailer" {
			trailer := t.Next()
			if trailer.Kind != Dict {
				return Token{}, errors.New("a section has no trailer")
			}
			return trailer, nil
		}
		count := t.Next()
		if first.Kind != Number || count.Kind != Number || first.integer() < 0 {
			return Token{}, errors.New("a section is malformed")
		}
		for i := range count.integer() {
			offset, gen, kind := t.Next(), t.Next(), t.Next()
			if kind.Kind != Operator || kind.Str != "n" && kind.Str != "f" {
				return Token{}, errors.New("an entry is malformed")
			}
			e := entry{}
			if kind.Str == "n" && offset.Num > 0 && offset.Num < float64(len(f.data)) {
				e = entry{1, uint32(offset.Num), uint32(max(0, gen.integer()))}
			}
			f.set(uint32(first.integer()+i), e)
		}
	}
}

func (f *File) readStreamSection(o object) error {
	data, err := f.unpack(o)
	if err != nil {
		return fmt.Errorf("reading a section: %w", err)
	}
	w := o.value.Key("W")
	if len(w.Items) < 3 {
		return errors.New("a section has no widths")
	}
	widths := [3]int{w.Items[0].integer(), w.Items[1].integer(), w.Items[2].integer()}
	total := 0
	for _, n := range widths {
		if n < 0 || n > 8 {
			return errors.New("a section has impossible widths")
		}
		total += n
	}
	if total == 0 {
		return errors.New("a section has no widths")
	}
	index := o.value.Key("Index").Items
	if len(index) == 0 {
		index = []Token{{Kind: Number}, o.value.Key("Size")}
	}
	for ; len(index) >= 2; index = index[2:] {
		first := max(0, index[0].integer())
		for i := range index[1].integer() {
			if len(data) < total {
				return nil // the section has fewer entries than its count
			}
			f.setFields(uint32(first+i), data[:total], widths)
			data = data[total:]
		}
	}
	return nil
}

func (f *File) setFields(number uint32, data []byte, widths [3]int) {
	var v [3]uint64
	for i, n := range widths {
		for _, c := range data[:n] {
			v[i] = v[i]<<8 | uint64(c)
		}
		data = data[n:]
	}
	if widths[0] == 0 {
		v[0] = 1
	}
	switch {
	case v[0] == 1 && v[1] > 0 && v[1] < uint64(len(f.data)):
		f.set(number, entry{1, uint32(v[1]), uint32(v[2])})
	case v[0] == 2 && v[1] < maxObject:
		f.set(number, entry{2, uint32(v[1]), uint32(v[2])})
	default:
		f.set(number, entry{})
	}
}

// rebuildXref builds the cross references from the objects found in the whole file.
func (f *File) rebuildXref() error {
	f.scan()
	f.entries = f.scanned
	f.findTrailer()
	if err := f.decrypt(); err != nil {
		return err
	}
	f.scanPacked()
	if f.trailer.Key("Root").Kind != Ref {
		f.findCatalogue()
	}
	if f.trailer.Key("Root").Kind != Ref {
		return errors.New("no catalogue found")
	}
	return nil
}

// scan finds the objects outside object streams. If several have the same number, the last one wins.
func (f *File) scan() {
	f.scanned = map[uint32]entry{}
	for at := 0; ; {
		i := bytes.Index(f.data[at:], []byte("obj"))
		if i < 0 {
			return
		}
		end := at + i
		at = end + 3
		if number, gen, start, ok := objectHead(f.data[:end]); ok && number < maxObject {
			f.scanned[number] = entry{1, uint32(start), gen}
		}
	}
}

// objectHead reads the object number and generation at the end of `data`. `start` is the offset of the object number.
func objectHead(data []byte) (number, gen uint32, start int, ok bool) {
	end := len(data)
	last := func() (uint32, bool) {
		i := end
		for i > 0 && end-i < 64 && isSpace(data[i-1]) {
			i--
		}
		j := i
		for j > 0 && i-j < 10 && data[j-1] >= '0' && data[j-1] <= '9' {
			j--
		}
		v, err := strconv.ParseUint(string(data[j:i]), 10, 32)
		end = j
		return uint32(v), err == nil
	}
	if gen, ok = last(); !ok || end == 0 || !isSpace(data[end-1]) {
		return 0, 0, 0, false
	}
	number, ok = last()
	return number, gen, end, ok
}

// scanPacked adds the objects in object streams, except those already found by scan. If several object streams contain
// the same number, the last stream wins.
func (f *File) scanPacked() {
	found := slices.SortedFunc(maps.Keys(f.scanned), func(a, b uint32) int { return cmp.Compare(f.scanned[b].at, f.scanned[a].at) })
	for _, n := range found {
		e := f.scanned[n]
		if head := f.data[e.at:min(len(f.data), int(e.at)+2048)]; !bytes.Contains(head, []byte("ObjStm")) {
			continue
		}
		s, err := f.objectStream(n)
		if err != nil {
			continue
		}
		for i, id := range s.numbers {
			if _, ok := f.entries[id]; !ok && id < maxObject {
				f.entries[id] = entry{2, n, uint32(i)}
			}
		}
	}
}

const maxTrailers = 4096

// findTrailer merges the trailers and cross-reference stream dictionaries. The last value for a key wins.
func (f *File) findTrailer() {
	f.trailer = Token{Kind: Dict}
	found := map[string]Token{}
	add := func(dict Token) {
		for _, key := range []string{"Root", "Info", "Encrypt", "ID"} {
			if v := dict.Key(key); v.Kind != Null && found[key].Kind == End {
				found[key] = v
			}
		}
	}
	for _, mark := range []string{"trailer", "/XRef"} {
		end := len(f.data)
		for range maxTrailers {
			at := bytes.LastIndex(f.data[:end], []byte(mark))
			if at < 0 {
				break
			}
			end = at
			if mark == "/XRef" {
				if at = bytes.LastIndex(f.data[max(0, at-2048):at], []byte("obj")); at < 0 {
					continue
				}
				at += max(0, end-2048)
			}
			for f.data[at] != '<' && f.data[at] != 0 && at+1 < min(len(f.data), end+32) {
				at++
			}
			t := &Scanner{data: f.data[:min(len(f.data), at+1<<13)], pos: at, objects: true}
			add(t.Next())
		}
	}
	for key, v := range found {
		f.trailer.Items = append(f.trailer.Items, Token{Kind: Name, Str: key}, v)
	}
}

// findCatalogue searches all objects for the catalogue.
func (f *File) findCatalogue() {
	best := uint32(0)
	for n := range f.entries {
		if o, err := f.load(n); err == nil && o.value.Key("Type").Str == "Catalog" && o.value.Key("Pages").Kind == Ref {
			best = max(best, n)
		}
	}
	if best > 0 {
		f.trailer.Items = append(f.trailer.Items, Token{Kind: Name, Str: "Root"}, Token{Kind: Ref, Num: float64(best)})
	}
}
