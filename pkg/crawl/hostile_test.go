package crawl

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/crawl/crawltest"
	"github.com/sluice/sluice/pkg/domain"
)

func discardLog() *log.Logger { return log.New(io.Discard, "", 0) }

// raw starts a server that responds to each page request with the bytes written by `answer`.
func raw(t *testing.T, answer func(w *bufio.Writer)) string {
	t.Helper()
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		conn, buf, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Errorf("hijacking: %v", err)
			return
		}
		defer conn.Close()
		answer(buf.Writer)
		_ = buf.Flush()
	}))
	return s.URL + "/page"
}

func TestFetch_survives_hostile_servers(t *testing.T) {
	t.Parallel()
	small := func(o *Options) { o.MaxBody = 4 << 20 }
	hasty := func(o *Options) { o.Timeout, o.HeaderTimeout = 500*time.Millisecond, 300*time.Millisecond }
	for name, tc := range map[string]struct {
		answer    func(w *bufio.Writer)
		permanent bool
		says      string
	}{
		"an endless body": {
			answer: func(w *bufio.Writer) {
				fmt.Fprint(w, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
				for range 1_000_000 {
					if _, err := w.WriteString(strings.Repeat("x", 1_000)); err != nil {
						return
					}
				}
			},
			permanent: true, says: "too large",
		},
		"a header of ten megabytes": {
			answer: func(w *bufio.Writer) {
				fmt.Fprint(w, "HTTP/1.1 200 OK\r\nX-Big: ")
				for range 10_000 {
					if _, err := w.WriteString(strings.Repeat("x", 1_000)); err != nil {
						return
					}
				}
				fmt.Fprint(w, "\r\n\r\n")
			},
			permanent: true, says: "header",
		},
		"a body shorter than said": {
			answer: func(w *bufio.Writer) {
				fmt.Fprint(w, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\nshort")
			},
			says: "is incomplete",
		},
		"a body that ends within a chunk": {
			answer: func(w *bufio.Writer) {
				fmt.Fprint(w, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n100\r\nshort")
			},
			says: "is incomplete",
		},
		"a body that ends before its last chunk": {
			answer: func(w *bufio.Writer) {
				fmt.Fprint(w, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n")
			},
			says: "is incomplete",
		},
		"packed content that ends too early": {
			answer: func(w *bufio.Writer) {
				packed := crawltest.Gzip(bytes.Repeat([]byte("some text "), 1_000))
				fmt.Fprintf(w, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", len(packed)/2, packed[:len(packed)/2])
			},
			says: "is incomplete",
		},
		"Brotli that ends too early": {
			answer: func(w *bufio.Writer) {
				fmt.Fprint(w, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: br\r\nContent-Length: 3\r\n\r\n\x0b\x02\x80")
			},
			says: "is incomplete",
		},
		"a bomb of Brotli": {
			answer: func(w *bufio.Writer) {
				packed := brotlied(bytes.Repeat([]byte("a"), 64<<20))
				fmt.Fprintf(w, "HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: %d\r\n\r\n%s", len(packed), packed)
			},
			permanent: true, says: "too large",
		},
		"a bomb of Zstandard": {
			answer: func(w *bufio.Writer) {
				packed := zstded(bytes.Repeat([]byte("a"), 64<<20))
				fmt.Fprintf(w, "HTTP/1.1 200 OK\r\nContent-Encoding: zstd\r\nContent-Length: %d\r\n\r\n%s", len(packed), packed)
			},
			permanent: true, says: "too large",
		},
		"Zstandard that asks for a window of a gigabyte": {
			answer: func(w *bufio.Writer) {
				// RFC 8878, section 3.1.1.1: no content size, no checksum, a window of 1 << 30.
				fmt.Fprint(w, "HTTP/1.1 200 OK\r\nContent-Encoding: zstd\r\nContent-Length: 10\r\n\r\n\x28\xb5\x2f\xfd\x00\xa0\x09\x00\x00x")
			},
			says: "window size exceeded",
		},
		"Zstandard that is broken": {
			answer: func(w *bufio.Writer) {
				fmt.Fprint(w, "HTTP/1.1 200 OK\r\nContent-Encoding: zstd\r\nContent-Length: 12\r\n\r\n\x28\xb5\x2f\xfd\x04\x00\xff\xff\xff\xff\xff\xff")
			},
			says: "could not be fetched",
		},
		"a length that is no number": {
			answer: func(w *bufio.Writer) { fmt.Fprint(w, "HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\nx") },
			says:   "Content-Length",
		},
		"no HTTP at all": {
			answer: func(w *bufio.Writer) { fmt.Fprint(w, "220 smtp.example ready\r\n") },
			says:   "could not be fetched",
		},
		"nothing": {
			answer: func(*bufio.Writer) {},
			says:   "could not be fetched",
		},
		"packed content that is broken": {
			answer: func(w *bufio.Writer) {
				fmt.Fprint(w, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 12\r\n\r\n\x1f\x8b\x08\x00aaaaaaaa")
			},
			says: "is incomplete",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := fetch(t, local(t, small), PageRequest{URL: raw(t, tc.answer)})
			if e := wantError(t, err); e.Permanent != tc.permanent || !strings.Contains(e.Message, tc.says) {
				t.Errorf("got %+v", e)
			}
		})
	}
	for name, handler := range map[string]http.HandlerFunc{
		"a header that never comes": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"a body that drips": func(w http.ResponseWriter, r *http.Request) {
			tick := time.NewTicker(20 * time.Millisecond)
			defer tick.Stop()
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, "x")
				_ = http.NewResponseController(w).Flush()
				select {
				case <-tick.C:
				case <-r.Context().Done():
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/robots.txt" {
					http.NotFound(w, r)
					return
				}
				handler(w, r)
			}))
			_, _, err := fetch(t, local(t, hasty), PageRequest{URL: s.URL})
			if e := wantError(t, err); e.Permanent || !strings.Contains(e.Message, "in time") {
				t.Errorf("got %+v", e)
			}
		})
	}
}

func TestFetch_of_a_gzip_bomb_ends_at_the_limit(t *testing.T) {
	// Not parallel, because it measures allocations.
	packed := crawltest.GzipBomb(256 << 20)
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			http.NotFound(w, r)
			return
		case "/encoded":
			w.Header().Set("Content-Encoding", "gzip")
		}
		_, _ = w.Write(packed)
	}))
	c := local(t, func(o *Options) { o.MaxBody = 2 << 20; o.MaxSitemapBytes = 2 << 20 })
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := fetch(t, c, PageRequest{URL: s.URL + "/encoded"})
	if e := wantError(t, err); !e.Permanent || !strings.Contains(e.Message, "too large") {
		t.Errorf("got %+v", e)
	}
	_, err = c.Discover(t.Context(), domain.CrawlSpec{Sitemap: s.URL + "/sitemap.xml.gz"}, func([]domain.Link) error { return nil })
	if e := wantError(t, err); !e.Permanent {
		t.Errorf("got %+v", e)
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 32<<20 {
		t.Errorf("%d MiB were allocated for a limit of 2", grown>>20)
	}
}

