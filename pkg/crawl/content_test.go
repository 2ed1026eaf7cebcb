package crawl

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/testdata/site"
)

func TestFetch_unpacks_bodies(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("packed text ", 200_000) // over memoryBody, so that the file path runs too
	pack := map[string]func([]byte) []byte{
		"gzip":       gzipped,
		"deflate":    zlibbed,
		"identity":   func(b []byte) []byte { return b },
		"gzip, gzip": func(b []byte) []byte { return gzipped(gzipped(b)) },
	}
	for encoding, f := range pack {
		t.Run(encoding, func(t *testing.T) {
			t.Parallel()
			s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
					t.Errorf("Accept-Encoding is %q", r.Header.Get("Accept-Encoding"))
				}
				w.Header().Set("Content-Type", "text/plain")
				w.Header().Set("Content-Encoding", encoding)
				_, _ = w.Write(f([]byte(text)))
			}))
			_, body, err := fetch(t, local(t), PageRequest{URL: s.URL})
			if err != nil || body != text {
				t.Errorf("got %d bytes, want %d; %v", len(body), len(text), err)
			}
		})
	}
	t.Run("an encoding nobody asked for is an error for good", func(t *testing.T) {
		t.Parallel()
		s := serve(t, status(200, map[string]string{"Content-Encoding": "rot13"}))
		_, _, err := fetch(t, local(t), PageRequest{URL: s.URL + "/a"})
		if e := wantError(t, err); !e.Permanent || !strings.Contains(e.Message, "rot13") {
			t.Errorf("got %+v", e)
		}
	})
}

func TestFetch_takes_no_more_of_a_header_than_is_of_use(t *testing.T) {
	t.Parallel()
	s := serve(t, status(200, map[string]string{
		"ETag": `"` + strings.Repeat("a", 5000) + `"`, "Last-Modified": strings.Repeat("b", 5000),
		"Content-Type": "text/" + strings.Repeat("c", 5000),
	}))
	p, _, err := fetch(t, local(t), PageRequest{URL: s.URL + "/a"})
	if err != nil || p.ETag != "" || p.LastModified != "" || len(p.MIMEType) > 300 {
		t.Errorf("got validators of %d and %d bytes and a type of %d; %v", len(p.ETag), len(p.LastModified), len(p.MIMEType), err)
	}
}

func gzipped(b []byte) []byte {
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	_, _ = w.Write(b)
	_ = w.Close()
	return buf.Bytes()
}

func zlibbed(b []byte) []byte {
	var buf bytes.Buffer
	w := zlib.NewWriter(&buf)
	_, _ = w.Write(b)
	_ = w.Close()
	return buf.Bytes()
}

func TestFetch_leaves_no_temporary_file(t *testing.T) {
	t.Parallel()
	s := routes(t, map[string]string{"/big": strings.Repeat("x", memoryBody+1)})
	dir := t.TempDir()
	c := local(t, func(o *Options) { o.TempDir = dir })
	p, err := c.Fetch(context.Background(), PageRequest{URL: s.URL + "/big"})
	if err != nil {
		t.Fatal(err)
	}
	if p.Body.Size() != memoryBody+1 || p.Body.file == nil {
		t.Errorf("size %d, in a file: %t", p.Body.Size(), p.Body.file != nil)
	}
	if err := errors.Join(p.Close(), p.Close()); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestFetch_reads_the_title_in_the_page_s_encoding_and_keeps_the_bytes(t *testing.T) {
	t.Parallel()
	latin := "<head>%s<title>Gr\xfc\xdfe aus K\xf6ln</title></head>"
	for name, tc := range map[string]struct{ header, body string }{
		"declared by the header":        {"text/html; charset=ISO-8859-1", fmt.Sprintf(latin, "")},
		"declared by a meta element":    {"text/html", fmt.Sprintf(latin, `<meta charset="windows-1252">`)},
		"declared nowhere":              {"text/html", fmt.Sprintf(latin, "")},
		"UTF-8 with a wrong meta":       {"text/html", `<meta charset="koi8-r"><title>Grüße aus Köln</title>`},
		"an encoding that no one knows": {"text/html; charset=klingon", "<title>Grüße aus Köln</title>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tc.header)
				_, _ = io.WriteString(w, tc.body)
			}))
			p, body, err := fetch(t, local(t), PageRequest{URL: s.URL})
			if err != nil || body != tc.body {
				t.Fatalf("got %q, %v", body, err)
			}
			if p.Title != "Grüße aus Köln" {
				t.Errorf("title is %q", p.Title)
			}
			if p.MIMEType != strings.ToLower(tc.header) {
				t.Errorf("type is %q", p.MIMEType)
			}
		})
	}
}

