package html

import (
	"encoding/json"
	"net/url"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
)

const (
	// shellLetters is the minimum number of letters on a page with content. A page with fewer may be a shell that
	// scripts fill in.
	shellLetters = 100
	// maxScriptTexts is the maximum number of strings to read from the JSON in a page's scripts.
	maxScriptTexts = 2000
)

// scriptBlocks reads a page with hardly any visible text from its linked data or its scripts' JSON. `shown` is the
// number of visible letters. If neither source has much more text than that, scriptBlocks returns nil.
func (p *reader) scriptBlocks(doc *html.Node, f *pageFacts, shown int) ([]block, error) {
	base := p.pageBase(doc)
	linked, err := p.linkedBlocks(doc, base, f.ld.subjects)
	if err != nil {
		return nil, err
	}
	var data []string
	for n := range doc.Descendants() {
		if n.FirstChild != nil && n.FirstChild.Type == html.TextNode && n.DataAtom == atom.Script &&
			strings.HasPrefix(strings.ToLower(attr(n, "type")), "application/json") {
			data = append(data, n.FirstChild.Data)
		}
	}
	built, err := p.fragmentBlocks(doc, base, proseIn(data))
	if err != nil {
		return nil, err
	}
	const more = 4 // if the scripts have more than this many times the linked data's text, the linked data is just a summary
	l, b := lettersIn(linked), lettersIn(built)
	if b < shellLetters || b <= 2*shown {
		b = 0
	}
	if l <= 2*shown || l < shellLetters && hasScripts(doc) {
		l = 0
	}
	switch {
	case b > more*l:
		return built, nil
	case l > 0:
		return linked, nil
	}
	return nil, nil
}

// fragmentBlocks reads HTML fragments or plain text.
func (p *reader) fragmentBlocks(doc *html.Node, base *url.URL, texts []string) ([]block, error) {
	var blocks []block
	for _, s := range texts {
		if !strings.Contains(s, "<") {
			for line := range strings.SplitSeq(s, "\n") {
				blocks = append(blocks, block{Block: domain.Block{Kind: domain.BlockParagraph, Text: line}, node: doc})
			}
			continue
		}
		part, err := parseHTML(s)
		if err != nil {
			continue // nested too deeply to be content
		}
		w := &walker{p: p, base: base, take: func(b block) error {
			blocks = append(blocks, b)
			return nil
		}}
		if err := w.run(part); err != nil {
			return nil, err
		}
	}
	return blocks, nil
}

func lettersIn(blocks []block) int {
	sum := 0
	for _, b := range blocks {
		sum += format.CountLetters(b.Text)
	}
	return sum
}

// proseIn returns the human-readable strings in the scripts' data, in order and without duplicates.
func proseIn(scripts []string) []string {
	var texts []string
	seen := map[string]bool{}
	for _, s := range scripts {
		dec := json.NewDecoder(strings.NewReader(s))
		for len(texts) < maxScriptTexts {
			tok, err := dec.Token()
			if err != nil { // end of the script, or not JSON
				break
			}
			if text, ok := tok.(string); ok && isProse(text) && !seen[text] {
				seen[text] = true
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// isProse reports whether a string is a sentence or an HTML fragment rather than a name, address, class or code.
func isProse(s string) bool {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "<") && strings.Contains(s, "</") {
		return !strings.HasPrefix(s, "<svg") && !strings.HasPrefix(s, "<script") && !strings.HasPrefix(s, "<style")
	}
	if strings.ContainsAny(s, "{}") || strings.Contains(s, "://") && len(strings.Fields(s)) < 4 {
		return false
	}
	letters := format.CountLetters(s)
	if letters*10 < utf8.RuneCountInString(s)*7 {
		return false
	}
	return len(strings.Fields(s)) >= 5 && strings.ContainsAny(s, ".,!?:") || letters >= 15 && strings.ContainsAny(s, "。、")
}
