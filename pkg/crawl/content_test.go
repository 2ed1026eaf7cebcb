package crawl

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/andybalholm/brotli"
	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"github.com/sluice/sluice/pkg/crawl/crawltest"
	"github.com/sluice/sluice/pkg/crawl/robots"
	"github.com/sluice/sluice/pkg/crawl/scope"
	"github.com/sluice/sluice/pkg/domain"
)

func TestFetch_reads_XHTML_whose_elements_are_empty(t *testing.T) {
	t.Parallel()
	const page = `<html xmlns="http://www.w3.org/1999/xhtml"><head><script src="a.js"/><title>Valves</title></head>
		<body><iframe/><textarea/><p>An <a href="/inlet">inlet valve</a>.</p></body></html>`
	for media, body := range map[string]string{
		"application/xhtml+xml":    page,
		"text/html; charset=utf-8": `<?xml version="1.0"?>` + page,
	} {
		s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == robots.Path {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", media)
			_, _ = io.WriteString(w, body)
		}))
		p, kept, err := fetch(t, local(t), PageRequest{
			URL: s.URL + "/", WantLinks: true, Scope: &domain.SiteScope{Root: s.URL + "/", MaxDepth: 3, Follow: true},
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := urls(p.Links); p.Title != "Valves" || !slices.Equal(got, []string{s.URL + "/inlet"}) || kept != body {
			t.Errorf("%s: the title is %q, the links are %q", media, p.Title, got)
		}
	}
}

func TestFetch_unpacks_bodies(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("packed text ", 200_000) // longer than memoryBody, so that it goes to a file
	chinese := strings.Repeat("没有压缩的文本。", 1_000)
	pack := map[string]func([]byte) []byte{
		"gzip":       crawltest.Gzip,
		"deflate":    zlibbed,
		"identity":   func(b []byte) []byte { return b },
		"gzip, gzip": func(b []byte) []byte { return crawltest.Gzip(crawltest.Gzip(b)) },
		// The crawler's Accept-Encoding header doesn't list these encodings.
		"br":         brotlied,
		"zstd":       zstded,
		"gzip, br":   func(b []byte) []byte { return brotlied(crawltest.Gzip(b)) },
		"zstd, gzip": func(b []byte) []byte { return crawltest.Gzip(zstded(b)) },
		// These Content-Encoding values do not name an encoding.
		"UTF-8":       func(b []byte) []byte { return b },
		"utf8":        func(b []byte) []byte { return b },
		"ISO-8859-1":  func(b []byte) []byte { return b },
		"text/plain":  func(b []byte) []byte { return b },
		"none":        func(b []byte) []byte { return b },
		"8bit":        func(b []byte) []byte { return b },
		"none, gzip":  crawltest.Gzip,
		"UTF-8, gzip": crawltest.Gzip,
		"quirks":      func(b []byte) []byte { return b },
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
	for name, tc := range map[string]struct {
		encoding string
		body     []byte
		want     string
	}{
		"gzip that is none":           {"gzip", []byte(text), text},
		"deflate that is none":        {"deflate", []byte(text), text},
		"Brotli that is none":         {"br", []byte(text), text},
		"Zstandard that is none":      {"zstd", []byte(text), text},
		"deflate that is gzip":        {"deflate", crawltest.Gzip([]byte(text)), text},
		"Brotli that is gzip":         {"br", crawltest.Gzip([]byte(text)), text},
		"gzip that is Zstandard":      {"gzip", zstded([]byte(text)), text},
		"an unknown one that is gzip": {"quirks", crawltest.Gzip([]byte(text)), text},
		"Brotli of nothing":           {"br", nil, ""},
		"gzip without a declaration":  {"", crawltest.Gzip([]byte(text)), text},
		"gzip declared as a charset":  {"utf-8", crawltest.Gzip([]byte(text)), text},
		"Zstandard declared as none":  {"identity", zstded([]byte(text)), text},
		"Chinese text, not Brotli":    {"br", []byte(chinese), chinese},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/plain")
				w.Header().Set("Content-Encoding", tc.encoding)
				_, _ = w.Write(tc.body)
			}))
			_, body, err := fetch(t, local(t), PageRequest{URL: s.URL})
			if err != nil || body != tc.want {
				t.Errorf("got %d bytes, want %d; %v", len(body), len(tc.want), err)
			}
		})
	}
	t.Run("an encoding that is not known is an error for good", func(t *testing.T) {
		t.Parallel()
		s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == robots.Path {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Encoding", "compress")
			_, _ = io.WriteString(w, "\x1f\x9d\x90\x01\x02\x03\x04")
		}))
		_, _, err := fetch(t, local(t), PageRequest{URL: s.URL + "/a"})
		if e := wantError(t, err); !e.Permanent || !strings.Contains(e.Message, `unknown content encoding "compress"`) {
			t.Errorf("got %+v", e)
		}
	})
}

