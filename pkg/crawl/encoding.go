package crawl

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

const (
	// maxEncodings is the largest number of times a body may be packed. Mistaken servers pack twice.
	maxEncodings = 2
	// maxZstdWindow is the largest window in bytes that RFC 9659 allows in HTTP. The decoder allocates it.
	maxZstdWindow = 8 << 20
	// encodingHead is the number of bytes that tell whether a body is packed.
	encodingHead = 512
)

// errEncoding names a Content-Encoding that cannot be undone.
type errEncoding string

func (e errEncoding) Error() string { return fmt.Sprintf("unknown content encoding %q", string(e)) }

// decoded undoes a Content-Encoding (RFC 9110, section 8.4), including formats that were not requested: some servers keep
// only one form. The caller bounds the number of bytes that it reads.
//
// The declaration is not trusted where the first bytes contradict it. Values that are no encoding, such as "UTF-8", count as
// none if the body is not packed.
func decoded(r io.Reader, encoding string) (io.Reader, error) {
	layers := strings.FieldsFunc(strings.ToLower(encoding), func(c rune) bool { return c == ',' || c == ' ' })
	if len(layers) > maxEncodings {
		return nil, errEncoding(encoding)
	}
	for i := len(layers) - 1; i >= 0; i-- {
		layer, _, _ := strings.Cut(layers[i], ";")
		if isNoEncoding(layer) {
			continue
		}
		var err error
		if r, err = unpacked(bufio.NewReader(r), layer); err != nil {
			return nil, fmt.Errorf("unpacking %s: %w", layer, err)
		}
	}
	return r, nil
}

// isNoEncoding reports values that leave a body as it is: the registered one, and names of other things, mostly of
// character encodings, that mistaken servers send.
func isNoEncoding(layer string) bool {
	switch layer {
	case "", "identity", "none", "null", "binary", "7bit", "8bit", "chunked", "aws-chunked", "text", "html":
		return true
	}
	return strings.Contains(layer, "/") || known(layer)
}

var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// unpacked undoes one layer. Formats with a magic number are recognised by it, whatever was declared.
func unpacked(br *bufio.Reader, layer string) (io.Reader, error) {
	head, err := br.Peek(encodingHead)
	if err != nil && !errors.Is(err, io.EOF) {
		return br, nil //nolint:nilerr // it comes back on Read
	}
	switch {
	case len(head) == 0:
		return br, nil
	case bytes.HasPrefix(head, gzipMagic):
		return gzip.NewReader(br)
	case bytes.HasPrefix(head, zstdMagic):
		// With a concurrency of 1 it starts no goroutine, and so needs no Close.
		return zstd.NewReader(br, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxZstdWindow))
	}
	switch layer {
	case "gzip", "x-gzip", "zstd", "x-zstd":
		return br, nil // it says that it is packed, and is not
	case "deflate":
		return inflate(br, head), nil
	case "br", "brotli":
		if isReadable(head) {
			return br, nil
		}
		return brotli.NewReader(br), nil
	}
	if isReadable(head) {
		return br, nil
	}
	return nil, errEncoding(layer)
}

// isReadable reports whether a body begins like text or a document of a known type. Compressed bytes do not.
func isReadable(head []byte) bool {
	media, _, _ := strings.Cut(http.DetectContentType(head), ";")
	return media != "application/octet-stream" && (media != "text/plain" || validUTF8Prefix(head))
}

// inflate takes both readings of "deflate": with the zlib header, as the RFC has it, and without, as many sent it.
func inflate(br *bufio.Reader, head []byte) io.Reader {
	if len(head) >= 2 && head[0]&0x0f == 8 && (uint16(head[0])<<8|uint16(head[1]))%31 == 0 {
		if z, err := zlib.NewReader(br); err == nil {
			return z
		}
	}
	if isReadable(head) {
		return br
	}
	return flate.NewReader(br)
}
