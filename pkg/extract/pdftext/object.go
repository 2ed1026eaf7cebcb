package pdftext

import (
	"bytes"
	"errors"
	"fmt"
)

// object is one object of a file.
type object struct {
	value  token
	stream bool
	raw    []byte // data of a stream as in the file
	number uint32
	gen    uint32
	plain  bool // it is not encrypted itself, because it was packed in an encrypted stream
}

var errNoObject = errors.New("no such object")

// load reads an object. If it is not at its cross-referenced location, the whole file is searched for it.
func (f *file) load(number uint32) (object, error) {
	e := f.entries[number]
	if f.loading[number] || len(f.loading) > maxDepth {
		return object{}, fmt.Errorf("object %d needs itself", number)
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

func (f *file) loadAt(number uint32, e entry) (object, error) {
	switch e.kind {
	case 1:
		o, _, err := f.parse(int(e.at))
		if err == nil && o.number != number {
			err = fmt.Errorf("object %d lies where object %d should", o.number, number)
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

// parse reads the object at an offset and returns its end.
func (f *file) parse(at int) (object, int, error) {
	if at < 0 || at >= len(f.data) {
		return object{}, at, errors.New("the object lies outside the file")
	}
	t := &tokenizer{data: f.data, pos: at, objects: true}
	num, gen, op := t.next(), t.next(), t.next()
	if num.kind != tokNumber || gen.kind != tokNumber || op.kind != tokOperator || op.str != "obj" {
		return object{}, at, fmt.Errorf("there is no object at offset %d", at)
	}
	o := object{number: uint32(max(0, num.integer())), gen: uint32(max(0, gen.integer()))}
	o.value = t.value()
	if o.value.kind != tokDict {
		return o, t.pos, nil
	}
	if end := t.pos; t.next().str != "stream" {
		return o, end, nil
	}
	start := t.pos
	if bytes.HasPrefix(f.data[start:], []byte("\r\n")) {
		start += 2
	} else if start < len(f.data) && (f.data[start] == '\n' || f.data[start] == '\r') {
		start++
	}
	o.stream = true
	end := f.streamEnd(start, o.value.key("Length"))
	o.raw = f.data[start:end]
	return o, end, nil
}

// value reads one value, which may be a reference.
func (t *tokenizer) value() token {
	v := t.next()
	if v.kind == tokOperator && v.str == "endobj" {
		return token{kind: tokNull}
	}
	if v.kind == tokNumber {
		back := t.pos
		if gen := t.next(); gen.kind == tokNumber {
			if r := t.next(); r.kind == tokOperator && r.str == "R" {
				return token{kind: tokRef, num: v.num}
			}
		}
		t.pos = back
	}
	return v
}

// streamEnd returns the end of a stream: according to its length, if the keyword endstream is there, else at that
// keyword.
func (f *file) streamEnd(start int, length token) int {
	n := f.resolve(length)
	if n.kind == tokNumber && n.num >= 0 && n.num <= float64(len(f.data)-start) {
		end := start + int(n.num)
		rest := bytes.TrimLeft(f.data[end:min(len(f.data), end+32)], "\r\n\t \x00")
		if bytes.HasPrefix(rest, []byte("endstream")) || bytes.HasPrefix(rest, []byte("endobj")) {
			return end
		}
	}
	if f.budget < 0 { // searched bytes count like unpacked bytes
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

// resolve follows a reference. Values that cannot be read are null.
func (f *file) resolve(v token) token {
	for range 8 {
		if v.kind != tokRef {
			return v
		}
		if v.num < 1 || v.num >= maxObject {
			break
		}
		o, err := f.load(uint32(v.num))
		if err != nil {
			break
		}
		v = o.value
	}
	return token{kind: tokNull}
}

// stream unpacks the stream with an object number. If the stream is damaged, it returns the data before the damage.
func (f *file) stream(number uint32) ([]byte, error) {
	o, err := f.load(number)
	if err != nil {
		return nil, err
	}
	return f.unpack(o)
}

func (f *file) unpack(o object) ([]byte, error) {
	if !o.stream {
		return nil, errors.New("the object is no stream")
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

// objectStream is an unpacked stream of objects.
type objectStream struct {
	data    []byte
	numbers []uint32
	offsets []int
	index   map[uint32]int // last index of each number; nil before first use
}

func (f *file) objectStream(number uint32) (*objectStream, error) {
	if s, ok := f.packed.get(number); ok {
		return s, nil
	}
	if f.entries[number].kind == 2 {
		return nil, fmt.Errorf("object stream %d lies in another", number)
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

func (f *file) openObjectStream(o object) (*objectStream, error) {
	data, err := f.unpack(o)
	if err != nil {
		return nil, err
	}
	s := &objectStream{data: data}
	first := f.resolve(o.value.key("First")).integer()
	count := f.resolve(o.value.key("N")).integer()
	t := &tokenizer{data: data[:max(0, min(len(data), first))]}
	for range count {
		num, off := t.next(), t.next()
		if off.kind != tokNumber {
			break
		}
		s.numbers = append(s.numbers, uint32(max(0, num.integer())))
		s.offsets = append(s.offsets, first+off.integer())
	}
	return s, nil
}

// object reads an object of the stream, by its index if the number there is right.
func (s *objectStream) object(number uint32, index int) (token, error) {
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
		return token{}, errNoObject
	}
	t := &tokenizer{data: s.data, pos: s.offsets[index], objects: true}
	return t.value(), nil
}
