package crawl

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"

	"github.com/sluice/sluice/pkg/bounded"
)

const (
	maxSitemapEntries = 50_000 // sitemaps.org's limit for one file
	// maxAlternates is the maximum number of translations listed in one file, in addition to its entries.
	maxAlternates = 500_000
	// sitemapHead is the number of bytes searched for the beginning of a sitemap.
	sitemapHead = 64 << 10
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
	lastMod time.Time // zero when the sitemap does not say, or not in a form that is known
	sitemap bool
	feed    bool // of an RSS or Atom feed, which lists what is new, not what there is
	// alternate says that the address is a translation, listed within the entry of another page.
	alternate bool
}

// readSitemap reads a sitemap of any kind as a stream: urlset, sitemapindex, RSS, Atom, plain text, each also packed
// by gzip. It calls take for every entry; an error of take ends it and is returned. Memory does not grow with the
// number of entries. limit bounds the unpacked bytes; all, which may be nil, is what is left of those of several sitemaps
// together, and beyond it the reading ends with errTextSpent.
func readSitemap(r io.Reader, limit int64, all *int64, take func(sitemapEntry) error) error {
	br, err := sitemapText(r, limit, all)
	if err != nil {
		return err
	}
	head, err := br.Peek(sitemapHead)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading the sitemap: %w", err)
	}
	n, alternates := 0, 0
	counted := func(e sitemapEntry) error {
		if e.alternate {
			if alternates++; alternates > maxAlternates {
				return nil
			}
			return take(e)
		}
		if n++; n > maxSitemapEntries {
			return errTooManyEntries
		}
		return take(e)
	}
	at := xmlBegins(head)
	if at < 0 && bytes.HasPrefix(bytes.TrimSpace(head), []byte("<")) {
		at = 0 // the root element may follow a long comment
	}
	switch {
	case at >= 0:
		if _, err := br.Discard(at); err != nil {
			return fmt.Errorf("reading the sitemap: %w", err)
		}
		return readXMLSitemap(br, counted)
	case looksLikeAddresses(head):
		return readTextSitemap(br, counted)
	}
	return errNotSitemap
}

// sitemapText is the sitemap unpacked and in UTF-8, without a byte order mark.
func sitemapText(r io.Reader, limit int64, all *int64) (*bufio.Reader, error) {
	r, err := unpacked(bufio.NewReader(r), "gzip")
	if err != nil {
		return nil, fmt.Errorf("unpacking the sitemap: %w", err)
	}
	if all != nil {
		r = &shared{r: r, left: all}
	}
	br := bufio.NewReaderSize(bounded.NewReader(r, limit), 4<<10)
	head, err := br.Peek(512)
	if err != nil && !errors.Is(err, io.EOF) && len(head) == 0 {
		return nil, fmt.Errorf("reading the sitemap: %w", err)
	}
	br = bufio.NewReaderSize(transform.NewReader(br, sitemapDecoder(head)), sitemapHead)
	if bom, err := br.Peek(3); err == nil && string(bom) == "\xef\xbb\xbf" {
		_, _ = br.Discard(3)
	}
	return br, nil
}

// errTextSpent means that several sitemaps together are larger than their limit.
var errTextSpent = errors.New("larger than the limit of all sitemaps")

// shared reads from what is left for several readers.
type shared struct {
	r    io.Reader
	left *int64
}

func (s *shared) Read(p []byte) (int, error) {
	if *s.left <= 0 {
		return 0, errTextSpent
	}
	n, err := s.r.Read(p[:min(int64(len(p)), *s.left)])
	*s.left -= int64(n)
	return n, err
}

var declaredEncoding = regexp.MustCompile(`^\s*<\?xml[^>]{0,200}?\sencoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']`)

// sitemapDecoder goes by the first bytes, then by what the file declares, where that can be: whoever declares UTF-16 in
// letters of one byte each, as some libraries do, does not have it. Unknown names are taken for UTF-8. Bytes and
// characters that XML does not have become blanks, for the sake of the other addresses.
func sitemapDecoder(head []byte) transform.Transformer {
	switch {
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), bytes.HasPrefix(head, []byte("<\x00")):
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder()
	case bytes.HasPrefix(head, []byte{0xfe, 0xff}), bytes.HasPrefix(head, []byte("\x00<")):
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewDecoder()
	}
	clean := runes.Map(func(c rune) rune {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0xfffe || c == 0xffff {
			return ' '
		}
		return c
	})
	m := declaredEncoding.FindSubmatch(head)
	if m == nil {
		return clean
	}
	enc, name := charset.Lookup(string(m[1]))
	if enc == nil || name == "utf-8" || strings.HasPrefix(name, "utf-16") || name == "replacement" {
		return clean
	}
	return transform.Chain(enc.NewDecoder(), clean)
}

