package crawltest

import (
	"fmt"
	"html"
	"strings"
)

// addLinks adds pages reachable only through unusual links, and links that do not lead to pages.
func (s *Site) addLinks(lab *page) {
	hub := s.page(lab, "/lab/links/")
	for i := range s.casesPerKind() {
		refresh := s.page(hub, fmt.Sprintf("/l/refresh-%d", i))
		behind := s.page(refresh, fmt.Sprintf("/l/behind-refresh-%d", i))
		refresh.links = nil
		refresh.head = fmt.Sprintf("<meta http-equiv=\"refresh\" content=\"0; url=%s\">\n", behind.address)

		base := s.page(hub, fmt.Sprintf("/l/base-%d", i))
		base.head = fmt.Sprintf("<base href=\"/l/elsewhere-%d/\">\n", i)
		s.page(base, fmt.Sprintf("/l/elsewhere-%d/target.html", i))
		base.links = []link{{href: "target.html"}}

		s.page(hub, fmt.Sprintf("/l/%%C3%%BCn%%C3%%AFc%%C3%%B6de-%d", i))
		hub.links[len(hub.links)-1].href = fmt.Sprintf("/l/ünïcöde-%d", i)
		s.page(hub, fmt.Sprintf("/l/a%%20space%%20and+plus-%d.html", i))
		hub.links[len(hub.links)-1].href = fmt.Sprintf("/l/a space and+plus-%d.html", i)

		s.shell(hub, i)
		feed := s.register(hub, fmt.Sprintf("/l/feed-%d.xml", i), Expectation{Outcome: Skipped, Reason: SitemapPage})
		feed.answer = func(x *exchange) {
			x.send("application/rss+xml", []byte(`<?xml version="1.0"?><rss version="2.0"><channel><title>News</title><item><link>`+
				x.site.At("/")+`</link></item></channel></rss>`))
		}
		for _, file := range []string{"logo.png", "film.mp4", "all.zip", "font.woff2"} {
			s.refuse(hub, fmt.Sprintf("/l/%d/%s", i, file), Media)
		}
		for _, file := range [][2]string{{"style.css", "text/css"}, {"app.js", "text/javascript"}, {"setup.exe", "application/octet-stream"}} {
			code := s.register(hub, fmt.Sprintf("/l/%d/%s", i, file[0]), Expectation{Outcome: Skipped, Reason: WrongType})
			code.answer = func(x *exchange) { x.send(file[1], []byte("MZ\x90\x00\x03\x00\x00\x00")) }
		}
		for _, name := range []string{"Node.js", "scale.ai", "app.bin"} {
			s.page(hub, fmt.Sprintf("/l/%d/%s", i, name))
		}
		s.refuse(hub, fmt.Sprintf("{foreign}/partner/%d", i), OtherHost)
		s.list()
	}
	for _, href := range []string{
		"http://crawltest.invalid/", "https://sub.crawltest.invalid/page", "http://169.254.169.254/latest/meta-data/", "//crawltest.invalid/x",
	} {
		s.refuse(hub, href, OtherHost)
	}
	for _, href := range []string{
		"mailto:someone@crawltest.invalid", "javascript:void(0)", "tel:+49123456", "ftp://crawltest.invalid/file", "data:text/html,hello", "http://",
	} {
		s.refuse(hub, href, NoAddress)
	}
}

// list also adds a link to the sitemap: the one that the last call to refuse added to a page.
func (s *Site) list() { s.left[len(s.left)-1].listed = true }

// shell adds a page whose text a script creates.
func (s *Site) shell(hub *page, i int) {
	e := Expectation{Outcome: Failed, Reason: NeedsScripts}
	if s.opts.Scripts {
		e = Expectation{Outcome: Synched}
	}
	s.register(hub, fmt.Sprintf("/l/app-%d", i), e).answer = func(x *exchange) {
		title, text := x.site.title(x.page), x.site.paragraphs(x.page)
		var script strings.Builder
		script.WriteString("const root = document.getElementById('root');\n")
		for _, p := range text {
			// Split the text, so that it does not appear in the source.
			words := strings.Fields(p)
			fmt.Fprintf(&script, "{const p = document.createElement('p'); p.textContent = %q.split('|').reverse().join(' '); root.append(p)}\n", strings.Join(reversed(words), "|"))
		}
		x.send("text/html; charset=utf-8", fmt.Appendf(nil,
			"<!doctype html>\n<html lang=\"en\"><head><title>%s</title></head><body><noscript>You need to enable JavaScript to run this app.</noscript>"+
				"<div id=\"root\"></div><script>\n%s</script></body></html>\n", html.EscapeString(title), script.String()))
	}
}

func reversed(words []string) []string {
	out := make([]string, 0, len(words))
	for i := len(words) - 1; i >= 0; i-- {
		out = append(out, words[i])
	}
	return out
}
