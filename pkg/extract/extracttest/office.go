package extracttest

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"
)

// Zip packs the parts into a zip file. It writes each part's content `repeat` times, so that a small file can hold
// large parts.
func Zip(t testing.TB, parts map[string]string, repeat int) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for name, body := range parts {
		if strings.HasSuffix(name, "/") { // a folder, which has no content
			if _, err := z.Create(name); err != nil {
				t.Fatal(err)
			}
			continue
		}
		packed, sum := deflateRepeated(t, body, repeat)
		w, err := z.CreateRaw(&zip.FileHeader{
			Name: name, Method: zip.Deflate, Flags: entryFlags, CRC32: sum,
			CompressedSize64: uint64(len(packed)), UncompressedSize64: uint64(len(body)) * uint64(repeat),
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(packed); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// entryFlags are a zip entry's flags: its checksum and sizes follow its content, and its name is UTF-8.
const entryFlags = 0x8 | 0x800

// deflateRepeated compresses the body once and repeats the compressed blocks, because compressing hundreds of megabytes
// takes seconds. It returns the DEFLATE stream and the CRC-32 of the unpacked content.
func deflateRepeated(t testing.TB, body string, repeat int) (packed []byte, sum uint32) {
	t.Helper()
	var blocks bytes.Buffer
	w, err := flate.NewWriter(&blocks, flate.DefaultCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(body)); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil { // ends at a byte boundary, without a final block
		t.Fatal(err)
	}
	content := []byte(body)
	for range repeat {
		sum = crc32.Update(sum, crc32.IEEETable, content)
	}
	return append(bytes.Repeat(blocks.Bytes(), repeat), 1, 0, 0, 0xff, 0xff), sum // a final block without content
}

// Part is a part of an office document.
type Part [2]string

// Office packs the parts into a zip file, in the given order.
func Office(t testing.TB, parts ...Part) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for _, p := range parts {
		w, err := z.Create(p[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(p[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

const relationType = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"

// Rels returns a part's relationships. Each line is "id kind target". An external target is a URL.
func Rels(part string, lines ...string) Part {
	var b strings.Builder
	b.WriteString(`<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">`)
	for _, l := range lines {
		f := strings.Fields(l)
		mode := ""
		if strings.Contains(f[2], "://") {
			mode = ` TargetMode="External"`
		}
		fmt.Fprintf(&b, `<Relationship Id="%s" Type="%s%s" Target="%s"%s/>`, f[0], relationType, f[1], f[2], mode)
	}
	dir, file, _ := strings.Cut(part, "/")
	if i := strings.LastIndex(part, "/"); i >= 0 {
		dir, file = part[:i+1], part[i+1:]
	}
	return Part{dir + "_rels/" + file + ".rels", b.String() + `</Relationships>`}
}

// BodyOf is the format string for a Word document body with one paragraph.
const BodyOf = `<w:document xmlns:w="w" xmlns:r="r"><w:body><w:p><w:r><w:t>%s</w:t></w:r></w:p></w:body></w:document>`