func TestFetch_bounds_headers(t *testing.T) {
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

func brotlied(b []byte) []byte {
	var buf bytes.Buffer
	w := brotli.NewWriterLevel(&buf, 5)
	_, _ = w.Write(b)
	_ = w.Close()
	return buf.Bytes()
}

func zstded(b []byte) []byte {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err)
	}
	return w.EncodeAll(b, nil)
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
		"UTF-8 with a wrong header":     {"text/html; charset=iso-8859-1", "<title>Grüße aus Köln</title>"},
		"a wrong header, a right meta":  {"text/html; charset=utf-8", fmt.Sprintf(latin, `<meta charset="windows-1252">`)},
		"UTF-8 with a byte order mark":  {"text/html; charset=windows-1251", "\xef\xbb\xbf<title>Grüße aus Köln</title>"},
		"UTF-16 with a byte order mark": {"text/html; charset=utf-8", utf16le("<title>Grüße aus Köln</title>")},
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

// utf16le encodes s as UTF-16 with a byte order mark.
func utf16le(s string) string {
	out := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(s)) {
		out = binary.LittleEndian.AppendUint16(out, u)
	}
	return string(out)
}

func TestFetch_decides_the_type(t *testing.T) {
	t.Parallel()
	const (
		docx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
		xlsx = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
		zip  = "PK\x03\x04...."
	)
	for name, tc := range map[string]struct{ path, header, disposition, body, want, file string }{
		"PDF served as HTML is PDF":                  {"/a", "text/html", "", "%PDF-1.7\n", "application/pdf", ""},
		"PDF served as text is PDF":                  {"/a", "text/plain; charset=utf-8", "", "%PDF-1.7\n", "application/pdf", ""},
		"PDF served as a download is PDF":            {"/a", "application/octet-stream", "", "%PDF-1.7\n", "application/pdf", ""},
		"PDF without a type is PDF":                  {"/a", "", "", "%PDF-1.7\n", "application/pdf", ""},
		"a zip named docx is docx":                   {"/a.docx", "application/octet-stream", "", zip, docx, ""},
		"a zip offered as xlsx is xlsx":              {"/get?id=7", "application/octet-stream", `attachment; filename="Prices.XLSX"`, zip, xlsx, "Prices.XLSX"},
		"the offered name goes before the address's": {"/get.docx", "", "attachment; filename=a.xlsx", zip, xlsx, "a.xlsx"},
		"a zip declared as text is no text":          {"/a.docx", "text/plain", "", zip, docx, ""},
		"a zip of no known name stays one":           {"/a", "", "", zip, "application/zip", ""},
		"declared docx stays":                        {"/a", docx, "", zip, docx, ""},
		"markdown by its name":                       {"/a.md", "text/plain", "", "# Title", "text/markdown", ""},
		"CSV by its name":                            {"/a.csv", "", "", "a,b", "text/csv", ""},
		"CSV by the name that it is offered under":   {"/export", "text/plain", "attachment; filename*=UTF-8''L%C3%A4nder.csv", "a,b", "text/csv", "Länder.csv"},
		"JSON by its name":                           {"/a.json", "application/octet-stream", "", "{}", "application/json", ""},
		"HTML without a type":                        {"/a", "", "", "<!doctype html><p>x", "text/html", ""},
		"text without a type":                        {"/a", "", "", "hello", "text/plain", ""},
		"an unreadable declaration is sniffed":       {"/a", "what ever/;;", "", "<!doctype html><p>x", "text/html", ""},
		"a broken parameter does not lose the type":  {"/a", "text/csv; =;", "", "a,b", "text/csv", ""},
		"JSON stays JSON":                            {"/a", "application/json", "", "{}", "application/json", ""},
		"a name with a path loses that":              {"/a", "text/plain", `attachment; filename="../../etc/x\\y.txt"`, "x", "text/plain", "y.txt"},
		"a name that is none":                        {"/a", "text/plain", `attachment; filename=".."`, "x", "text/plain", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, answering(map[string]string{"Content-Type": tc.header, "Content-Disposition": tc.disposition}, tc.body))
			p, body, err := fetch(t, local(t), PageRequest{URL: s.URL + tc.path})
			if media, _, _ := strings.Cut(p.MIMEType, ";"); err != nil || media != tc.want || p.FileName != tc.file || body != tc.body {
				t.Errorf("got %q named %q, %v; want %q named %q", p.MIMEType, p.FileName, err, tc.want, tc.file)
			}
		})
	}
	t.Run("a picture that is served as something else holds no text", func(t *testing.T) {
		t.Parallel()
		for _, declared := range []string{"", "application/octet-stream", "text/html"} {
			s := serve(t, answering(map[string]string{"Content-Type": declared}, "\x89PNG\x0d\x0a\x1a\x0a...."))
			_, _, err := fetch(t, local(t), PageRequest{URL: s.URL + "/a"})
			if e := wantError(t, err); !e.Permanent || !strings.Contains(e.Message, "image/png") {
				t.Errorf("declared %q: %+v", declared, e)
			}
		}
	})
	t.Run("an image holds no text", func(t *testing.T) {
		t.Parallel()
		s := serve(t, status(200, map[string]string{"Content-Type": "image/png"}))
		_, _, err := fetch(t, local(t), PageRequest{URL: s.URL + "/a"})
		if e := wantError(t, err); !e.Permanent || !strings.Contains(e.Message, "image/png") {
			t.Errorf("got %+v", e)
		}
	})
}

