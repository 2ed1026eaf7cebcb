package crawl

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sluice/sluice/pkg/crawl/robots"
)

func TestFetch_ignores_malformed_header_lines(t *testing.T) {
	t.Parallel()
	for name, lines := range map[string]string{
		"a line without a colon":            "this is no header\r\n",
		"a line without a name":             ": value\r\n",
		"a blank in a name":                 "Bad Name: value\r\n",
		"a blank before the colon":          "X-Powered-By : value\r\n",
		"a control character":               "X-Bad: a\x01b\r\n",
		"a bracket in a name":               "<b>Warning</b>: Undefined variable\r\n",
		"a line that goes on":               "broken\r\n and goes on: here\r\n",
		"lines without carriage returns":    "broken\nX-Good: 1\n",
		"a status line within the header":   "HTTP/1.1 200 OK\r\n",
		"a first line that begins blank":    " X-Odd: 1\r\n",
		"an interim response that has some": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := raw(t, func(w *bufio.Writer) {
				if lines == "" {
					fmt.Fprint(w, "HTTP/1.1 103 Early Hints\r\nbroken\r\nLink: </a.css>; rel=preload\r\n\r\n")
				}
				fmt.Fprintf(w, "HTTP/1.1 200 OK\r\n%sContent-Type: text/plain\r\nETag: \"1\"\r\nX-Long: a\r\n b\r\nContent-Length: 7\r\n\r\nno: end", lines)
			})
			p, body, err := fetch(t, local(t), PageRequest{URL: at})
			if err != nil || body != "no: end" || p.ETag != `"1"` || p.MIMEType != "text/plain" {
				t.Errorf("got %q and %+v, %v", body, p, err)
			}
		})
	}
}

func TestFetch_ignores_malformed_header_lines_behind_TLS(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == robots.Path {
			http.NotFound(w, r)
			return
		}
		asked.Add(1)
		conn, buf, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Errorf("hijacking: %v", err)
			return
		}
		defer conn.Close()
		fmt.Fprint(buf, "HTTP/1.1 200 OK\r\nbroken\r\nContent-Type: text/plain\r\n\r\nwithout a length")
		_ = buf.Flush()
	}))
	s.Config.ErrorLog = discardLog()
	s.StartTLS()
	t.Cleanup(s.Close)
	c := local(t)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	c.transport.TLSClientConfig = &tls.Config{RootCAs: roots}
	_, body, err := fetch(t, c, PageRequest{URL: s.URL + "/a"})
	if err != nil || body != "without a length" || asked.Load() != 2 {
		t.Errorf("got %q in %d requests, %v", body, asked.Load(), err)
	}
}

func TestTolerantConnections_pass_the_guard_and_are_bounded(t *testing.T) {
	t.Parallel()
	t.Run("an address that may not be reached", func(t *testing.T) {
		t.Parallel()
		c := New(Options{})
		t.Cleanup(c.Close)
		req := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:9999/", nil)
		req.RequestURI = ""
		if _, err := c.transport.tolerant().RoundTrip(req); err == nil || !strings.Contains(err.Error(), "127.0.0.1") {
			t.Errorf("got %v", err)
		}
	})
	for name, header := range map[string]string{
		"a header without end":         "HTTP/1.1 200 OK\r\nbroken\r\n" + strings.Repeat("X-A: "+strings.Repeat("b", 1000)+"\r\n", 5_000),
		"a line without end":           "HTTP/1.1 200 OK\r\nbroken\r\nX-A: " + strings.Repeat("b", 5<<20),
		"interim responses for ever":   strings.Repeat("HTTP/1.1 103 Early Hints\r\nbroken\r\n\r\n", 200_000),
		"a header that breaks off":     "HTTP/1.1 200 OK\r\nbroken\r\nContent-Type: te",
		"malformed lines without end":  "HTTP/1.1 200 OK\r\n" + strings.Repeat("broken\r\n", 1_000_000),
		"a status line and no more":    "HTTP/1.1 200 OK\r\nbroken\r\n",
		"text in place of a new reply": "HTTP/1.1 103 Early Hints\r\nbroken\r\n\r\nhello\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := raw(t, func(w *bufio.Writer) { _, _ = w.WriteString(header) })
			_, _, err := fetch(t, local(t), PageRequest{URL: at})
			wantError(t, err)
		})
	}
}

func FuzzCleanHeader(f *testing.F) {
	for _, s := range []string{"HTTP/1.1 200 OK\r\nbroken\r\nA: b\r\n\r\nbody", "HTTP/1.1 100 Continue\n\nHTTP/1.1 200 OK\n\n", "x", "HTTP/1.1 200 OK\r\n a: b\r\n\r\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		client, server := net.Pipe()
		defer client.Close()
		go func() {
			_, _ = server.Write([]byte(s))
			_ = server.Close()
		}()
		in := bufio.NewReader(client)
		out, err := cleanHeader(in)
		if len(out) > len(s) {
			t.Errorf("%q became longer: %q, %v", s, out, err)
		}
	})
}
