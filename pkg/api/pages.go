package api

import (
	"context"
	"crypto/sha256"
	_ "embed" // for the embedded pages
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/console"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/manual"
)

//go:embed docs.html
var docsHTML string

// serveConsole serves a file of the console, the web interface.
func (s *server) serveConsole(c *gin.Context) {
	if !console.Serve(c.Writer, c.Request) {
		s.notFound(c)
	}
}

// serveManual serves a page of the documentation, or the API reference.
func (s *server) serveManual(c *gin.Context) {
	if strings.TrimPrefix(c.Request.URL.Path, "/api") == manual.Reference {
		s.reference.write(c.Writer)
		return
	}
	switch found, err := manual.Serve(c.Writer, c.Request); {
	case err != nil:
		s.fail(c, err)
	case !found:
		s.fail(c, domain.Errorf(domain.CodeNotFound, "there is no page %s; %s lists all pages", jsonbody.Shorten(c.Request.URL.Path), manual.Root))
	}
}

// page is a self-contained HTML page with a Content-Security-Policy that forbids external resources.
type page struct {
	html   string
	policy string
}

var inline = regexp.MustCompile(`(?s)<(script|style)>(.*?)</(?:script|style)>`)

// newPage returns a page whose policy allows only the page's own scripts and styles, by hash, and the service's icon.
func newPage(html string) page {
	sources := map[string]string{"script": "", "style": ""}
	for _, m := range inline.FindAllStringSubmatch(html, -1) {
		sum := sha256.Sum256([]byte(m[2]))
		sources[m[1]] += " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	policy := "default-src 'none'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; " +
		"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
	for _, kind := range []string{"script", "style"} {
		if sources[kind] != "" {
			policy += "; " + kind + "-src" + sources[kind]
		}
	}
	return page{html: html, policy: policy}
}

func (p page) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	console.SetHeaders(w.Header(), p.policy)
	_, _ = w.Write([]byte(p.html)) // an error means that the client has disconnected
}

// GetDocs implements StrictServerInterface.
func (s *server) GetDocs(ctx context.Context, _ GetDocsRequestObject) (GetDocsResponseObject, error) {
	c, ok := ctx.(*gin.Context)
	if !ok {
		return nil, errors.New("serving the documentation: the request is missing")
	}
	return responseFunc(func(w http.ResponseWriter) error {
		if found, err := manual.Serve(w, c.Request); err != nil || !found {
			return fmt.Errorf("serving the documentation (front page found: %t): %w", found, err)
		}
		return nil
	}), nil
}

// GetOpenAPI implements StrictServerInterface.
func (s *server) GetOpenAPI(ctx context.Context, _ GetOpenAPIRequestObject) (GetOpenAPIResponseObject, error) {
	served, err := s.served()
	if err != nil {
		return nil, fmt.Errorf("encoding the OpenAPI document: %w", err)
	}
	c, ok := ctx.(*gin.Context)
	return responseFunc(func(w http.ResponseWriter) error {
		h, body := w.Header(), served.Plain
		h.Set("Content-Type", "application/json")
		h.Add("Vary", "Accept-Encoding")
		if ok && strings.Contains(c.GetHeader("Accept-Encoding"), "gzip") {
			h.Set("Content-Encoding", "gzip")
			body = served.Packed
		}
		_, err := w.Write(body)
		return err
	}), nil
}