func TestFetch_survives_hostile_HTML(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it is about input and figures, not about goroutines")
	}
	var links strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&links, "<a href='/p%d'>x</a>", i)
	}
	for name, body := range map[string]string{
		"half a million elements within one another": strings.Repeat("<div>", 500_000),
		"tables within one another":                  strings.Repeat("<table><tr><td>", 20_000),
		"sixty thousand links":                       links.String(),
		"links that are costly to read":              strings.Repeat("<a href='http://"+strings.Repeat("a@", 900)+"'>x</a><a href='"+strings.Repeat("b/", 900)+strings.Repeat("../", 60)+"'>x</a>", 1_500),
		"an element with many attributes":            "<a " + strings.Repeat("a=1 ", 300_000) + ">",
		"open elements that come again":              crawltest.Formats(450) + strings.Repeat("<p>x", 2_000),
		"the same, hidden from who knows no states":  "<svg><style>" + crawltest.Formats(450) + strings.Repeat("<p>x</b>", 2_000),
		"bodies with more and more attributes":       crawltest.Bodies(60_000),
		"two million elements":                       strings.Repeat("<p>", 2_000_000),
		"an unclosed comment":                        "<!--" + strings.Repeat("-", 1_000_000),
		"binary":                                     "<html>" + strings.Repeat("\x00\xff\xfe", 100_000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				_, _ = io.WriteString(w, body)
			}))
			p, got, err := fetch(t, local(t), PageRequest{
				URL: s.URL, WantLinks: true, Scope: &domain.SiteScope{Root: s.URL, Follow: true},
			})
			if err != nil || got != body {
				t.Errorf("got %d bytes, want %d; %v", len(got), len(body), err)
			}
			if len(p.Links) > maxLinksFromPage {
				t.Errorf("%d links were taken", len(p.Links))
			}
		})
	}
}
