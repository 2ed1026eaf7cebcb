package crawl

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/crawl/robots"
	"github.com/sluice/sluice/pkg/domain"
)

// stubs are pages that tools publish in place of a page that has moved to /new/.
var stubs = map[string]string{
	"meta refresh":                  `<head><meta http-equiv="refresh" content="0; url=/new/"></head>`,
	"meta refresh, and noindex":     `<head><meta name=robots content=noindex><meta http-equiv=refresh content="0;url=/new/"></head>`,
	"noindex and nofollow":          `<head><meta name=robots content="noindex,nofollow"><meta http-equiv=refresh content="0;url=/new/"></head>`,
	"after three seconds":           `<head><meta http-equiv="refresh" content="3;URL='/new/'"></head><p>This page has moved.`,
	"without url=":                  `<head><meta http-equiv="refresh" content="0; /new/"></head>`,
	"a comma":                       `<head><meta http-equiv="Refresh" content="0,url=&quot;/new/&quot;"></head>`,
	"a blank before the equal sign": `<head><meta http-equiv="refresh" content="0 ; url = /new/"></head>`,
	"a fraction":                    `<head><meta http-equiv="refresh" content="0.5; url=/new/"></head>`,
	"with a base":                   `<head><base href="/new/x"><meta http-equiv="refresh" content="0; url=./"></head>`,
	"in the body":                   `<body><meta http-equiv="refresh" content="0; url=/new/">`,
	"noscript":                      `<head><noscript><meta http-equiv="refresh" content="1; url=/new/" /></noscript></head>`,
	"noscript in the body":          `<body><noscript><p>No scripts?</p><meta http-equiv="refresh" content="1; url=/new/"></noscript>`,
	"mike": `<!DOCTYPE html><html><head><meta charset="utf-8"><title>Redirecting</title><noscript>
		<meta http-equiv="refresh" content="1; url=new/" /></noscript><script>
		window.location.replace("new/" + window.location.search + window.location.hash);</script></head><body>Redirecting to <a href="new/">new/</a>...</body></html>`,
	"a redirects plug-in": `<!doctype html><html lang="en"><head><title>Redirecting...</title><link rel="canonical" href="/new/">
		<meta name="robots" content="noindex"><script>var anchor=window.location.hash.substr(1);location.href="/new/"+(anchor?"#"+anchor:"")</script>
		<meta http-equiv="refresh" content="0; url=/new/"></head><body>Redirecting...</body></html>`,
	"a site generator's alias": `<!DOCTYPE html><html lang="en"><head><title>/new/</title><link rel="canonical" href="/new/"><meta name="robots" content="noindex"><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=/new/"></head></html>`,
	"a script alone":           `<script>location = "/new/"</script>`,
	"a script with href":       `<script>window.location.href = '/new/';</script><p>Please wait.`,
	"a script that replaces":   `<script type="text/javascript">document.location.replace('\/new\/')</script>`,
	"a script that assigns":    "<script>top.location.assign(`/new/${location.hash}`)</script>",
	"a variable": `<script>
		const target = "/new/";
		if (window.location.hash) { window.location.replace(target + window.location.hash); } else { window.location.replace(target); }</script>`,
	"a property in brackets":  `<script>window["location"]['href'] = "/new/"</script>`,
	"a new URL":               `<script>location.href = new URL("/new/", location.origin).href</script>`,
	"the path alone":          `<script>window.location.pathname = "/new/"</script>`,
	"a template in a name":    "<script>const to = `/new/`; location.replace(to)</script>",
	"an old target, disabled": "<script>// location = '/older/'\n/* location = '/oldest/' */ location = '/new/' // moved\n</script>",
	"its own host":            `<script>window.location = window.location.origin + "/new/" + location.search</script>`,
	"a timer":                 `<script>setTimeout("location.href='/new/'", 1000)</script>`,
	"onload":                  `<body onload="window.location='new/'"></body>`,
	"escaped letters":         `<script>location.href="\x2fnew\u002f"</script>`,
	"unless an old browser":   `<script>if (!window.fetch) location = "/unsupported.html"; location = "/new/"</script>`,
	"beside other scripts":    `<script>window.dataLayer = window.dataLayer || [];</script><script>location.href = "/new/"</script>`,
	"with a menu":             `<nav>` + strings.Repeat("<a href=/x>Chapter</a> ", 60) + `</nav><meta http-equiv="refresh" content="0; url=/new/"><p>Moved.`,
	"a comparison before":     `<script>if (location.pathname == "/old") { location.pathname === ""; location.href = "/new/"; }</script>`,
	"a refresh to a fragment": `<meta http-equiv="refresh" content="0; url=/new/#part">`,
}

