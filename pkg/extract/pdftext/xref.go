package pdftext

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// readXrefs follows the chain of cross reference sections from the end of the file; what a later section says of an
// object holds. Sections that cannot be read are an error, as the file is better searched then.
func (f *file) readXrefs() error {
	at := bytes.LastIndex(f.data, []byte("startxref"))
	if at < 0 {
		return errors.New("startxref is missing")
	}
	t := &tokenizer{data: f.data, pos: at + len("startxref")}
	next := []token{t.next()}
	seen := map[int]bool{}
	for len(next) > 0 {
		where := next[0].integer()
		next = next[1:]
		if where <= 0 || where >= len(f.data) {
			return errors.New("a section lies outside the file")
		}
		if seen[where] {
			return errors.New("the sections are a loop")
		}
		seen[where] = true
		trailer, err := f.readSection(where)
		if err != nil {
			return err
		}
		if f.trailer.kind != tokDict {
			f.trailer = trailer
		}
		for _, key := range []string{"XRefStm", "Prev"} {
			if v := trailer.key(key); v.kind == tokNumber {
				next = append(next, v)
			}
		}
	}
	if f.trailer.key("Root").kind != tokRef {
		return errors.New("the trailer names no catalogue")
	}
	return nil
}

// readSection reads one section, a table or a stream, and returns its trailer.
func (f *file) readSection(at int) (token, error) {
	t := &tokenizer{data: f.data, pos: at, objects: true}
	if t.next().str == "xref" {
		return f.readTableSection(t)
	}
	o, _, err := f.parse(at)
	if err != nil || !o.stream {
		return token{}, fmt.Errorf("there is no section at offset %d", at)
	}
	o.plain = true // sections are never encrypted
	if err := f.readStreamSection(o); err != nil {
		return token{}, err
	}
	return o.value, nil
}

func (f *file) set(number uint32, e entry) {
	if _, ok := f.entries[number]; !ok && number < maxObject {
		f.entries[number] = e
	}
}

func (f *file) readTableSection(t *tokenizer) (token, error) {
	for {
		first := t.next()
		if first.kind == tokOperator && first.str == "trailer" {
			trailer := t.next()
			if trailer.kind != tokDict {
				return token{}, errors.New("a section has no trailer")
			}
			return trailer, nil
		}
		count := t.next()
		if first.kind != tokNumber || count.kind != tokNumber || first.integer() < 0 {
			return token{}, errors.New("a section is malformed")
		}
		for i := range count.integer() {
			offset, gen, kind := t.next(), t.next(), t.next()
			if kind.kind != tokOperator || kind.str != "n" && kind.str != "f" {
				return token{}, errors.New("an entry is malformed")
			}
			e := entry{}
			if kind.str == "n" && offset.num > 0 && offset.num < float64(len(f.data)) {
				e = entry{1, uint32(offset.num), uint32(max(0, gen.integer()))}
			}
			f.set(uint32(first.integer()+i), e)
		}
	}
}

func (f *file) readStreamSection(o object) error {
	data, err := f.unpack(o)
	if err != nil {
		return fmt.Errorf("reading a section: %w", err)
	}
	w := o.value.key("W")
	if len(w.items) < 3 {
		return errors.New("a section has no widths")
	}
	widths := [3]int{w.items[0].integer(), w.items[1].integer(), w.items[2].integer()}
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
	index := o.value.key("Index").items
	if len(index) == 0 {
		index = []token{{kind: tokNumber}, o.value.key("Size")}
	}
	for ; len(index) >= 2; index = index[2:] {
		first := max(0, index[0].integer())
		for i := range index[1].integer() {
			if len(data) < total {
				return nil // a count that says too much
			}
			f.setFields(uint32(first+i), data[:total], widths)
			data = data[total:]
		}
	}
	return nil
}

func (f *file) setFields(number uint32, data []byte, widths [3]int) {
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

// search takes the objects that are found in the whole file for its references.
func (f *file) search() error {
	f.scan()
	f.entries = f.scanned
	f.findTrailer()
	if err := f.decrypt(); err != nil {
		return err
	}
	f.scanPacked()
	if f.trailer.key("Root").kind != tokRef {
		f.findCatalogue()
	}
	if f.trailer.key("Root").kind != tokRef {
		return errors.New("no document catalogue was found")
	}
	return nil
}

// scan finds the objects outside object streams. If several have the same number, the last is used.
func (f *file) scan() {
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

// objectHead reads the two numbers that data ends in.
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

// scanPacked adds the objects in object streams, unless scan has found one with the same number. If several have the
// same number, that of the last stream is used.
func (f *file) scanPacked() {
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

// maxTrailers bounds how many trailers are looked at.
const maxTrailers = 4096

// findTrailer joins the trailers of the file, and the dictionaries of its cross reference streams; the last holds.
func (f *file) findTrailer() {
	f.trailer = token{kind: tokDict}
	found := map[string]token{}
	add := func(dict token) {
		for _, key := range []string{"Root", "Info", "Encrypt", "ID"} {
			if v := dict.key(key); v.kind != tokNull && found[key].kind == tokEnd {
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
			t := &tokenizer{data: f.data[:min(len(f.data), at+1<<13)], pos: at, objects: true}
			add(t.next())
		}
	}
	for key, v := range found {
		f.trailer.items = append(f.trailer.items, token{kind: tokName, str: key}, v)
	}
}

// findCatalogue looks for the catalogue among all objects.
func (f *file) findCatalogue() {
	best := uint32(0)
	for n := range f.entries {
		if o, err := f.load(n); err == nil && o.value.key("Type").str == "Catalog" && o.value.key("Pages").kind == tokRef {
			best = max(best, n)
		}
	}
	if best > 0 {
		f.trailer.items = append(f.trailer.items, token{kind: tokName, str: "Root"}, token{kind: tokRef, num: float64(best)})
	}
}
