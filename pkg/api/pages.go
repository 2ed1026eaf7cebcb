package api

import (
	"context"
	_ "embed" // for the embedded pages
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/console"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/manual"
)

//go:embed docs.html
var docsHTML string

// serveConsole serves a file for the web interface.
func (s *server) serveConsole(c *gin.Context) {
	if !console.Serve(c.Writer, c.Request) {
		s.notFound(c)
	}
}

// serveManual serves a documentation page or the API reference.
func (s *server) serveManual(c *gin.Context) {
	if strings.TrimPrefix(c.Request.URL.Path, "/api") == manual.Reference {
		s.reference.Write(c.Writer)
		return
	}
	switch found, err := manual.Serve(c.Writer, c.Request); {
	case err != nil:
		s.fail(c, err)
	case !found:
		s.fail(c, domain.Errorf(domain.CodeNotFound, "there is no page %s; %s lists all pages", jsonbody.Shorten(c.Request.URL.Path), manual.Root))
	}
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