const arrived = "<title>New</title><p>" + "The new page has a text of its own. "

func newPage() string { return arrived + strings.Repeat("It goes on for a while. ", 30) }

func TestFetch_follows_pages_that_only_redirect(t *testing.T) {
	t.Parallel()
	for name, stub := range stubs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				w.Header().Set("ETag", `"of `+r.URL.Path+`"`)
				switch r.URL.Path {
				case "/old":
					_, _ = io.WriteString(w, stub)
				case "/new/":
					_, _ = io.WriteString(w, newPage())
				default:
					http.NotFound(w, r)
				}
			}))
			for _, scope := range []*domain.SiteScope{nil, {Root: s.URL + "/", Follow: true}} {
				p, body, err := fetch(t, local(t), PageRequest{URL: s.URL + "/old", Scope: scope, WantLinks: true, Depth: 1, ETag: `"of old times"`})
				if err != nil {
					t.Fatal(err)
				}
				if !strings.HasPrefix(body, arrived) || p.URL != s.URL+"/new/" || p.Title != "New" || p.NoIndex || p.ETag != "" {
					t.Errorf("got %+v", p)
				}
				if diff := cmp.Diff([]domain.Redirect{{URL: s.URL + "/old", Status: 200}}, p.Redirects); diff != "" {
					t.Error(diff)
				}
				if scope != nil && cmp.Diff([]domain.Link{{URL: s.URL + "/new/", Depth: 2}}, p.Links) != "" {
					t.Errorf("links %+v", p.Links)
				}
			}
		})
	}
}

func TestFetch_reads_pages_that_do_not_only_redirect(t *testing.T) {
	t.Parallel()
	long := "<p>" + strings.Repeat("There is much to read on this page. ", 20)
	for name, page := range map[string]string{
		"a refresh and text":              `<meta http-equiv="refresh" content="0; url=/new/">` + long,
		"a page that reloads itself":      `<meta http-equiv="refresh" content="5"><p>Departures`,
		"the same by its address":         `<meta http-equiv="refresh" content="5; url=/old"><p>Departures`,
		"the same with a fragment":        `<meta http-equiv="refresh" content="0; url=/old#x"><p>Departures`,
		"after a minute":                  `<meta http-equiv="refresh" content="60; url=/new/"><p>The next picture`,
		"no address":                      `<meta http-equiv="refresh" content="0; url=mailto:a@e.com"><p>Write to us`,
		"noscript beside text":            `<noscript><meta http-equiv="refresh" content="0; url=/new/"></noscript>` + long,
		"a script beside text":            `<script>function go() { location.href = "/new/" }</script>` + long,
		"a comparison":                    `<script>if (location.href == "/new/") { x() }</script><p>Short`,
		"an address that is not written":  `<script>location.href = "/" + lang + "/new/"</script><p>Short`,
		"an address that is searched for": `<script>location.href = "/find/" + hash + "/new/"</script><p>Short`,
		"an address that is computed":     `<script>location.href = next("/new/")</script><p>Short`,
		"an address that is changed":      `<script>location.href = "/new/".replace("n", "m")</script><p>Short`,
		"a condition":                     `<script>location.href = old ? "/new/" : "/newer/"</script><p>Short`,
		"another location":                `<script>map.location = "/new/"; geolocation = "/new/"; var location2 = "/new/"</script><p>Short`,
		"for old browsers":                `<script>if (!window.Promise) location.href = "/browser-upgrade.html"</script><p>Short`,
		"data":                            `<script type="application/json">location.href = "/new/"</script><p>Short`,
		"back to where one came from":     `<meta http-equiv="refresh" content="0; url=/start"><p>Short`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				switch r.URL.Path {
				case "/start":
					http.Redirect(w, r, "/old", http.StatusFound)
				case "/old":
					_, _ = io.WriteString(w, page)
				default:
					http.NotFound(w, r)
				}
			}))
			p, body, err := fetch(t, local(t), PageRequest{URL: s.URL + "/start"})
			if err != nil || body != page || p.URL != s.URL+"/old" {
				t.Errorf("got %q at %s, %v", body, p.URL, err)
			}
		})
	}
}

