package crawl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"

	"golang.org/x/net/html"

	"github.com/sluice/sluice/pkg/bounded"
	"github.com/sluice/sluice/pkg/crawl/content"
	"github.com/sluice/sluice/pkg/crawl/scope"
	"github.com/sluice/sluice/pkg/crawl/weburl"
)

// Renderer renders a page in a browser, including its scripts. It must send all of the page's requests through `via`,
// which returns an *Error for each request the crawler refuses. Each request's context must name the origin of the
// document that sends it; see WithAsker. All errors from Render are *Error unless ctx was done first.
type Renderer interface {
	Render(ctx context.Context, url string, via http.RoundTripper) (Rendered, error)
}

// render runs a page's scripts in a browser and returns the result with its text, links and metadata. `shell` is the
// page as the server sent it. The validators of `shell` are dropped, because they can stay the same when the rendered
// content changes.
func (c *Crawler) render(ctx context.Context, req PageRequest, sc *scope.Scope, shell Page, a response) (Page, error) {
	if c.opts.Renderer == nil {
		return Page{}, permanent(shell.URL, "%s shows its text only with JavaScript: to render such pages, set CHROME_URL to the "+
			"address of a browser, or SLUICE_CHROMIUM=auto if Chromium is installed", shell.URL)
	}
	out, err := c.opts.Renderer.Render(ctx, shell.URL, c.browse(ctx, a))
	var known *Error
	switch {
	case err == nil:
	case errors.As(err, &known):
		return Page{}, known
	case ctx.Err() != nil:
		return Page{}, fmt.Errorf("rendering %s: %w", shell.URL, context.Cause(ctx))
	default:
		return Page{}, transient(shell.URL, "%s could not be rendered: %s", shell.URL, rootCause(err)).withCause(err)
	}
	if out.Status != 0 && (out.Status < 200 || out.Status >= 300) {
		return Page{}, statusError(shell.URL, out.Status, http.Header{}, c.opts.Now())
	}
	final, err := weburl.Parse(out.URL)
	if err != nil {
		return Page{}, permanent(shell.URL, "scripts on %s lead to %.200q, which is not a web address", shell.URL, out.URL).withCause(err)
	}
	if err := checkLanding(req, sc, final); err != nil {
		return Page{}, err
	}
	body, err := spool(bytes.NewReader(out.HTML), int64(len(out.HTML)), c.opts.MaxBody, c.opts.TempDir)
	if errors.Is(err, bounded.ErrTooLarge) {
		return Page{}, permanent(shell.URL, "%s is too large: the limit is %d bytes", shell.URL, c.opts.MaxBody).withCause(err)
	}
	if err != nil {
		return Page{}, fmt.Errorf("storing the rendered page %s: %w", shell.URL, err)
	}
	p := Page{
		StatusCode: shell.StatusCode, URL: final.String(), Body: body, MIMEType: "text/html; charset=utf-8",
		Redirects: shell.Redirects, Rendered: true,
	}
	reader := newPageReader(c.product, req, sc)
	page, _ := content.Sanitize(out.HTML[:min(len(out.HTML), maxHTMLBytes)], "utf-8")
	if doc, err := html.Parse(bytes.NewReader(page)); err == nil {
		reader.read(doc)
		if err := reader.hiddenError(shell.Redirects, final); err != nil {
			return Page{}, errors.Join(err, p.Close())
		}
	} // otherwise the page is nested too deeply, and extraction handles it in its own way
	reader.finish(&p, a.header, final)
	if err := a.body.Close(); err != nil {
		return Page{}, errors.Join(fmt.Errorf("releasing the unrendered body of %s: %w", shell.URL, err), p.Close())
	}
	return p, nil
}
