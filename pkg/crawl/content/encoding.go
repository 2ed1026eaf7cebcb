// Package content determines properties of a response's body: its compression, media type and character encoding,
// whether it can contain text, and which part of its HTML to parse. Packages sitemap, scope and crawl use it.
package content

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
	"slices"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

const (
	// Maximum number of compression layers. Misconfigured servers compress twice.
	maxEncodings = 2
	// Largest window in bytes that RFC 9659 allows in HTTP. The decoder may allocate this much.
	maxZstdWindow = 8 << 20
	// Number of bytes to examine when looking for compression.
	encodingHead = 512
)

// EncodingError is an unsupported Content-Encoding.
type EncodingError string

func (e EncodingError) Error() string { return fmt.Sprintf("unknown content encoding %q", string(e)) }

// Decode undoes a Content-Encoding (RFC 9110, section 8.4). It also supports formats that were not requested, because
// some servers store only one compressed form. The caller must limit the number of bytes it reads.
//
// If the body's first bytes contradict the declared encoding, the declaration is ignored, as is a value that is not an
// encoding, such as "UTF-8". A body with a text media type is decompressed even if no encoding is declared.
func Decode(r io.Reader, encoding, media string) (io.Reader, error) {
	layers := strings.FieldsFunc(strings.ToLower(encoding), func(c rune) bool { return c == ',' || c == ' ' })
	if len(layers) > maxEncodings {
		return nil, EncodingError(encoding)
	}
	if isText(media) && !slices.ContainsFunc(layers, isEncoding) {
		layers = []string{"gzip"}
	}
	for i := len(layers) - 1; i >= 0; i-- {
		if !isEncoding(layers[i]) {
			continue
		}
		layer, _, _ := strings.Cut(layers[i], ";")
		var err error
		if r, err = Unpack(bufio.NewReader(r), layer); err != nil {
			return nil, fmt.Errorf("unpacking %s: %w", layer, err)
		}
	}
	return r, nil
}

// isText reports whether a media type is text. A body of such a type that begins like gzip must be compressed. XML
// doesn't count: compressed sitemaps are often declared as XML, and sitemap.Read decompresses them itself.
func isText(media string) bool {
	return strings.HasPrefix(media, "text/") && media != "text/xml" || media == "application/xhtml+xml" || media == "application/json"
}

func isEncoding(layer string) bool {
	layer, _, _ = strings.Cut(layer, ";")
	return !isNoEncoding(layer)
}

// isNoEncoding reports whether a value means that the body isn't encoded: "identity", or another name that
// misconfigured servers send, usually a character encoding.
func isNoEncoding(layer string) bool {
	switch layer {
	case "", "identity", "none", "null", "binary", "7bit", "8bit", "chunked", "aws-chunked", "text", "html":
		return true
	}
	return strings.Contains(layer, "/") || known(layer)
}

// IsGzip reports whether a body begins with gzip's magic number.
func IsGzip(head []byte) bool { return bytes.HasPrefix(head, []byte{0x1f, 0x8b}) }

var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// Unpack decodes one layer of compression. A magic number in the data takes precedence over the declared format.
func Unpack(br *bufio.Reader, layer string) (io.Reader, error) {
	head, err := br.Peek(encodingHead)
	if err != nil && !errors.Is(err, io.EOF) {
		return br, nil //nolint:nilerr // Read returns the error again
	}
	switch {
	case len(head) == 0:
		return br, nil
	case IsGzip(head):
		return gzip.NewReader(br)
	case bytes.HasPrefix(head, zstdMagic):
		// With a concurrency of 1, the decoder starts no goroutine and needs no Close.
		return zstd.NewReader(br, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxZstdWindow))
	}
	switch layer {
	case "gzip", "x-gzip", "zstd", "x-zstd":
		return br, nil // declared as compressed but not compressed
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
	return nil, EncodingError(layer)
}

// isReadable reports whether a body begins like text or a document of a known type, unlike compressed bytes.
func isReadable(head []byte) bool {
	media, _, _ := strings.Cut(http.DetectContentType(head), ";")
	return media != "application/octet-stream" && (media != "text/plain" || validUTF8Prefix(head))
}

// inflate decodes both forms of "deflate": with the zlib header, as the RFC requires, and without it, as some servers
// send it.
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
