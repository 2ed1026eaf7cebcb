package pdfobject

import (
	"bytes"
	"compress/flate"
	"encoding/ascii85"
	"fmt"
	"io"
)

// filter is one step in unpacking a stream. Its integer fields are parameters from the dictionary.
type filter struct {
	name                                       string
	predictor, columns, colours, bits, earlier int
}

const maxFilters = 8

// filters returns the filters in a stream's dictionary.
func (f *File) filters(dict Token) ([]filter, error) {
	names, params := f.resolve(firstKey(dict, "Filter", "F")), f.resolve(firstKey(dict, "DecodeParms", "DP"))
	if names.Kind == Name {
		names = Token{Kind: Array, Items: []Token{names}}
		params = Token{Kind: Array, Items: []Token{firstItem(params)}}
	}
	if len(names.Items) > maxFilters {
		return nil, fmt.Errorf("the stream has %d filters, more than %d", len(names.Items), maxFilters)
	}
	var out []filter
	for i, n := range names.Items {
		flt := filter{name: f.resolve(n).Str, predictor: 1, columns: 1, colours: 1, bits: 8, earlier: 1}
		if i < len(params.Items) {
			p := f.resolve(params.Items[i])
			for key, to := range map[string]*int{"Predictor": &flt.predictor, "Columns": &flt.columns, "Colors": &flt.colours, "BitsPerComponent": &flt.bits, "EarlyChange": &flt.earlier} {
				if v := f.resolve(p.Key(key)); v.Kind == Number {
					*to = v.integer()
				}
			}
		}
		out = append(out, flt)
	}
	return out, nil
}

func firstKey(dict Token, names ...string) Token {
	for _, n := range names {
		if v := dict.Key(n); v.Kind != Null && (v.Kind != String) {
			return v
		}
	}
	return Token{Kind: Null}
}

// firstItem returns an array's first item. Any other value is returned unchanged.
func firstItem(v Token) Token {
	if v.Kind == Array && len(v.Items) > 0 {
		return v.Items[0]
	}
	return v
}

// decode undoes the filter. On failure, it also returns the data decoded so far.
func (flt filter) decode(data []byte) ([]byte, error) {
	var err error
	switch flt.name {
	case "FlateDecode", "Fl":
		data, err = inflate(data)
		return flt.unpredict(data), err
	case "LZWDecode", "LZW":
		return flt.unpredict(unLZW(data, flt.earlier != 0)), nil
	case "ASCIIHexDecode", "AHx":
		return (&Scanner{data: append([]byte{'<'}, data...)}).hexBytes(), nil
	case "ASCII85Decode", "A85":
		return un85(data)
	case "RunLengthDecode", "RL":
		return unRunLength(data), nil
	case "Crypt":
		return data, nil // the data has already been decrypted
	}
	return nil, fmt.Errorf("unsupported filter %q", flt.name)
}

// inflate unpacks zlib data, ignoring its checksum. If the header is damaged, the data after it may still be valid.
func inflate(data []byte) ([]byte, error) {
	data = bytes.TrimLeft(data, "\r\n")
	if len(data) < 2 {
		return nil, io.ErrUnexpectedEOF
	}
	body := data
	if data[0]&0xf == 8 {
		body = data[2:]
	}
	out, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(body)), MaxStream))
	if len(out) == 0 && err != nil && len(body) == len(data) {
		out, err = io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(data[2:])), MaxStream))
	}
	if len(out) == MaxStream {
		return out, errUnpacked
	}
	return out, err
}

func un85(data []byte) ([]byte, error) {
	data = bytes.TrimPrefix(bytes.TrimLeft(data, "\r\n\t \x00"), []byte("<~"))
	if i := bytes.IndexByte(data, '~'); i >= 0 {
		data = data[:i]
	}
	clean := make([]byte, 0, len(data))
	for _, c := range data {
		if c >= '!' && c <= 'u' || c == 'z' {
			clean = append(clean, c)
		}
	}
	clean = clean[:min(len(clean), MaxStream)]
	zeros := bytes.Count(clean, []byte{'z'}) // each z encodes four bytes, and every other character four fifths of a byte
	out := make([]byte, 4*zeros+(len(clean)-zeros)/5*4+8)
	n, _, err := ascii85.Decode(out, clean, true)
	return out[:n], err
}

