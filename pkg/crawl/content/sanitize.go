package content

import (
	"bytes"
	"io"

	"golang.org/x/net/html/charset"

	"github.com/sluice/sluice/pkg/wordset"
)

// A hostile page can slow down the HTML parser. The parser reopens an unclosed formatting element in every following
// paragraph, so a few kilobytes can become millions of elements. It also compares each body element's attributes with
// those of all earlier ones. Sanitize renames such elements before the page is parsed for links and title. The stored
// content does not change.

const (
	// Maximum number of "<" characters to parse per page.
	maxHTMLTags = 300_000
	// Above this estimated number of elements, Sanitize renames formatting and body elements.
	maxHTMLNodes = 500_000
	// Maximum number of open elements in the parser.
	maxOpenElements = 512
	// Maximum number of html and body elements. If there are more, Sanitize renames formatting and body elements.
	maxBodies = 16
)

// formatting lists the formatting elements that the parser reopens. It also reopens links, but only one link can be
// open at a time.
var formatting = wordset.Of(`b big code em font i nobr s small strike strong tt u`)

// Length of the longest name in `formatting`.
const maxFormattingName = len("strike")

// Sanitize returns the part of an HTML page to parse and its character encoding. If the page would be too slow to
// parse, the result is a copy with renamed elements. Sanitize does not modify `page`.
func Sanitize(page []byte, label string) ([]byte, string) {
	s := estimateCost(page)
	page = page[:s.end]
	if s.tags*(1+min(s.formatting, maxOpenElements)) <= maxHTMLNodes && s.bodies <= maxBodies {
		return page, label
	}
	// Decode the page first, because bytes that form a tag in one encoding may not form one in another.
	r, err := charset.NewReaderLabel(label, bytes.NewReader(page))
	if err != nil {
		r = bytes.NewReader(page)
	}
	out, err := io.ReadAll(io.LimitReader(r, 3*int64(len(page)))) // UTF-8 is at most three times as long
	if err != nil {
		return nil, label
	}
	rename(out)
	return out, "utf-8"
}

// pageCost estimates the cost of parsing a page. It may be too high, because estimateCost doesn't tell tags from text.
type pageCost struct {
	tags       int
	formatting int // number of formatting elements
	bodies     int // number of html and body elements
	end        int // end of the part to parse
}

func estimateCost(page []byte) pageCost {
	var s pageCost
	for at := 0; ; s.tags++ {
		next := bytes.IndexByte(page[at:], '<')
		if next < 0 || s.tags == maxHTMLTags {
			s.end = len(page)
			if next >= 0 {
				s.end = at + next
			}
			return s
		}
		at += next + 1
		switch name := tagName(page[at:]); {
		case formatting[name]:
			s.formatting++
		case name == "html" || name == "body":
			s.bodies++
		}
	}
}

// tagName returns the lower-case tag name after a "<", or "" if the name is longer than any relevant one. It skips zero
// bytes, because UTF-16 has one before or after each letter.
func tagName(text []byte) string {
	var name [maxFormattingName]byte
	n := 0
	for _, c := range text {
		if c == 0 {
			continue
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			break
		}
		if n == len(name) {
			return ""
		}
		name[n] = c
		n++
	}
	return string(name[:n])
}

// rename gives meaningless names to all formatting elements and to all html and body elements except the first of each.
func rename(page []byte) {
	seen := map[string]bool{}
	for at := 0; ; {
		next := bytes.IndexByte(page[at:], '<')
		if next < 0 {
			return
		}
		at += next + 1
		closes := bytes.HasPrefix(page[at:], []byte("/"))
		if closes {
			at++
		}
		switch name := tagName(page[at:]); {
		case formatting[name], seen[name]:
			page[at] = 'x'
		case (name == "html" || name == "body") && !closes:
			seen[name] = true
		}
	}
}
