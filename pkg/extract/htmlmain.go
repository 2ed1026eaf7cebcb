package extract

import (
	"net/url"
	"strings"
	"unicode"

	"github.com/go-shiori/go-readability"
	"github.com/markusmobius/go-trafilatura"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// mainContent asks go-trafilatura, then go-readability, and distrusts either when it kept little of what the page
// shows or tells something else than the page. It returns nil when the page itself is the better reading: neither found
// the content, or there is nothing around it.
func (p *parser) mainContent(doc *html.Node, page string, visible int) (*html.Node, string) {
	shown := wordCounts(doc)
	enough := func(n *html.Node) bool {
		kept := len(strings.TrimSpace(nodeText(n)))
		return kept >= 200 && kept*8 >= visible || kept*3 >= visible && kept > 0
	}
	base, err := url.Parse(p.src.URL)
	if err != nil || p.src.URL == "" {
		base = nil
	}
	var best *html.Node
	result, err := trafilatura.ExtractDocument(doc, trafilatura.Options{
		OriginalURL: base, EnableFallback: true, ExcludeComments: true,
		HtmlDateMode: trafilatura.Disabled,
	})
	if err == nil && result != nil && faithful(result.ContentNode, shown) {
		if enough(result.ContentNode) {
			if nearly(doc, result.ContentNode, visible) {
				return nil, ""
			}
			return result.ContentNode, "trafilatura"
		}
		best = result.ContentNode
	}
	route := "trafilatura"
	if base == nil {
		base = &url.URL{Scheme: "http", Host: "localhost"}
	}
	article, err := readability.FromReader(strings.NewReader(page), base)
	if err == nil && faithful(article.Node, shown) {
		if enough(article.Node) {
			if nearly(doc, article.Node, visible) {
				return nil, ""
			}
			return article.Node, "readability"
		}
		if best == nil {
			best, route = article.Node, "readability"
		}
	}
	if best != nil && len(nodeText(best)) >= 1500 {
		return best, route // long enough to be an article on a page with much around it
	}
	return nil, ""
}

// nearly reports whether the extract holds almost all that the page shows, in fewer headings, items and rows. Then there
// is nothing to leave out, and the page itself is the better reading: extractors flatten plain pages.
func nearly(doc, extract *html.Node, visible int) bool {
	return len(nodeText(extract))*20 >= visible*19 && landmarks(extract) < landmarks(doc)
}

// landmarks counts the elements that give a text its structure, what surrounds the content excepted.
func landmarks(n *html.Node) int {
	count := 0
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.ElementNode || invisible(c) || chrome(c) {
			continue
		}
		switch c.DataAtom {
		case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Li, atom.Tr:
			count++
		}
		count += landmarks(c)
	}
	return count
}

// faithful reports whether an extract says only what the page says, and no more often: extractors that rebuild a page
// can repeat its text or glue the words of neighbouring elements together. One word in fifty may be new, since inline
// markup can part or join a word in either reading.
func faithful(extract *html.Node, shown map[string]int) bool {
	if extract == nil {
		return false
	}
	setAtoms(extract) // nodeText knows blocks by them
	words, added := 0, 0
	for word, n := range wordCounts(extract) {
		words += n
		added += max(0, n-shown[word])
	}
	return added*50 <= words
}

// wordCounts counts the words of the text that a reader of the tree sees.
func wordCounts(n *html.Node) map[string]int {
	counts := map[string]int{}
	for word := range strings.FieldsFuncSeq(nodeText(n), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) }) {
		counts[word]++
	}
	return counts
}
