package crawl

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/bounded"
	"github.com/sluice/sluice/pkg/crawl/content"
	"github.com/sluice/sluice/pkg/crawl/guard"
	"github.com/sluice/sluice/pkg/crawl/sitemap"
	"github.com/sluice/sluice/pkg/extract/html"
)

// Maximum number of bytes of an HTML page to parse for links and title. The page itself may be larger.
const maxHTMLBytes = 8 << 20

// net/http uses this many bytes to detect a content type.
const sniffedBytes = 512

// Number of bytes to search for an encoding declaration if the header has none.
const charsetBytes = 64 << 10

// hop is colly's transport for one of a fetch's requests. It enforces robots.txt, waits for a slot at the host, and
// decompresses, limits and stores the body. It passes only HTML to colly.
type hop struct {
	client  *client
	ctx     context.Context
	limit   int64          // maximum size of the body in bytes
	anyType bool           // read bodies of every type
	budget  *time.Duration // time left for the fetch

	crawlDelay time.Duration // minimum interval between two requests, from robots.txt

	private bool // the server is outside the public internet
	done    bool // the fields below are set
	status  int
	header  http.Header
	kind    content.Type
	body    *Body // nil unless the status is 2xx
}

// RoundTrip implements http.RoundTripper.
func (h *hop) RoundTrip(req *http.Request) (*http.Response, error) {
	r, err := h.client.robots.check(h.ctx, req.URL)
	if err != nil {
		return nil, err
	}
	h.crawlDelay = r.CrawlDelay
	if err := checkURL(h.client.guard, req.URL); err != nil {
		return nil, err
	}
	release, err := h.client.polite.acquire(h.ctx, req.URL.Host, req.URL.String(), h.crawlDelay)
	if err != nil {
		return nil, err
	}
	defer release()

	start := h.client.opts.Now()
	ctx, cancel := context.WithTimeout(h.ctx, *h.budget)
	defer cancel()
	var reported guardResult
	ctx = withGuardResult(ctx, &reported)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
		h.private = guard.IsPrivate(i.Conn.RemoteAddr())
	}})
	defer func() { *h.budget -= h.client.opts.Now().Sub(start) }()

	res, err := h.client.polite.send(h.ctx, accessing{h.client.transport}, req.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if h.client.opts.httpProxy() {
		h.private = reported.private
	}
	if err := h.store(req, res); err != nil {
		timedOut := ctx.Err() != nil && h.ctx.Err() == nil
		if own := (*Error)(nil); timedOut && (!errors.As(err, &own) || !own.Permanent) {
			err = ctx.Err() // the body may report the closed connection instead
		}
		return nil, err
	}
	h.done = true
	return h.forColly(req, res)
}

// store stores the response, including its body if there is content.
func (h *hop) store(req *http.Request, res *http.Response) error {
	h.status, h.header = res.StatusCode, res.Header
	u := req.URL.String()
	if res.StatusCode < 200 || res.StatusCode >= 300 || isStatusWithoutPage(res.StatusCode) {
		// Read a short error page, so that the connection can be reused.
		_, _ = io.CopyN(io.Discard, res.Body, 16<<10)
		return nil
	}
	media := content.Declared(res.Header.Get("Content-Type")).Media
	if !h.anyType && content.IsBinary(media) {
		return noTextError(u, media)
	}
	r, err := content.Decode(res.Body, res.Header.Get("Content-Encoding"), media)
	if err == nil {
		r, err = h.recognise(req, res, r)
	}
	if err == nil {
		h.body, err = spool(r, res.ContentLength, h.limit, h.client.opts.TempDir)
	}
	var (
		encoding content.EncodingError
		own      *Error
	)
	switch {
	case err == nil, errors.As(err, &own):
		return err
	case errors.Is(err, bounded.ErrTooLarge):
		return permanent(u, "%s is too large: the limit is %d bytes", u, h.limit).withCause(err)
	case errors.As(err, &encoding):
		return permanent(u, "%s cannot be read: the server uses the unknown content encoding %q", u, string(encoding)).withCause(err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return transient(u, "%s is incomplete: the connection ended early", u).withCause(err)
	default:
		return err
	}
}

// recognise detects a body's type from its first bytes. It fails for types without text, so that the rest isn't
// downloaded.
func (h *hop) recognise(req *http.Request, res *http.Response, body io.Reader) (io.Reader, error) {
	br := bufio.NewReaderSize(body, content.HeadBytes)
	head, err := br.Peek(content.HeadBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	name := content.FileName(res.Header.Get("Content-Disposition"))
	h.kind = content.Effective(res.Header.Get("Content-Type"), head[:min(len(head), sniffedBytes)], name, req.URL.Path)
	if !h.anyType && (content.HoldsNoText(h.kind, head, name, req.URL.Path) || h.kind.IsGzip() && !sitemap.IsList(head, true, h.kind)) {
		return nil, noTextError(req.URL.String(), h.kind.Media)
	}
	return br, nil
}

// forColly returns the response for colly, with a type that colly recognises. The response has a body only if it is
// HTML.
func (h *hop) forColly(req *http.Request, res *http.Response) (*http.Response, error) {
	out := *res
	out.Request = req
	out.Header = res.Header.Clone()
	out.Header.Del("Content-Encoding")
	out.Header.Del("Content-Length")
	out.Header.Set("Content-Type", h.kind.String())
	out.Uncompressed = true // otherwise colly decompresses ".xml.gz" without a limit
	out.ContentLength = -1
	out.Body = http.NoBody
	if h.body == nil || !h.kind.IsHTML() {
		return &out, nil
	}
	page, err := h.body.head(maxHTMLBytes)
	if err != nil {
		return nil, err
	}
	label := content.PageCharset(page[:min(len(page), charsetBytes)], h.kind.Charset)
	if html.IsXHTML(page, h.kind.Media) {
		page = []byte(html.ExpandXHTML(string(page)))
	}
	page, label = content.Sanitize(page, label)
	out.Header.Set("Content-Type", content.Type{Media: h.kind.Media, Charset: label}.String())
	out.Body = io.NopCloser(bytes.NewReader(page))
	return &out, nil
}

func (h *hop) release() error { return h.body.Close() }

// location returns a redirect's target, or "" for other responses.
func (h *hop) location() string {
	if !IsRedirect(h.status) {
		return ""
	}
	return strings.TrimSpace(h.header.Get("Location"))
}
