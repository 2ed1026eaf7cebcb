package crawltest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"testing"

	"golang.org/x/text/encoding/unicode"
)

// Gzip compresses bytes.
func Gzip(b []byte) []byte {
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	_, _ = w.Write(b)
	_ = w.Close()
	return buf.Bytes()
}

// GzipBomb returns a letter repeated n times, compressed with gzip.
func GzipBomb(n int64) []byte {
	var buf bytes.Buffer
	w, _ := gzip.NewWriterLevel(&buf, gzip.BestSpeed)
	_, _ = io.CopyN(w, letters{}, n)
	_ = w.Close()
	return buf.Bytes()
}

type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

// Formats returns HTML that opens n different nested formatting elements.
func Formats(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "<b i=%d>", i)
	}
	return "<p>" + b.String()
}

// Bodies returns HTML that opens n body elements, each with a different attribute.
func Bodies(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "<body a%d>", i)
	}
	return b.String()
}

// UTF16 encodes s as UTF-16 with a byte order mark.
func UTF16(t testing.TB, e unicode.Endianness, s string) string {
	t.Helper()
	out, err := unicode.UTF16(e, unicode.UseBOM).NewEncoder().String(s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
