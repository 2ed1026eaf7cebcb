package crawl

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/crawl/crawltest"
	"github.com/sluice/sluice/pkg/crawl/robots"
	"github.com/sluice/sluice/pkg/crawl/scope"
	"github.com/sluice/sluice/pkg/domain"
)

func TestFetch_rejects_content_types_without_text(t *testing.T) {
	t.Parallel()
	page := "<!DOCTYPE html><title>x</title><p>text"
	elf := "\x7fELF\x02\x01\x01\x00" + strings.Repeat("\x00\x01", 3_000)
	for name, tc := range map[string]struct {
		path, header, body string
		none               bool
	}{
		"a page named like a script":              {"/wiki/Node.js", "text/html; charset=utf-8", page, false},
		"a page named like a picture":             {"/photo.png", "text/html", page, false},
		"a page named like an archive":            {"/formats/a.zip", "text/html", page, false},
		"a page of no type named like a program":  {"/tools/app.bin", "", page, false},
		"a page of any type named like a program": {"/tools/app.bin", "application/octet-stream", page, false},
		"text named like a program":               {"/tools/app.bin", "application/octet-stream", "plain text\n", false},
		"a PDF named like a drawing":              {"/customers/scale.ai", "application/octet-stream", "%PDF-1.7 x", false},
		"a script":                                {"/app.js", "text/javascript", "x()", true},
		"a script of an older type":               {"/app.js", "application/x-javascript", "x()", true},
		"a style sheet":                           {"/main.css", "text/css; charset=utf-8", "p{}", true},
		"a script's map":                          {"/app.js.map", "application/json", "{}", true},
		"data":                                    {"/app.json", "application/json", "{}", false},
		"a program":                               {"/setup.exe", "application/x-msdownload", "MZ", true},
		"a program of any type":                   {"/app.bin", "application/octet-stream", elf, true},
		"a program of no type":                    {"/app", "", elf, true},
		"an archive":                              {"/a", "application/x-7z-compressed", "7z\xbc\xaf\x27\x1c", true},
		"a zip archive":                           {"/a.zip", "application/zip", "PK\x03\x04aaaa", true},
		"a zip archive of any type":               {"/a.jar", "application/octet-stream", "PK\x03\x04aaaa", true},
		"a document in a zip container":           {"/a.docx", "application/zip", "PK\x03\x04aaaa", false},
		"something in a zip container":            {"/download", "application/octet-stream", "PK\x03\x04aaaa", false},
		"an old document":                         {"/a.doc", "application/octet-stream", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + strings.Repeat("\x00", 600), false},
		"a packed file":                           {"/a.gz", "application/gzip", string(crawltest.Gzip([]byte("some text"))), true},
		"a file that seems packed":                {"/a.gz", "application/gzip", "\x1f\x8b\x08", true},
		"a film":                                  {"/a", "video/mp4", "x", true},
		"a playlist":                              {"/a", "application/vnd.apple.mpegurl", "#EXTM3U", true},
		"a font":                                  {"/a", "application/font-woff", "wOFF", true},
		"nothing of any type":                     {"/a", "application/octet-stream", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, answering(map[string]string{"Content-Type": tc.header}, tc.body))
			_, body, err := fetch(t, local(t), PageRequest{URL: s.URL + tc.path})
			switch {
			case tc.none:
				if e := wantError(t, err); !e.Permanent || !errors.Is(err, ErrNoText) || !strings.Contains(e.Message, "contains no text") {
					t.Errorf("got %v", err)
				}
			case err != nil || body != tc.body:
				t.Errorf("got %q, %v", body, err)
			}
		})
	}
}

// If a file has no text, only the header is read and, if that does not declare the type, the first few kilobytes.
func TestFetch_does_not_download_files_without_text(t *testing.T) {
	t.Parallel()
	for name, header := range map[string]string{"declared": "application/x-apple-diskimage", "not declared": "application/octet-stream"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sent atomic.Int64
			s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == robots.Path {
					http.NotFound(w, r)
					return
				}
				w.Header().Set("Content-Type", header)
				part := []byte(strings.Repeat("\x00\x01\x02\x03", 16<<10))
				for range 10_000 {
					n, err := w.Write(part)
					if sent.Add(int64(n)); err != nil {
						return
					}
				}
			}))
			_, err := local(t).Fetch(t.Context(), PageRequest{URL: s.URL + "/image.dmg"})
			if !errors.Is(err, ErrNoText) {
				t.Errorf("got %v", err)
			}
			s.CloseClientConnections()
			if n := sent.Load(); n > 64<<20 { // allows for both sides' socket buffers
				t.Errorf("%d bytes were sent of 640 MiB", n)
			}
		})
	}
}

func TestFetch_leaves_out_links_that_say_that_they_lead_to_files(t *testing.T) {
	t.Parallel()
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == robots.Path {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		for _, a := range []string{
			`href="/wiki/Node.js"`, `href="/scale.ai"`, `href="/setup.exe" download`, `href="/main.js?v=1" download="main.js"`,
			`href="/picture" type="image/png"`, `href="/a.dmg" type="application/x-apple-diskimage"`, `href="/guide.pdf" download`,
			`href="/b" type="text/html"`, `href="/c.png"`, `href="/wiki/Datei:Hafen.jpg"`,
		} {
			_, _ = io.WriteString(w, "<a "+a+">a link</a>")
		}
	}))
	p, _, err := fetch(t, local(t), PageRequest{URL: s.URL + "/", WantLinks: true, Scope: &domain.SiteScope{Root: s.URL + "/", Follow: true}})
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, path := range []string{"/wiki/Node.js", "/scale.ai", "/guide.pdf", "/b", "/wiki/Datei:Hafen.jpg"} {
		want = append(want, s.URL+path)
	}
	if diff := cmp.Diff(want, urls(p.Links)); diff != "" {
		t.Error(diff)
	}
	if p.Refused[scope.RefusedMedia] != 5 {
		t.Errorf("left out: %v", p.Refused)
	}
}

func TestDiscover_takes_whatever_a_sitemap_lists(t *testing.T) {
	t.Parallel()
	var s string
	names := []string{"/wiki/Node.js", "/photo.png", "/formats/a.zip", "/song.mp3", "/a.bin"}
	server := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/list.txt" {
			http.NotFound(w, r)
			return
		}
		for _, n := range names {
			_, _ = fmt.Fprintln(w, s+n)
		}
	}))
	s = server.URL
	var links []domain.Link
	if _, err := local(t).Discover(t.Context(), domain.CrawlSpec{Sitemap: s + "/list.txt"}, collect(&links)); err != nil {
		t.Fatal(err)
	}
	if len(links) != len(names) {
		t.Errorf("got %v", urls(links))
	}
}