func TestFetch_follows_the_Refresh_header(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{"without a body": "", "with a short text": "<p>Moved.", "with a base": `<!DOCTYPE html><base href="/other/">`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/old":
					w.Header().Set("Refresh", "0;url=new/")
					_, _ = io.WriteString(w, body)
				case "/new/":
					_, _ = io.WriteString(w, newPage())
				default:
					http.NotFound(w, r)
				}
			}))
			p, _, err := fetch(t, local(t), PageRequest{URL: s.URL + "/old"})
			if err != nil || p.Title != "New" {
				t.Errorf("got %+v, %v", p, err)
			}
		})
	}
}

func TestFetch_keeps_to_its_bounds_along_pages_that_redirect(t *testing.T) {
	t.Parallel()
	refresh := func(to string) string {
		return fmt.Sprintf(`<!DOCTYPE html><meta http-equiv="refresh" content="0; url=%s">`, to)
	}
	for name, tc := range map[string]struct {
		pages map[string]string
		says  string // part of the error; "" if the fetch ends at /last without an error
	}{
		"through several":     {pages: map[string]string{"/a": refresh("/b"), "/b": refresh("/c"), "/c": refresh("/last"), "/last": newPage()}},
		"in a circle":         {pages: map[string]string{"/a": refresh("/last"), "/last": refresh("/a") + "<p>Short"}},
		"to nothing":          {pages: map[string]string{"/a": refresh("/gone")}, says: "does not exist"},
		"to a forbidden page": {pages: map[string]string{"/a": refresh("/private"), "/private": newPage(), robots.Path: "User-agent: *\nDisallow: /priv"}, says: "robots.txt"},
		"to a metadata host":  {pages: map[string]string{"/a": refresh("http://169.254.169.254/")}, says: "169.254.169.254"},
		"to a PDF":            {pages: map[string]string{"/a": refresh("/last") + `<meta name=robots content=noindex>`, "/last": "%PDF-1.7 x"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := routes(t, tc.pages)
			p, _, err := fetch(t, local(t), PageRequest{URL: s.URL + "/a"})
			if tc.says != "" {
				if e := wantError(t, err); !strings.Contains(e.Message, tc.says) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil || p.URL != s.URL+"/last" || p.NoIndex {
				t.Errorf("got %+v, %v", p, err)
			}
		})
	}
	t.Run("without end", func(t *testing.T) {
		t.Parallel()
		s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == robots.Path {
				http.NotFound(w, r)
				return
			}
			_, _ = io.WriteString(w, refresh(r.URL.Path+"x"))
		}))
		_, _, err := fetch(t, local(t), PageRequest{URL: s.URL + "/a"})
		if e := wantError(t, err); !e.Permanent || !strings.Contains(e.Message, "redirects more than 10 times") {
			t.Errorf("got %v", err)
		}
	})
}

func FuzzScriptTargets(f *testing.F) {
	for _, s := range stubs {
		f.Add(s)
	}
	f.Add("location=`${")
	f.Add(`location="\u00`)
	f.Fuzz(func(t *testing.T, s string) {
		if got := scriptTargets(s, mustParse(t, "http://e.com/a")); len(got) > maxScriptTargets {
			t.Errorf("%d targets", len(got))
		}
		var l softRedirects
		l.readNoScript(s)
		parseRefresh(s)
	})
}