func TestFetch_decides_the_type(t *testing.T) {
	t.Parallel()
	const docx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	for name, tc := range map[string]struct{ path, header, body, want string }{
		"PDF served as HTML is PDF":                 {"/a", "text/html", "%PDF-1.7\n", "application/pdf"},
		"PDF served as a download is PDF":           {"/a", "application/octet-stream", "%PDF-1.7\n", "application/pdf"},
		"a zip named docx is docx":                  {"/a.docx", "application/octet-stream", "PK\x03\x04....", docx},
		"declared docx stays":                       {"/a", docx, "PK\x03\x04....", docx},
		"markdown by its name":                      {"/a.md", "text/plain", "# Title", "text/markdown"},
		"an unreadable declaration is sniffed":      {"/a", "what ever/;;", "<!doctype html><p>x", "text/html"},
		"a broken parameter does not lose the type": {"/a", "text/csv; =;", "a,b", "text/csv"},
		"JSON stays JSON":                           {"/a", "application/json", "{}", "application/json"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tc.header)
				_, _ = io.WriteString(w, tc.body)
			}))
			p, _, err := fetch(t, local(t), PageRequest{URL: s.URL + tc.path})
			if err != nil || p.MIMEType != tc.want {
				t.Errorf("got %q, %v; want %q", p.MIMEType, err, tc.want)
			}
		})
	}
	t.Run("an image holds no text", func(t *testing.T) {
		t.Parallel()
		s := serve(t, status(200, map[string]string{"Content-Type": "image/png"}))
		_, _, err := fetch(t, local(t), PageRequest{URL: s.URL + "/a"})
		if e := wantError(t, err); !e.Permanent || !strings.Contains(e.Message, "image/png") {
			t.Errorf("got %+v", e)
		}
	})
}

func TestFetch_reads_what_the_page_says_about_itself(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		head, tag         string
		noIndex, noFollow bool
		canonical         string
		links             []string
	}{
		"nothing":                           {links: []string{"/a", "/b"}},
		"meta noindex":                      {head: `<meta name="ROBOTS" content="NOINDEX, follow">`, noIndex: true, links: []string{"/a", "/b"}},
		"meta none":                         {head: `<meta name=robots content=none>`, noIndex: true, noFollow: true},
		"meta for us":                       {head: `<meta name=sluicebot content=nofollow>`, noFollow: true},
		"meta for another crawler":          {head: `<meta name=googlebot content=noindex>`, links: []string{"/a", "/b"}},
		"header noindex":                    {tag: "noindex", noIndex: true, links: []string{"/a", "/b"}},
		"header for us":                     {tag: "SluiceBot: noindex, nofollow", noIndex: true, noFollow: true},
		"header for another crawler":        {tag: "otherbot: noindex, nofollow", links: []string{"/a", "/b"}},
		"header with a date before noindex": {tag: "unavailable_after: 25 Jun 2030 15:00:00 PST, noindex", noIndex: true, links: []string{"/a", "/b"}},
		"a canonical address":               {head: `<link rel="canonical" href="/real?utm_source=x#y">`, canonical: "/real", links: []string{"/real", "/a", "/b"}},
		"a base address":                    {head: `<base href="/sub/">`, links: []string{"/a", "/sub/b"}},
		"a base that is no web address":     {head: `<base href="javascript:x">`, links: []string{"/a", "/b"}},
		"a next page and a translation": {
			head:  `<link rel=next href="/2"><link rel=alternate hreflang=de href=/de/><link rel=alternate type=application/rss+xml href=/feed>`,
			links: []string{"/2", "/de/", "/a", "/b"},
		},
		"a refresh": {head: `<meta http-equiv=Refresh content="5; URL='/moved'">`, links: []string{"/a", "/b", "/moved"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				if tc.tag != "" {
					w.Header().Set("X-Robots-Tag", tc.tag)
				}
				_, _ = fmt.Fprintf(w, `<head>%s</head><a href="/a">a</a><a href="b#x">b</a><a href="#top">top</a>
					<a rel="nofollow" href="/c">c</a><a href="/a#again">a</a><a href="/pic.png">pic</a>`, tc.head)
			}))
			p, _, err := fetch(t, local(t), PageRequest{
				URL: s.URL, WantLinks: true, Scope: &domain.SiteScope{Root: s.URL, MaxDepth: 3, Follow: true},
			})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, l := range p.Links {
				got = append(got, strings.TrimPrefix(l.URL, s.URL))
			}
			slices.Sort(got)
			slices.Sort(tc.links)
			if diff := cmp.Diff(tc.links, got); diff != "" {
				t.Errorf("links (-want +got):\n%s", diff)
			}
			if p.NoIndex != tc.noIndex || p.NoFollow != tc.noFollow || strings.TrimPrefix(p.Canonical, s.URL) != tc.canonical {
				t.Errorf("got %+v", p)
			}
		})
	}
}

func TestFetch_recognises_a_sitemap(t *testing.T) {
	t.Parallel()
	s := serve(t, site.Handler())
	c := local(t)
	for path, want := range map[string]bool{"/sitemap.xml": true, "/sitemap_index.xml": true, "/about.html": false, "/robots.txt": false} {
		p, _, err := fetch(t, c, PageRequest{URL: s.URL + path})
		if err != nil || p.IsSitemap != want {
			t.Errorf("%s: IsSitemap %t, %v", path, p.IsSitemap, err)
		}
	}
}
