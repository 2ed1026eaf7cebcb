package crawl

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/sluice/sluice/pkg/bounded"
)

// pageListHead is how much of a body is looked at to tell a list of pages from a page.
const pageListHead = 4 << 10

// isPageList reports whether the body is a sitemap or a feed, also a packed one, and no page. It rewinds the body.
func isPageList(b *Body, kind contentType) (bool, error) {
	head, err := b.head(pageListHead)
	if err != nil {
		return false, err
	}
	return isPageListHead(head, b.Size() > pageListHead, kind), nil
}

// isPageListHead is isPageList for the first bytes of a body. more says that the body is longer.
func isPageListHead(head []byte, more bool, kind contentType) bool {
	text, err := beginning(head)
	cut := more || errors.Is(err, bounded.ErrTooLarge)
	if readXMLSitemap(bytes.NewReader(text), nil) == nil || !kind.isHTML() && xmlBegins(text) >= 0 {
		return true
	}
	return (bytes.HasPrefix(head, gzipMagic) || kind.media == "text/plain") && onlyAddresses(text, cut)
}

// beginning is the text, unpacked and in UTF-8, at the beginning of what head is the beginning of. Its error says why there
// is no more of it.
func beginning(head []byte) ([]byte, error) {
	r, err := sitemapText(bytes.NewReader(head), pageListHead, nil)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
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