// sitemapRoot matches the beginning of an XML sitemap: the declaration or the root element.
var sitemapRoot = regexp.MustCompile(`(?i)<\?xml[\s?]|<(?:[a-z0-9_-]+:)?(?:urlset|sitemapindex|rss|rdf|feed)[\s>]`)

// xmlBegins returns the position in head, the first bytes of a file, where the XML of a sitemap begins. It is negative if
// there is none. The XML may follow other output, such as PHP warnings.
func xmlBegins(head []byte) int {
	trimmed := bytes.TrimSpace(head)
	if len(trimmed) > 0 && trimmed[0] == '<' && readXMLSitemap(bytes.NewReader(head), nil) == nil {
		return 0
	}
	const tries = 16
	at := 0
	for range tries {
		m := sitemapRoot.FindIndex(head[at:])
		if m == nil {
			return -1
		}
		if at += m[0]; readXMLSitemap(bytes.NewReader(head[at:]), nil) == nil {
			return at
		}
		at++
	}
	return -1
}

// looksLikeAddresses reports whether the first line that is not a comment is a web address.
func looksLikeAddresses(head []byte) bool {
	for line := range bytes.Lines(head) {
		s := strings.TrimSpace(string(line))
		if s == "" || isComment(s) {
			continue
		}
		s = addressIn(s)
		return (strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")) && !strings.ContainsAny(s, "<>\"")
	}
	return false
}

// addressIn returns the address in a line. A comment or the date of the last change may follow it.
func addressIn(line string) string {
	at := strings.IndexAny(line, " \t")
	if at < 0 {
		return line
	}
	rest := strings.TrimSpace(line[at:])
	if isComment(rest) || len(rest) > 0 && isNumber(rest[:1]) {
		return line[:at]
	}
	return line
}

// isComment reports a comment line. The protocol has no comments, but some sites use them.
func isComment(line string) bool {
	return strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") || strings.HasPrefix(line, "//")
}

func readTextSitemap(r io.Reader, take func(sitemapEntry) error) error {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 0, 4<<10), maxXMLToken)
	for sc.Scan() {
		line := strings.TrimSpace(sc.Text())
		if line == "" || isComment(line) {
			continue
		}
		if err := take(sitemapEntry{loc: addressIn(line)}); err != nil {
			return err
		}
	}
	if err := sc.Err(); err != nil {
		return fmt.Errorf("reading the sitemap: %w", err)
	}
	return nil
}

// w3cTimes are the forms of W3C Datetime, which lastmod and Atom use, and what is often written instead.
var w3cTimes = []string{
	time.DateOnly, time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04:05Z0700", time.DateTime,
	"2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01", "2006",
}

// rssTimes are the forms of RFC 822, which RSS uses.
var rssTimes = []string{
	"Mon, 2 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 2006 15:04:05 MST", "2 Jan 2006 15:04:05 -0700", "2 Jan 2006 15:04:05 MST",
	"Mon, 2 Jan 2006 15:04 -0700", "Mon, 2 Jan 2006 15:04 MST", "Mon, 2 Jan 06 15:04:05 -0700", "Mon, 2 Jan 06 15:04:05 MST",
}

// parseLastMod reads a time; what cannot be one of a page's last change is zero.
func parseLastMod(s string) time.Time {
	if s = strings.TrimSpace(s); len(s) < 4 || len(s) > 60 {
		return time.Time{}
	}
	forms := rssTimes
	if isNumber(s[:4]) {
		forms = w3cTimes
	}
	for _, form := range forms {
		// Fractions of a second may follow the seconds of any form.
		if t, err := time.Parse(form, s); err == nil && 1970 <= t.Year() && t.Year() <= maxYear {
			return t.UTC()
		}
	}
	return time.Time{}
}
