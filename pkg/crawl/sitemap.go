package crawl

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/net/html/charset"
)

const (
	maxXMLDepth       = 50
	maxXMLToken       = 64 << 10
	maxSitemapEntries = 50_000 // sitemaps.org's limit for one file
)

var (
	// errNotSitemap means that the content is something else, a page for people for instance.
	errNotSitemap = errors.New("not a sitemap")
	// errTooManyEntries means that a file has more entries than the protocol allows; those before were taken.
	errTooManyEntries = errors.New("more than 50,000 entries")
)

// sitemapEntry is one address that a sitemap lists: a page, or another sitemap.
type sitemapEntry struct {
	loc     string
	sitemap bool
}

// readSitemap reads a sitemap of any kind as a stream: urlset, sitemapindex, RSS, Atom, plain text, each also packed
// by gzip. It calls take for every entry; an error of take ends it and is returned. Memory does not grow with the
// number of entries. limit bounds the unpacked bytes.
func readSitemap(r io.Reader, limit int64, take func(sitemapEntry) error) error {
	r, err := gunzip(r)
	if err != nil {
		return fmt.Errorf("unpacking the sitemap: %w", err)
	}
	br := bufio.NewReaderSize(&capped{r: r, left: limit}, 4<<10)
	if bom, err := br.Peek(3); err == nil && string(bom) == "\xef\xbb\xbf" {
		_, _ = br.Discard(3)
	}
	head, err := br.Peek(1 << 10)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading the sitemap: %w", err)
	}
	head = bytes.TrimSpace(head)
	n := 0
	counted := func(e sitemapEntry) error {
		if n++; n > maxSitemapEntries {
			return errTooManyEntries
		}
		return take(e)
	}
	switch {
	case len(head) > 0 && head[0] == '<':
		return readXMLSitemap(br, counted)
	case looksLikeAddresses(head):
		return readTextSitemap(br, counted)
	}
	return errNotSitemap
}

// looksLikeAddresses reports whether the first line of text is a web address.
func looksLikeAddresses(head []byte) bool {
	line, _, _ := strings.Cut(string(head), "\n")
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "http://") && !strings.HasPrefix(line, "https://") || strings.ContainsAny(line, " <>\"") {
		return false
	}
	return true
}

func readTextSitemap(r io.Reader, take func(sitemapEntry) error) error {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 0, 4<<10), maxXMLToken)
	for sc.Scan() {
		line := strings.TrimSpace(sc.Text())
		if line == "" {
			continue
		}
		if err := take(sitemapEntry{loc: line}); err != nil {
			return err
		}
	}
	if err := sc.Err(); err != nil {
		return fmt.Errorf("reading the sitemap: %w", err)
	}
	return nil
}

// dialect says where in an XML sitemap the addresses are: in which element, at which depth.
type dialect struct {
	path    []string // local names below the root
	attr    bool     // the address is in the href attribute, not the text
	sitemap bool
}

var dialects = map[string]dialect{
	"urlset":       {path: []string{"url", "loc"}},
	"sitemapindex": {path: []string{"sitemap", "loc"}, sitemap: true},
	"rss":          {path: []string{"channel", "item", "link"}},
	"RDF":          {path: []string{"item", "link"}},
	"feed":         {path: []string{"entry", "link"}, attr: true},
}

// readXMLSitemap streams an XML sitemap. With take nil it only says whether this is one, by its root element.
func readXMLSitemap(r io.Reader, take func(sitemapEntry) error) error {
	dec := xml.NewDecoder(bufio.NewReader(&tokenBound{r: r}))
	dec.Strict = false // many sitemaps have a bare "&" in an address
	dec.CharsetReader = charset.NewReaderLabel
	d, err := rootDialect(dec)
	if err != nil || take == nil {
		return err
	}
	var (
		path []string // below the root
		text strings.Builder
		on   bool // within the element that holds the address
	)
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the sitemap: %w", err)
		}
		switch t := tok.(type) {
		case xml.StartElement:
			if path = append(path, t.Name.Local); len(path) > maxXMLDepth {
				return fmt.Errorf("reading the sitemap: more than %d elements within one another", maxXMLDepth)
			}
			on = matchesPath(path, d.path)
			text.Reset()
			if on && d.attr {
				text.WriteString(atomHref(t))
			}
		case xml.CharData:
			if on && !d.attr && text.Len() <= maxURLBytes {
				text.Write(t)
			}
		case xml.EndElement:
			if on {
				if loc := strings.TrimSpace(text.String()); loc != "" {
					if err := take(sitemapEntry{loc: loc, sitemap: d.sitemap}); err != nil {
						return err
					}
				}
			}
			on = false
			if len(path) == 0 {
				return nil // the root has ended
			}
			path = path[:len(path)-1]
		}
	}
}

// rootDialect reads up to the root element.
func rootDialect(dec *xml.Decoder) (dialect, error) {
	for {
		tok, err := dec.Token()
		if err != nil {
			return dialect{}, errNotSitemap
		}
		if t, ok := tok.(xml.StartElement); ok {
			d, ok := dialects[t.Name.Local]
			if !ok {
				return dialect{}, errNotSitemap
			}
			return d, nil
		}
	}
}

func matchesPath(path, want []string) bool {
	if len(path) != len(want) {
		return false
	}
	for i := range path {
		if path[i] != want[i] {
			return false
		}
	}
	return true
}

// atomHref is the address of an Atom link that leads to the entry's page.
func atomHref(t xml.StartElement) string {
	href, rel := "", "alternate"
	for _, a := range t.Attr {
		switch a.Name.Local {
		case "href":
			href = a.Value
		case "rel":
			rel = a.Value
		}
	}
	if rel != "alternate" {
		return ""
	}
	return href
}

// tokenBound fails when no tag begins or ends for too long: the XML decoder keeps a whole token in memory.
type tokenBound struct {
	r   io.Reader
	run int
}

func (b *tokenBound) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	for _, c := range p[:n] {
		if c == '<' || c == '>' {
			b.run = 0
		} else if b.run++; b.run > maxXMLToken {
			return 0, fmt.Errorf("more than %d bytes without a tag", maxXMLToken)
		}
	}
	return n, err
}
