// Package sitemap parses all kinds of sitemaps and feeds, within limits per file and per site. Package crawl fetches
// them.
package sitemap

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"

	"github.com/sluice/sluice/pkg/bounded"
	"github.com/sluice/sluice/pkg/crawl/content"
	"github.com/sluice/sluice/pkg/lazyregexp"
)

// MaxEntries is the maximum number of entries in a file according to sitemaps.org.
const MaxEntries = 50_000

const (
	// Maximum number of translations in a file, in addition to its entries.
	maxAlternates = 500_000
	// How far into the file a sitemap may start, in bytes.
	headBytes = 64 << 10
)

var (
	// ErrNotSitemap means that the content isn't a sitemap but, for example, an ordinary page.
	ErrNotSitemap = errors.New("not a sitemap")
	// ErrTooManyEntries means that a file has more entries than the protocol allows. Read has passed the entries up to
	// the limit to its `take` function.
	ErrTooManyEntries = errors.New("more than 50,000 entries")
)

// Entry is an address in a sitemap: a page or another sitemap.
type Entry struct {
	Loc     string
	LastMod time.Time // zero if missing or in an unknown format
	Sitemap bool
	Feed    bool // from an RSS or Atom feed, which lists only new pages
	// Alternate means that the address is a translation listed in another page's entry.
	Alternate bool
}

// Read parses a sitemap of any kind as a stream: urlset, sitemapindex, RSS, Atom or plain text, optionally gzipped. It
// calls `take` for every entry. If `take` fails, Read stops and returns the error. Memory use does not depend on the
// number of entries.
//
// `limit` is the maximum number of decompressed bytes. `budget`, which may be nil, limits several sitemaps together.
// Once it is used up, Read returns ErrTextSpent.
func Read(r io.Reader, limit int64, budget *Budget, take func(Entry) error) error {
	br, err := textOf(r, limit, budget)
	if err != nil {
		return err
	}
	head, err := br.Peek(headBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading the sitemap: %w", err)
	}
	n, alternates := 0, 0
	counted := func(e Entry) error {
		if e.Alternate {
			if alternates++; alternates > maxAlternates {
				return nil
			}
			return take(e)
		}
		if n++; n > MaxEntries {
			return ErrTooManyEntries
		}
		return take(e)
	}
	at := xmlStart(head)
	if at < 0 && bytes.HasPrefix(bytes.TrimSpace(head), []byte("<")) {
		at = 0 // the root element may follow a long comment
	}
	switch {
	case at >= 0:
		if _, err := br.Discard(at); err != nil {
			return fmt.Errorf("reading the sitemap: %w", err)
		}
		return readXML(br, counted)
	case startsWithAddress(head):
		return readText(br, counted)
	}
	return ErrNotSitemap
}

// textOf returns the sitemap decompressed and in UTF-8, without a byte order mark.
func textOf(r io.Reader, limit int64, budget *Budget) (*bufio.Reader, error) {
	r, err := content.Unpack(bufio.NewReader(r), "gzip")
	if err != nil {
		return nil, fmt.Errorf("unpacking the sitemap: %w", err)
	}
	if budget != nil {
		r = &budgetReader{r: r, left: &budget.bytes}
	}
	br := bufio.NewReaderSize(bounded.NewReader(r, limit), 4<<10)
	head, err := br.Peek(512)
	if err != nil && !errors.Is(err, io.EOF) && len(head) == 0 {
		return nil, fmt.Errorf("reading the sitemap: %w", err)
	}
	br = bufio.NewReaderSize(transform.NewReader(br, decoderFor(head)), headBytes)
	if bom, err := br.Peek(3); err == nil && string(bom) == "\xef\xbb\xbf" {
		_, _ = br.Discard(3)
	}
	return br, nil
}

// ErrTextSpent means that several sitemaps together exceed their limit.
var ErrTextSpent = errors.New("the size limit for all sitemaps is reached")

// budgetReader limits the total number of bytes read by several readers.
type budgetReader struct {
	r    io.Reader
	left *int64
}

func (s *budgetReader) Read(p []byte) (int, error) {
	if *s.left <= 0 {
		return 0, ErrTextSpent
	}
	n, err := s.r.Read(p[:min(int64(len(p)), *s.left)])
	*s.left -= int64(n)
	return n, err
}

