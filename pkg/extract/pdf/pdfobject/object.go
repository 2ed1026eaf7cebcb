package pdfobject

import (
	"bytes"
	"errors"
	"fmt"
)

// object is an object in a PDF file. If it is a stream, raw holds its data.
type object struct {
	value  Token
	stream bool
	raw    []byte // stream data as stored in the file
	number uint32
	gen    uint32
	plain  bool // not itself encrypted, because it comes from an encrypted object stream
}

var (
	errNoObject = errors.New("no such object")
	errNoStream = errors.New("not a stream")
)

// load reads an object. If it isn't where the cross references say, load searches the whole file for it.
func (f *File) load(number uint32) (object, error) {
	e := f.entries[number]
	if f.loading[number] || len(f.loading) > maxDepth {
		return object{}, fmt.Errorf("object %d refers to itself", number)
	}
	f.loading[number] = true
	defer delete(f.loading, number)
	o, err := f.loadAt(number, e)
	if err != nil && e.kind != 0 {
		if f.scanned == nil {
			f.scan()
		}
		if other, ok := f.scanned[number]; ok && other != e {
			o, err = f.loadAt(number, other)
		}
	}
	return o, err
}

func (f *File) loadAt(number uint32, e entry) (object, error) {
	switch e.kind {
	case 1:
		o, _, err := f.parse(int(e.at))
		if err == nil && o.number != number {
			err = fmt.Errorf("found object %d at the offset of object %d", o.number, number)
		}
		if err == nil && f.crypt != nil && number != f.crypt.own {
			f.crypt.strings(&o.value, o.number, o.gen)
		}
		return o, err
	case 2:
		s, err := f.objectStream(e.at)
		if err != nil {
			return object{}, err
		}
		v, err := s.object(number, int(e.number))
		return object{value: v, number: number, plain: true}, err
	}
	return object{}, errNoObject
}

// parse reads the object at an offset and returns it with the offset of its end.
func (f *File) parse(at int) (object, int, error) {
	if at < 0 || at >= len(f.data) {
		return object{}, at, errors.New("the offset of an object is outside the file")
	}
	t := &Scanner{data: f.data, pos: at, objects: true}
	num, gen, op := t.Next(), t.Next(), t.Next()
	if num.Kind != Number || gen.Kind != Number || op.Kind != Operator || op.Str != "obj" {
		return object{}, at, fmt.Errorf("no object at offset %d", at)
	}
	o := object{number: uint32(max(0, num.integer())), gen: uint32(max(0, gen.integer()))}
	o.value = t.value()
	if o.value.Kind != Dict {
		return o, t.pos, nil
	}
	if end := t.pos; t.Next().Str != "stream" {
		return o, end, nil
	}
	start := t.pos
	if bytes.HasPrefix(f.data[start:], []byte("\r\n")) {
		start += 2
	} else if start < len(f.data) && (f.data[start] == '\n' || f.data[start] == '\r') {
		start++
	}
	o.stream = true
	end := f.streamEnd(start, o.value.Key("Length"))
	o.raw = f.data[start:end]
	return o, end, nil
}

// value reads one value, which may be a reference.
func (t *Scanner) value() Token {
	v := t.Next()
	if v.Kind == Operator && v.Str == "endobj" {
		return Token{Kind: Null}
	}
	if v.Kind == Number {
		back := t.pos
		if gen := t.Next(); gen.Kind == Number {
			if r := t.Next(); r.Kind == Operator && r.Str == "R" {
				return Token{Kind: Ref, Num: v.Num}
			}
		}
		t.pos = back
	}
	return v
}