func TestFetch_reads_the_metadata_of_a_page(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		head, tag         string
		link, body        string
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
		"its own address as the canonical one":     {head: `<link rel=canonical href="/#top">`, links: []string{"/a", "/b"}},
		"a canonical address elsewhere":            {head: `<link rel=canonical href="http://other.example/x">`, links: []string{"/a", "/b"}},
		"a canonical address that is none":         {head: `<link rel=canonical href="javascript:x">`, links: []string{"/a", "/b"}},
		"the first of two canonical addresses":     {head: `<link rel=canonical href="/1"><link rel=canonical href="/2">`, canonical: "/1", links: []string{"/1", "/2", "/a", "/b"}},
		"a canonical address in the header":        {link: `</real>; rel="canonical"`, canonical: "/real", links: []string{"/real", "/a", "/b"}},
		"the page's own word before the header's":  {head: `<link rel=canonical href="/1">`, link: `</2>; rel=canonical`, canonical: "/1", links: []string{"/1", "/2", "/a", "/b"}},
		"a header is not read by the page's base":  {head: `<base href="/sub/">`, link: `<de>; rel=alternate; hreflang=de`, links: []string{"/a", "/sub/b", "/de"}},
		"links that others have put there or paid": {body: `<a rel="ugc" href="/u">u</a><a rel="sponsored noopener" href="/s">s</a>`, links: []string{"/a", "/b"}},
		"a translation in the header": {
			link:  `</de/>; rel="alternate"; hreflang="de", <http://other.example/fr>; rel=alternate; hreflang=fr, </x>; rel=preload`,
			links: []string{"/de/", "/a", "/b"},
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
				if tc.link != "" {
					w.Header().Set("Link", tc.link)
				}
				_, _ = fmt.Fprintf(w, `<head>%s</head><a href="/a">a</a><a href="b#x">b</a><a href="#top">top</a>
					<a rel="nofollow" href="/c">c</a><a href="/a#again">a</a><a href="/pic.png">pic</a>%s`, tc.head, tc.body)
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
			if wanted := 1 + strings.Count(tc.body, "<a"); !tc.noFollow && p.Refused[scope.RefusedNoFollow] != wanted {
				t.Errorf("%d links ask not to be followed, want %d", p.Refused[scope.RefusedNoFollow], wanted)
			}
			if p.NoIndex != tc.noIndex || p.NoFollow != tc.noFollow || strings.TrimPrefix(p.Canonical, s.URL) != tc.canonical {
				t.Errorf("got %+v", p)
			}
		})
	}
}

