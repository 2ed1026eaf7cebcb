package crawl

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
)

// pageListHead is how much of a body is looked at to tell a list of pages from a page.
const pageListHead = 4 << 10

// isPageList reports whether the body is a sitemap or a feed, also a packed one, and no page. It rewinds the body.
func isPageList(b *Body, kind contentType) (bool, error) {
	head, err := b.head(pageListHead)
	if err != nil {
		return false, err
	}
	cut := b.Size() > pageListHead
	packed := bytes.HasPrefix(head, []byte{0x1f, 0x8b})
	if packed {
		head = unpackHead(head)
		cut = cut || len(head) == pageListHead
	}
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	if readXMLSitemap(bytes.NewReader(head), nil) == nil {
		return true, nil
	}
	return (packed || kind.media == "text/plain") && onlyAddresses(head, cut), nil
}

// unpackHead unpacks the beginning of what head is the beginning of.
func unpackHead(head []byte) []byte {
	z, err := gzip.NewReader(bytes.NewReader(head))
	if err != nil {
		return nil
	}
	out, _ := io.ReadAll(io.LimitReader(z, pageListHead)) // what is cut off ends in an error
	return out
}

// onlyAddresses reports whether text is lines of web addresses. cut says that its last line may be cut off.
func onlyAddresses(text []byte, cut bool) bool {
	found := false
	for line := range bytes.Lines(text) {
		s := strings.TrimSpace(string(line))
		if s == "" || cut && !bytes.HasSuffix(line, []byte("\n")) {
			continue
		}
		if !isWebAddress(s) || strings.ContainsAny(s, " <>\"") {
			return false
		}
		found = true
	}
	return found
}