// streamEnd returns a stream's end. It trusts the declared length if endstream or endobj follows. Otherwise the stream
// ends at the next endstream or, if there is none, at the next endobj.
func (f *File) streamEnd(start int, length Token) int {
	n := f.resolve(length)
	if n.Kind == Number && n.Num >= 0 && n.Num <= float64(len(f.data)-start) {
		end := start + int(n.Num)
		rest := bytes.TrimLeft(f.data[end:min(len(f.data), end+32)], "\r\n\t \x00")
		if bytes.HasPrefix(rest, []byte("endstream")) || bytes.HasPrefix(rest, []byte("endobj")) {
			return end
		}
	}
	if f.budget < 0 { // searched bytes count towards the limit like unpacked bytes
		return start
	}
	end := len(f.data)
	if i := bytes.Index(f.data[start:], []byte("endstream")); i >= 0 {
		end = start + i
	} else if i := bytes.Index(f.data[start:], []byte("endobj")); i >= 0 {
		end = start + i
	}
	f.budget -= int64(end - start)
	if end > start && f.data[end-1] == '\n' {
		end--
	}
	if end > start && f.data[end-1] == '\r' {
		end--
	}
	return end
}

// resolve follows a reference. It returns Null if the target is unreadable.
func (f *File) resolve(v Token) Token {
	for range 8 {
		if v.Kind != Ref {
			return v
		}
		if v.Num < 1 || v.Num >= maxObject {
			break
		}
		o, err := f.load(uint32(v.Num))
		if err != nil {
			break
		}
		v = o.value
	}
	return Token{Kind: Null}
}

func (f *File) unpack(o object) ([]byte, error) {
	if !o.stream {
		return nil, errNoStream
	}
	data := o.raw
	if f.crypt != nil && !o.plain {
		data = f.crypt.stream(o)
	}
	filters, err := f.filters(o.value)
	if err != nil {
		return nil, err
	}
	for _, flt := range filters {
		if data, err = flt.decode(data); err != nil && len(data) == 0 {
			return nil, fmt.Errorf("filter %s: %w", flt.name, err)
		}
		if f.budget -= int64(len(data)); f.budget < 0 {
			return nil, errUnpacked
		}
	}
	return data, nil
}

// objectStream is an unpacked object stream.
type objectStream struct {
	data    []byte
	numbers []uint32
	offsets []int
	index   map[uint32]int // last index of each number; nil before first use
}

func (f *File) objectStream(number uint32) (*objectStream, error) {
	if s, ok := f.packed.get(number); ok {
		return s, nil
	}
	if f.entries[number].kind == 2 {
		return nil, fmt.Errorf("object stream %d is inside another object stream", number)
	}
	o, err := f.load(number)
	if err != nil {
		return nil, err
	}
	s, err := f.openObjectStream(o)
	if err != nil {
		return nil, fmt.Errorf("object stream %d: %w", number, err)
	}
	f.packed.put(number, s, len(s.data)+16*len(s.numbers))
	return s, nil
}

func (f *File) openObjectStream(o object) (*objectStream, error) {
	data, err := f.unpack(o)
	if err != nil {
		return nil, err
	}
	s := &objectStream{data: data}
	first := f.resolve(o.value.Key("First")).integer()
	count := f.resolve(o.value.Key("N")).integer()
	t := &Scanner{data: data[:max(0, min(len(data), first))]}
	for range count {
		num, off := t.Next(), t.Next()
		if off.Kind != Number {
			break
		}
		s.numbers = append(s.numbers, uint32(max(0, num.integer())))
		s.offsets = append(s.offsets, first+off.integer())
	}
	return s, nil
}

// object reads object `number` from the object stream. `index` is the object's position according to the cross
// references. If another object is at that position, the whole stream is searched.
func (s *objectStream) object(number uint32, index int) (Token, error) {
	if index >= len(s.numbers) || s.numbers[index] != number {
		if s.index == nil {
			s.index = make(map[uint32]int, len(s.numbers))
			for i, n := range s.numbers {
				s.index[n] = i
			}
		}
		var known bool
		if index, known = s.index[number]; !known {
			index = -1
		}
	}
	if index < 0 || s.offsets[index] < 0 || s.offsets[index] >= len(s.data) {
		return Token{}, errNoObject
	}
	t := &Scanner{data: s.data, pos: s.offsets[index], objects: true}
	return t.value(), nil
}
