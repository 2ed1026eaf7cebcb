package render

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"

	"github.com/sluice/sluice/pkg/bounded"
	"github.com/sluice/sluice/pkg/crawl"
)

// response is the answer to a request, as passed to the browser.
type response struct {
	status  int
	headers []*fetch.HeaderEntry
	body    []byte
}

var errNotHTML = errors.New("not an HTML page")

// get sends the request and passes the response or error to the browser.
func (n *traffic) get(ctx context.Context, e *fetch.EventRequestPaused) error {
	select {
	case n.slots <- struct{}{}:
		defer func() { <-n.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	res, err := n.exchange(ctx, e)
	if errors.Is(err, errNotHTML) && n.isDownload(e) {
		return nothing.answer(ctx, n, e)
	}
	if err != nil {
		n.recordOutcome(e, 0, n.pageError(e, err))
		return errors.Join(err, n.fail(ctx, e, network.ErrorReasonAddressUnreachable))
	}
	n.recordOutcome(e, res.status, nil)
	n.recordDocument(e, res.status)
	return n.fulfil(ctx, e, res)
}

// pageError returns an error that explains why the page itself could not be fetched.
func (n *traffic) pageError(e *fetch.EventRequestPaused, err error) error {
	u := e.Request.URL
	var known *crawl.Error
	switch {
	case errors.As(err, &known):
		return err
	case errors.Is(err, bounded.ErrTooLarge):
		return tooLarge(u, n.opts.MaxHTML)
	case errors.Is(err, errNotHTML):
		return permanent(u, "%s cannot be rendered: it is %v", u, err)
	}
	return &crawl.Error{URL: u, Message: fmt.Sprintf("%s could not be fetched: %v", u, err), Err: err}
}

func (n *traffic) exchange(ctx context.Context, e *fetch.EventRequestPaused) (response, error) {
	req, err := n.request(ctx, e)
	if err != nil {
		return response{}, err
	}
	res, err := n.transport.RoundTrip(req)
	if err != nil {
		return response{}, err
	}
	defer res.Body.Close()
	out := response{status: res.StatusCode, headers: answerHeaders(res.Header)}
	if out.status < 200 || out.status > 599 {
		return response{}, fmt.Errorf("the server answered with status %d", out.status)
	}
	if crawl.IsRedirect(out.status) || req.Method == http.MethodHead {
		return out, nil
	}
	limit := int64(maxResource)
	if n.isPage(e) {
		limit = n.opts.MaxHTML
		if err := checkPage(res.Header); err != nil {
			return response{}, err
		}
	}
	out.body, err = read(res, limit)
	if err != nil {
		return response{}, err
	}
	return out, n.subtract(len(out.body))
}

// request converts an intercepted browser request to the HTTP request that get sends.
func (n *traffic) request(ctx context.Context, e *fetch.EventRequestPaused) (*http.Request, error) {
	var body []byte
	for _, part := range e.Request.PostDataEntries {
		if body = append(body, part.Bytes...); len(body) > maxPostBytes {
			return nil, fmt.Errorf("it has more than %d bytes", maxPostBytes)
		}
	}
	if e.Request.HasPostData && len(body) == 0 {
		return nil, errors.New("its content is not accessible")
	}
	req, err := http.NewRequestWithContext(crawl.WithAsker(ctx, n.requestOrigin(e)), strings.ToUpper(e.Request.Method), e.Request.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if len(body) == 0 {
		req.Body, req.ContentLength = http.NoBody, 0
	}
	for name, value := range e.Request.Headers {
		if s, ok := value.(string); ok && !isConnectionHeader(name) {
			req.Header.Set(name, s)
		}
	}
	req.Header.Set("User-Agent", n.opts.UserAgent)
	req.Header.Set("Accept-Encoding", "gzip")
	if e.ResourceType == network.ResourceTypeDocument {
		req.Header.Set("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
	} else if req.Header.Get("Accept") == "" {
		req.Header.Set("Accept", "*/*")
	}
	if req.Header.Get("Accept-Language") == "" {
		req.Header.Set("Accept-Language", "en")
	}
	cookies, err := cdp.Call(ctx, n.session, network.GetCookies, network.GetCookiesParams{URLs: []string{e.Request.URL}})
	if err != nil {
		return nil, fmt.Errorf("looking up cookies: %w", err)
	}
	for _, c := range cookies.Cookies {
		req.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
	}
	return req, nil
}

// isConnectionHeader reports whether a header belongs to the connection or would misrepresent this client.
func isConnectionHeader(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "host", "connection", "keep-alive", "proxy-connection", "proxy-authorization", "te", "trailer", "transfer-encoding",
		"upgrade", "content-length", "accept-encoding", "cookie", "user-agent", "upgrade-insecure-requests", "expect":
		return true
	}
	return strings.HasPrefix(name, "sec-ch-")
}

// droppedHeaders are response headers about the connection or the encoding, or that would make the browser store or
// fetch something.
var droppedHeaders = map[string]bool{
	"Connection": true, "Keep-Alive": true, "Proxy-Connection": true, "Transfer-Encoding": true, "Te": true, "Trailer": true,
	"Upgrade": true, "Content-Length": true, "Content-Encoding": true, "Strict-Transport-Security": true, "Alt-Svc": true,
	"Link": true, "Nel": true, "Report-To": true, "Reporting-Endpoints": true, "Clear-Site-Data": true, "Accept-Ch": true,
	"Expect-Ct": true, "Www-Authenticate": true, "Proxy-Authenticate": true,
}

func answerHeaders(h http.Header) []*fetch.HeaderEntry {
	var out []*fetch.HeaderEntry
	for name, values := range h {
		if droppedHeaders[http.CanonicalHeaderKey(name)] {
			continue
		}
		for _, v := range values {
			out = append(out, &fetch.HeaderEntry{Name: name, Value: v})
		}
	}
	return out
}

// checkPage rejects responses that a browser would not display as a page: PDF, media, downloads.
func checkPage(h http.Header) error {
	if disposition, _, err := mime.ParseMediaType(h.Get("Content-Disposition")); err == nil && disposition == "attachment" {
		return fmt.Errorf("%w but a file to download", errNotHTML)
	}
	declared := h.Get("Content-Type")
	if declared == "" {
		return nil
	}
	media, _, err := mime.ParseMediaType(declared)
	if err != nil {
		return nil //nolint:nilerr // an invalid header contains no information about the page
	}
	switch media {
	case "text/html", "application/xhtml+xml", "text/plain":
		return nil
	}
	return fmt.Errorf("%w but of type %s", errNotHTML, media)
}

// read reads and decompresses a body. It fails if the body has more than `limit` bytes.
func read(res *http.Response, limit int64) ([]byte, error) {
	if res.ContentLength > limit {
		return nil, bounded.ErrTooLarge
	}
	var r io.Reader = res.Body
	switch encoding := strings.ToLower(strings.TrimSpace(res.Header.Get("Content-Encoding"))); encoding {
	case "", "identity":
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, fmt.Errorf("decoding the response: %w", err)
		}
		r = z
	default:
		return nil, fmt.Errorf("the server uses the unknown content encoding %q", encoding)
	}
	return bounded.ReadAll(r, limit)
}

func (n *traffic) fulfil(ctx context.Context, e *fetch.EventRequestPaused, r response) error {
	_, err := cdp.Call(ctx, n.session, fetch.FulfillRequest, fetch.FulfillRequestParams{
		RequestID: e.RequestID, ResponseCode: int64(r.status), ResponseHeaders: r.headers, Body: r.body,
	})
	return err
}

func (n *traffic) fail(ctx context.Context, e *fetch.EventRequestPaused, reason network.ErrorReason) error {
	_, err := cdp.Call(ctx, n.session, fetch.FailRequest, fetch.FailRequestParams{RequestID: e.RequestID, ErrorReason: reason})
	return err
}