func TestFetch_recognises_lists_of_pages(t *testing.T) {
	t.Parallel()
	const list = `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>http://a.example/</loc></url></urlset>`
	many := strings.Repeat("http://a.example/some/page\n", 1_000)
	for name, tc := range map[string]struct {
		header, body string
		want         bool
	}{
		"a sitemap":                           {"application/xml", list, true},
		"a sitemap after a byte order mark":   {"text/xml", "\xef\xbb\xbf" + list, true},
		"an index of sitemaps":                {"text/html", `<sitemapindex><sitemap><loc>http://a.example/s.xml</loc></sitemap></sitemapindex>`, true},
		"an RSS feed":                         {"application/rss+xml", `<rss version="2.0"><channel><item><link>http://a.example/</link></item></channel></rss>`, true},
		"an Atom feed":                        {"application/atom+xml", `<feed xmlns="http://www.w3.org/2005/Atom"><entry><link href="http://a.example/"/></entry></feed>`, true},
		"a sitemap in UTF-16":                 {"text/xml", crawltest.UTF16(t, unicode.LittleEndian, list), true},
		"a packed sitemap in UTF-16":          {"text/xml", string(crawltest.Gzip([]byte(crawltest.UTF16(t, unicode.BigEndian, list)))), true},
		"a text of addresses in UTF-16":       {"text/plain", crawltest.UTF16(t, unicode.LittleEndian, many), true},
		"a sitemap in Latin-1":                {"text/xml", "<?xml version='1.0' encoding='iso-8859-1'?><!-- f\xfcr --><urlset><url><loc>http://a.example/</loc></url></urlset>", true},
		"a packed sitemap":                    {"application/gzip", string(crawltest.Gzip([]byte(list))), true},
		"a packed sitemap without a type":     {"application/octet-stream", string(crawltest.Gzip([]byte(list + strings.Repeat(" ", 100_000)))), true},
		"a packed list of addresses":          {"application/x-gzip", string(crawltest.Gzip([]byte(many))), true},
		"a text of addresses":                 {"text/plain", many, true},
		"a text of one address":               {"text/plain; charset=utf-8", "https://a.example/\r\n", true},
		"a text that begins with an address":  {"text/plain", "https://a.example/\nis where I live", false},
		"a text":                              {"text/plain", "Hello", false},
		"nothing":                             {"text/plain", "", false},
		"a page":                              {"text/html", "<!doctype html><title>x</title>", false},
		"another kind of XML":                 {"application/xml", "<book><title>x</title></book>", false},
		"addresses in another kind of a text": {"text/csv", "http://a.example/\nhttp://a.example/b\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, answering(map[string]string{"Content-Type": tc.header}, tc.body))
			p, body, err := fetch(t, local(t), PageRequest{URL: s.URL + "/x"})
			if err != nil || p.IsSitemap != tc.want || body != tc.body {
				t.Errorf("IsSitemap is %t, want %t; %d bytes of %d, %v", p.IsSitemap, tc.want, len(body), len(tc.body), err)
			}
		})
	}
}

// answering returns a handler that sends `header` and `body` in response to every request except the one for
// robots.txt, which gets 404.
func answering(header map[string]string, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		for k, v := range header {
			if w.Header().Set(k, v); v == "" {
				w.Header()[k] = nil // nil keeps net/http from sniffing a type
			}
		}
		_, _ = io.WriteString(w, body)
	})
}

func TestTheTitleOfAPageWithoutACharsetReadsAsItsText(t *testing.T) {
	t.Parallel()
	const title = "Насосы и запасные части"
	text := "<title>" + title + "</title><p>" + strings.Repeat("Срок поставки запасных частей составляет пять рабочих дней. ", 5)
	for name, enc := range map[string]encoding.Encoding{"windows-1251": charmap.Windows1251, "KOI8-R": charmap.KOI8R} {
		raw, err := enc.NewEncoder().String(text)
		if err != nil {
			t.Fatal(err)
		}
		s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, raw)
		}))
		p, body, err := fetch(t, local(t), PageRequest{URL: s.URL})
		if err != nil || p.Title != title || body != raw {
			t.Errorf("%s: the title is %q, %v", name, p.Title, err)
		}
	}
}
