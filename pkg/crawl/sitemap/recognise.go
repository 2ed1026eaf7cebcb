package sitemap

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/sluice/sluice/pkg/bounded"
	"github.com/sluice/sluice/pkg/crawl/content"
	"github.com/sluice/sluice/pkg/crawl/weburl"
)

// HeadBytes is the number of leading bytes needed to tell a sitemap from a page.
const HeadBytes = 4 << 10

// IsList reports whether a body that starts with `head` is a sitemap or feed, possibly compressed, rather than a page.
// `more` says whether the body continues after `head`.
func IsList(head []byte, more bool, kind content.Type) bool {
	text, err := decodeHead(head)
	cut := more || errors.Is(err, bounded.ErrTooLarge)
	if readXML(bytes.NewReader(text), nil) == nil || !kind.IsHTML() && xmlStart(text) >= 0 {
		return true
	}
	return (content.IsGzip(head) || kind.Media == "text/plain") && isAddressList(text, cut)
}

// decodeHead returns the text in `head`, a body's first bytes, decompressed and in UTF-8. The error says why no more
// text could be decoded; it is io.ErrUnexpectedEOF or similar if the data continues after `head`.
func decodeHead(head []byte) ([]byte, error) {
	r, err := textOf(bytes.NewReader(head), HeadBytes, nil)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// isAddressList reports whether `text` consists of lines with web addresses. If `cut` is true, the last line may be
// truncated.
func isAddressList(text []byte, cut bool) bool {
	found := false
	for line := range bytes.Lines(text) {
		s := strings.TrimSpace(string(line))
		if s == "" || cut && !bytes.HasSuffix(line, []byte("\n")) {
			continue
		}
		if _, err := weburl.Parse(s); err != nil || strings.ContainsAny(s, " <>\"") {
			return false
		}
		found = true
	}
	return found
}
