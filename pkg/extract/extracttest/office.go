package extracttest

import (
	"archive/zip"
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// Zip packs the parts into a zip file, each part's content `repeat` times, so that a small file can hold large parts.
func Zip(t testing.TB, parts map[string]string, repeat int) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for name, body := range parts {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		for range repeat {
			if _, err := w.Write([]byte(body)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
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

// Rels returns a part's relationships. Each line is "id kind target". An external target is an address.
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
