package html

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"

	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/wordset"
)

// voidElements is the set of HTML elements that have no end tag.
var voidElements = wordset.Of("area base basefont bgsound br col command embed frame hr image img input keygen link meta param source track wbr")

// ExpandXHTML rewrites an XHTML page's empty elements for HTML parsers: <script/> becomes <script></script>. Otherwise
// an HTML parser would read <script/> as a start tag and everything after it as the script's content.
func ExpandXHTML(page string) string {
	var out strings.Builder
	out.Grow(len(page) + len(page)/8)
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		kind := z.Next()
		raw := z.Raw()
		if kind == html.SelfClosingTagToken {
			start := raw[:len(raw)-len("/>")]
			out.Write(start)
			if name, _ := z.TagName(); !voidElements[string(name)] {
				out.WriteString("></")
				out.Write(name)
				out.WriteByte('>')
				z.NextIsNotRawText()
				continue
			}
			raw = raw[len(start):]
		}
		out.Write(raw)
		if kind == html.ErrorToken {
			return out.String()
		}
	}
}

// IsXHTML reports whether a page is XHTML: either its media type says so, or its first 2 KiB begin with an XML
// declaration and contain the word "xhtml". `declared` is the media type, with or without parameters.
func IsXHTML(page []byte, declared string) bool {
	media, _, _ := strings.Cut(declared, ";")
	if strings.EqualFold(strings.TrimSpace(media), "application/xhtml+xml") {
		return true
	}
	head := format.PageStart(page)
	return bytes.HasPrefix(head, []byte("<?xml")) && bytes.Contains(head, []byte("xhtml"))
}
