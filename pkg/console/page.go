package console

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"

	"github.com/sluice/sluice/pkg/lazyregexp"
)

// Page is a self-contained HTML page whose Content-Security-Policy forbids external resources.
type Page struct {
	html   string
	policy string
}

var inline = lazyregexp.New(`(?s)<(script|style)>(.*?)</(?:script|style)>`)

// NewPage returns a page whose policy allows only the service's icon and the page's own scripts and styles, by hash.
func NewPage(html string) Page {
	sources := map[string]string{"script": "", "style": ""}
	for _, m := range inline().FindAllStringSubmatch(html, -1) {
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
	return Page{html: html, policy: policy}
}

// Write writes the page as a response.
func (p Page) Write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	SetHeaders(w.Header(), p.policy)
	_, _ = w.Write([]byte(p.html)) // fails only if the client has disconnected
}