func unRunLength(data []byte) []byte {
	var out []byte
	for i := 0; i < len(data) && data[i] != 128 && len(out) < MaxStream; {
		n := int(data[i])
		i++
		if n < 128 {
			end := min(len(data), i+n+1)
			out = append(out, data[i:end]...)
			i = end
		} else if i < len(data) {
			out = append(out, bytes.Repeat(data[i:i+1], 257-n)...)
			i++
		}
	}
	return out
}

// unLZW decompresses the variant of LZW used by TIFF and PDF, whose codes become longer as the table grows. If `early`
// is true, as is usual, codes become longer one table entry before all codes of the old length are used up.
func unLZW(data []byte, early bool) []byte {
	const clear, end = 256, 257
	type item struct {
		from, n int // a string's offset and length in the output
	}
	table := make([]item, 258, 4096)
	var out []byte
	width, acc, bits := 9, uint32(0), 0
	last := item{n: 0}
	ahead := 0
	if early {
		ahead = 1
	}
	for _, c := range data {
		acc = acc<<8 | uint32(c)
		bits += 8
		if bits < width {
			continue
		}
		code := int(acc >> (bits - width) & (1<<width - 1))
		bits -= width
		at := len(out)
		switch {
		case code == clear:
			table, width, last = table[:258], 9, item{}
			continue
		case code == end || len(out) > MaxStream:
			return out
		case code < 256:
			out = append(out, byte(code))
		case code < len(table):
			it := table[code]
			out = append(out, out[it.from:it.from+it.n]...)
		case code == len(table) && last.n > 0:
			out = append(out, out[last.from:last.from+last.n]...)
			out = append(out, out[at])
		default:
			return out // damaged
		}
		if last.n > 0 && len(table) < 4096 {
			table = append(table, item{last.from, last.n + 1}) // the previous string and the first byte of this one
		}
		last = item{at, len(out) - at}
		for width < 12 && len(table)+ahead >= 1<<width {
			width++
		}
	}
	return out
}

// unpredict undoes the predictor, which stores differences between neighbouring bytes.
func (flt filter) unpredict(data []byte) []byte {
	if flt.predictor <= 1 || flt.columns < 1 || flt.colours < 1 || flt.bits < 1 || flt.columns > 1<<20 || flt.colours > 64 || flt.bits > 32 {
		return data
	}
	pixel := max(1, flt.colours*flt.bits/8)
	row := (flt.columns*flt.colours*flt.bits + 7) / 8
	if row > MaxStream {
		return data
	}
	if flt.predictor == 2 {
		if flt.bits == 8 {
			for start := 0; start < len(data); start += row {
				for i := start + pixel; i < min(len(data), start+row); i++ {
					data[i] += data[i-pixel]
				}
			}
		}
		return data
	}
	out := make([]byte, 0, len(data))
	before := make([]byte, row)
	for len(data) > 1 {
		kind := data[0]
		n := min(row, len(data)-1)
		line := data[1 : 1+n]
		data = data[1+n:]
		for i := range line {
			left, up, corner := byte(0), before[i], byte(0)
			if i >= pixel {
				left, corner = line[i-pixel], before[i-pixel]
			}
			switch kind {
			case 1:
				line[i] += left
			case 2:
				line[i] += up
			case 3:
				line[i] += byte((int(left) + int(up)) / 2)
			case 4:
				line[i] += paeth(left, up, corner)
			}
		}
		out = append(out, line...)
		before = line
		if n < row {
			break
		}
	}
	return out
}

// paeth returns the neighbour nearest to left + up - corner.
func paeth(left, up, corner byte) byte {
	p := int(left) + int(up) - int(corner)
	a, b, c := abs(p-int(left)), abs(p-int(up)), abs(p-int(corner))
	switch {
	case a <= b && a <= c:
		return left
	case b <= c:
		return up
	}
	return corner
}

func abs(n int) int { return max(n, -n) }
