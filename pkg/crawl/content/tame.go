package content

import (
	"bytes"
	"io"

	"golang.org/x/net/html/charset"

	"github.com/sluice/sluice/pkg/wordset"
)

// A page can be made to cost the parser of HTML far more than it is long: an element that formats text and is left open is
// opened anew in every paragraph that follows, so that a few kilobytes make millions of elements, and every further body
// element is compared with all attributes of those before. Pages that could do so are tamed before they are parsed for
// links and title; what is kept of them is not touched.

const (
	// maxHTMLTags is how many "<" of a page are parsed.
	maxHTMLTags = 300_000
	// maxHTMLNodes is how many elements a page may be able to become without being tamed.
	maxHTMLNodes = 500_000
	// maxOpenElements is how many may be open at once for the parser.
	maxOpenElements = 512
	// maxBodies is how many html and body elements a page may have without being tamed.
	maxBodies = 16
)

// formatting are the elements that the parser opens anew, but for links, of which one can be open at a time.
var formatting = wordset.Of(`b big code em font i nobr s small strike strong tt u`)

// maxFormattingName is the length of the longest of these names.
const maxFormattingName = len("strike")

// Tame returns what of an HTML page is parsed, and in which character encoding that is. page is not changed.
func Tame(page []byte, label string) ([]byte, string) {
	s := survey(page)
	page = page[:s.end]
	if s.tags*(1+min(s.formatting, maxOpenElements)) <= maxHTMLNodes && s.bodies <= maxBodies {
		return page, label
	}
	// What is a tag in one encoding may be none in another, so it is looked for in the letters themselves.
	r, err := charset.NewReaderLabel(label, bytes.NewReader(page))
	if err != nil {
		r = bytes.NewReader(page)
	}
	out, err := io.ReadAll(io.LimitReader(r, 3*int64(len(page)))) // no letter takes more than three times its bytes
	if err != nil {
		return nil, label
	}
	rename(out)
	return out, "utf-8"
}

// surveyed is what could make a page costly. All of it may be counted too high: it is not known here what is text.
type surveyed struct {
	tags       int
	formatting int // elements that format
	bodies     int // html and body elements
	end        int // where the page ends for us
}

func survey(page []byte) surveyed {
	var s surveyed
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

// tagName is the name that text behind a "<" begins with, in lower case, "" if it is longer than those that matter. In
// UTF-16 there is a zero before or behind each letter.
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

// rename gives elements that format, and html and body elements beyond the first, names that mean nothing.
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