var declaredEncoding = lazyregexp.New(`^\s*<\?xml[^>]{0,200}?\sencoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']`)

// decoderFor returns a decoder for text that starts with `head`. It goes by the first bytes or, if they are
// inconclusive, the encoding declared in the XML. It ignores a declaration of UTF-16 if each letter takes only one
// byte, because some libraries declare UTF-16 but write another encoding. An unknown encoding name means UTF-8. Bytes
// and characters that are invalid in XML become blanks, because even one of them would make the whole sitemap
// unreadable.
func decoderFor(head []byte) transform.Transformer {
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
	m := declaredEncoding().FindSubmatch(head)
	if m == nil {
		return clean
	}
	enc, name := charset.Lookup(string(m[1]))
	if enc == nil || name == "utf-8" || strings.HasPrefix(name, "utf-16") || name == "replacement" {
		return clean
	}
	return transform.Chain(enc.NewDecoder(), clean)
}

// rootForm matches the start of an XML sitemap: the declaration or root element.
var rootForm = lazyregexp.New(`(?i)<\?xml[\s?]|<(?:[a-z0-9_-]+:)?(?:urlset|sitemapindex|rss|rdf|feed)[\s>]`)

// xmlStart returns the offset at which the sitemap's XML starts in `head`, the file's first bytes, or a negative number
// if there is no XML. Other output, such as PHP warnings, may come first.
func xmlStart(head []byte) int {
	trimmed := bytes.TrimSpace(head)
	if len(trimmed) > 0 && trimmed[0] == '<' && readXML(bytes.NewReader(head), nil) == nil {
		return 0
	}
	const tries = 16
	at := 0
	for range tries {
		m := rootForm().FindIndex(head[at:])
		if m == nil {
			return -1
		}
		if at += m[0]; readXML(bytes.NewReader(head[at:]), nil) == nil {
			return at
		}
		at++
	}
	return -1
}

// startsWithAddress reports whether the first line, ignoring comments, is a web address.
func startsWithAddress(head []byte) bool {
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

// addressIn returns the address in a line. A comment or the last change date may follow it.
func addressIn(line string) string {
	at := strings.IndexAny(line, " \t")
	if at < 0 {
		return line
	}
	rest := strings.TrimSpace(line[at:])
	if isComment(rest) || len(rest) > 0 && '0' <= rest[0] && rest[0] <= '9' {
		return line[:at]
	}
	return line
}

// isComment reports whether a line is a comment. The protocol has no comments, but some sites use them.
func isComment(line string) bool {
	return strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") || strings.HasPrefix(line, "//")
}

func readText(r io.Reader, take func(Entry) error) error {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 0, 4<<10), maxXMLToken)
	for sc.Scan() {
		line := strings.TrimSpace(sc.Text())
		if line == "" || isComment(line) {
			continue
		}
		if err := take(Entry{Loc: addressIn(line)}); err != nil {
			return err
		}
	}
	if err := sc.Err(); err != nil {
		return fmt.Errorf("reading the sitemap: %w", err)
	}
	return nil
}

// w3cTimes are the W3C Datetime formats, for lastmod and Atom, and common deviations.
var w3cTimes = []string{
	time.DateOnly, time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04:05Z0700", time.DateTime,
	"2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01", "2006",
}

// rssTimes are the RFC 822 formats, for RSS.
var rssTimes = []string{
	"Mon, 2 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 2006 15:04:05 MST", "2 Jan 2006 15:04:05 -0700", "2 Jan 2006 15:04:05 MST",
	"Mon, 2 Jan 2006 15:04 -0700", "Mon, 2 Jan 2006 15:04 MST", "Mon, 2 Jan 06 15:04:05 -0700", "Mon, 2 Jan 06 15:04:05 MST",
}

// parseLastMod parses a time. If the format is unknown or the year implausible, it returns the zero time.
func parseLastMod(s string) time.Time {
	if s = strings.TrimSpace(s); len(s) < 4 || len(s) > 60 {
		return time.Time{}
	}
	forms := rssTimes
	if _, err := strconv.ParseUint(s[:4], 10, 16); err == nil {
		forms = w3cTimes
	}
	for _, form := range forms {
		// time.Parse accepts fractions of a second in any format.
		if t, err := time.Parse(form, s); err == nil && 1970 <= t.Year() && t.Year() <= 2100 {
			return t.UTC()
		}
	}
	return time.Time{}
}
