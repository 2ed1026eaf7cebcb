package extracttest

import (
	"archive/zip"
	"bytes"
	"compress/zlib"
	"io"
	"math/rand/v2"
)

// maxInside is the maximum size, in bytes, of packed content to unpack and damage.
const maxInside = 64 << 20

// damagePacked unpacks a document's content, damages it and packs it again. Unlike damage to the packed bytes, such
// damage is not detected while unpacking. damagePacked returns nil if nothing in the document is packed.
func damagePacked(r *rand.Rand, data []byte) []byte {
	switch {
	case bytes.HasPrefix(data, []byte("PK\x03\x04")):
		return insideZip(r, data)
	case bytes.HasPrefix(data, []byte("%PDF-")):
		return insidePDF(r, data)
	}
	return nil
}

type part struct {
	name string
	data []byte
}

// insideZip changes one to three parts, removes a part, or swaps the contents of two parts.
func insideZip(r *rand.Rand, data []byte) []byte {
	parts := unpack(data)
	if len(parts) == 0 {
		return nil
	}
	switch r.IntN(6) {
	case 0:
		i := r.IntN(len(parts))
		parts = append(parts[:i], parts[i+1:]...)
	case 1:
		a, b := r.IntN(len(parts)), r.IntN(len(parts))
		parts[a].data, parts[b].data = parts[b].data, parts[a].data
	default:
		for range 1 + r.IntN(3) {
			p := &parts[r.IntN(len(parts))]
			p.data = damageContent(r, p.data)
		}
	}
	return pack(parts)
}

// damageContent replaces numbers, truncates the content, repeats part of it, or changes bytes.
func damageContent(r *rand.Rand, data []byte) []byte {
	switch r.IntN(4) {
	case 0:
		return replaceNumbers(r, data)
	case 1:
		return data[:r.IntN(len(data)+1)]
	case 2:
		if len(data) == 0 {
			return data
		}
		start := r.IntN(len(data))
		piece := data[start:min(len(data), start+1+r.IntN(2000))]
		out := append([]byte(nil), data[:start]...)
		return append(append(out, bytes.Repeat(piece, 1+r.IntN(200))...), data[start:]...)
	}
	return flipBytes(r, data, flipRates[1+r.IntN(2)])
}

// unpack returns the readable parts of a zip file, up to maxInside bytes in total.
func unpack(data []byte) []part {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil
	}
	var parts []part
	left := int64(maxInside)
	for _, f := range z.File {
		if f.UncompressedSize64 > uint64(left) {
			continue
		}
		rc, err := f.Open()
		if err != nil {
			continue
		}
		content, err := io.ReadAll(io.LimitReader(rc, left))
		rc.Close()
		if err != nil {
			continue
		}
		left -= int64(len(content))
		parts = append(parts, part{f.Name, content})
	}
	return parts
}

func pack(parts []part) []byte {
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for _, p := range parts {
		w, err := z.Create(p.name)
		if err != nil {
			return nil
		}
		if _, err := w.Write(p.data); err != nil {
			return nil
		}
	}
	if z.Close() != nil {
		return nil
	}
	return buf.Bytes()
}

// insidePDF changes up to five Flate streams. A stream must keep its length so that cross-references stay valid. If the
// changed stream would be longer, the original is kept.
func insidePDF(r *rand.Rand, data []byte) []byte {
	streams := flateStreams(data)
	if len(streams) == 0 {
		return nil
	}
	out := append([]byte(nil), data...)
	done := false
	for range 5 {
		s := streams[r.IntN(len(streams))]
		content, err := inflate(out[s.start:s.end])
		if err != nil || len(content) == 0 {
			continue
		}
		packed := deflate(damageContent(r, content))
		if len(packed) > s.end-s.start {
			continue
		}
		clear(out[s.start:s.end])
		copy(out[s.start:s.end], packed)
		done = true
	}
	if !done {
		return nil
	}
	return out
}

// flateStreams returns a PDF's streams that start like zlib data.
func flateStreams(data []byte) []span {
	var found []span
	for at := 0; ; {
		i := bytes.Index(data[at:], []byte("stream"))
		if i < 0 {
			return found
		}
		start := at + i + len("stream")
		at = start
		for start < len(data) && (data[start] == '\r' || data[start] == '\n') {
			start++
		}
		if start+2 > len(data) || data[start]&0x0f != 8 || (int(data[start])<<8|int(data[start+1]))%31 != 0 {
			continue
		}
		n := bytes.Index(data[start:], []byte("endstream"))
		if n < 0 {
			return found
		}
		found = append(found, span{start, start + n})
		at = start + n + len("endstream")
	}
}

func inflate(data []byte) ([]byte, error) {
	z, err := zlib.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	return io.ReadAll(io.LimitReader(z, maxInside))
}

func deflate(data []byte) []byte {
	var buf bytes.Buffer
	w, err := zlib.NewWriterLevel(&buf, zlib.BestCompression)
	if err != nil {
		return nil
	}
	if _, err := w.Write(data); err != nil || w.Close() != nil {
		return nil
	}
	return buf.Bytes()
}
