package crawl

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// pageNeedsScript parses a page and calls needsScript. A page nested too deeply to parse does not count as a shell.
func pageNeedsScript(page []byte) bool {
	doc, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		return false
	}
	var s shellSigns
	s.read(doc)
	return s.needsScript()
}

func TestPagesThatNeedScriptsAreRecognised(t *testing.T) {
	t.Parallel()
	const prose = `<p>The harbour was dredged in the spring of that year, and the first ships of the new line came in at the end of June, ` +
		`watched by what the paper called half the town.</p>`
	body := func(s string) string {
		return `<!doctype html><html><head><meta charset="utf-8"><title>A title of the page</title></head><body>` + s + `</body></html>`
	}
	bundle := `<script src="/static/js/main.3f2a.js"></script>`
	tests := map[string]struct {
		page string
		want bool
	}{
		"Create React App asks in noscript and has an empty root":      {body(`<noscript>You need to enable JavaScript to run this app.</noscript><div id="root"></div>` + bundle), true},
		"Vite has an empty root and a module":                          {body(`<div id="app"></div><script type="module" src="/assets/index-4fd.js"></script>`), true},
		"the root shows a spinner with a word":                         {body(`<div id="app"><div class="spinner">Loading…</div></div>` + bundle), true},
		"Angular has an element of its own":                            {body(`<app-root></app-root>` + bundle), true},
		"an application's element in the body is empty":                {body(`<shop-shell><div class="slot"></div></shop-shell>` + bundle), true},
		"AngularJS builds where it is told by an attribute":            {body(`<div ng-app="shop"><div ng-view></div></div>` + bundle), true},
		"Next.js without rendering on the server":                      {body(`<div id="__next"></div><script id="__NEXT_DATA__" type="application/json">{"props":{"text":"` + strings.Repeat("word ", 100) + `"}}</script>` + bundle), true},
		"Nuxt shows that it loads":                                     {body(`<div id="__nuxt"><div>Loading, please wait</div></div>` + bundle), true},
		"Quasar":                                                       {body(`<div id="q-app"></div>` + bundle), true},
		"Gatsby":                                                       {body(`<div id="___gatsby"></div>` + bundle), true},
		"a root within others":                                         {body(`<div class="a"><main><div id="root"></div></main></div>` + bundle), true},
		"a root beside navigation and footer":                          {body(`<nav><a href="/">Home</a> <a href="/about">About us</a></nav><div id="root"></div><footer>© The firm, all rights reserved</footer>` + bundle), true},
		"nothing but a script":                                         {body(bundle), true},
		"nothing but a script that leads on":                           {body(`<script>location.replace('/start')</script>`), true},
		"nothing but a script and a word of patience":                  {body(`<p>Please wait…</p>` + bundle), true},
		"nothing but a script and a word of patience in German":        {body(`<p>Seite wird geladen</p>` + bundle), true},
		"a canvas and a script":                                        {body(`<canvas></canvas>` + bundle), true},
		"noscript asks at length, in German":                           {body(`<noscript><h1>Hinweis</h1><p>Bitte aktivieren Sie JavaScript, um diese Seite zu sehen.</p></noscript><div class="x"></div>` + bundle), true},
		"noscript asks in Chinese":                                     {body(`<noscript>请启用 JavaScript</noscript><div></div>` + bundle), true},
		"the text asks, until scripts replace it":                      {body(`<div id="content">Please enable JavaScript in your browser to view this page.</div>` + bundle), true},
		"a check for robots":                                           {body(`<div><h2>Just a moment...</h2><noscript>Enable JavaScript and cookies to continue</noscript></div>` + bundle), true},
		"an upper-case document":                                       {strings.ToUpper(body(`<div id="root"></div><script>x=1;</script>`)), true},
		"a document without html and body tags":                        {`<div id=root></div><script src=a.js></script>`, true},
		"styles and hidden drawings are no text":                       {body(`<style>` + strings.Repeat(".a{color:red}", 50) + `</style><svg><text>` + strings.Repeat("word ", 40) + `</text></svg><div id="root"></div>` + bundle), true},
		"a template is no text":                                        {body(`<template>` + prose + `</template><div id="app"></div>` + bundle), true},
		"Next.js with content":                                         {body(`<div id="__next"><main>` + prose + `</main></div><script id="__NEXT_DATA__" type="application/json">{}</script>` + bundle), false},
		"Nuxt with content":                                            {body(`<div id="__nuxt"><div id="__layout">` + prose + `</div></div>` + bundle), false},
		"React with content asks in noscript all the same":             {body(`<noscript>You need to enable JavaScript to run this app.</noscript><div id="root">` + prose + prose + `</div>` + bundle), false},
		"an article with an empty root for comments":                   {body(prose + `<div id="app"></div>` + bundle), false},
		"an article with the picture of a tracker in noscript":         {body(prose + `<noscript><img src="https://t.example/javascript.gif"></noscript>` + bundle), false},
		"a short page":                                                 {body(`<p>Hello</p>`), false},
		"a short page with a script":                                   {body(`<p>Hello</p><script src="https://www.googletagmanager.com/gtag/js"></script>`), false},
		"an error page":                                                {body(`<h1>404 Not Found</h1><hr><center>nginx</center>`), false},
		"an error page with a script":                                  {body(`<h1>404 Not Found</h1><p>Go <a href="/">home</a>.</p>` + bundle), false},
		"an empty page without scripts":                                {body(``), false},
		"an empty root without scripts":                                {body(`<div id="root"></div>`), false},
		"an empty root with data alone":                                {body(`<div id="root"></div><script type="application/ld+json">{"@type":"Thing"}</script>`), false},
		"no page at all":                                               {``, false},
		"a gallery of pictures with a script":                          {body(`<img src="a.jpg"><img src="b.jpg">` + bundle), false},
		"a form with a script":                                         {body(`<form><input name="q"></form>` + bundle), false},
		"a page of frames":                                             {`<html><head>` + bundle + `</head><frameset cols="20%,80%"><frame src="a.html"></frameset></html>`, false},
		"a page that sends the reader on by itself":                    {`<html><head><meta http-equiv="refresh" content="0; url=/x"><script>1</script></head><body></body></html>`, false},
		"a list of links within navigation":                            {body(`<nav>` + strings.Repeat(`<a href="/x">A page of the site</a> `, 20) + `</nav>` + bundle), false},
		"a short article about JavaScript":                             {body(`<h1>JavaScript</h1><p>A language for pages.</p>` + bundle), false},
		"a consent banner's element beside a short page":               {body(`<cookie-consent></cookie-consent><p>Closed on Monday</p>` + bundle), false},
		"text in a script of another type is not run, and nobody asks": {body(`<div id="x"></div><script type="text/template">` + prose + `</script>`), false},
		"text that is nested too deeply to be parsed":                  {strings.Repeat(`<div id="root">`, 600) + bundle, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := pageNeedsScript([]byte(test.page)); got != test.want {
				t.Errorf("needsScript = %v, want %v, of\n%s", got, test.want, test.page)
			}
		})
	}
}

func BenchmarkNeedsScriptOfAHostilePage(b *testing.B) {
	for name, page := range map[string]string{
		"many roots":      strings.Repeat(`<div id="app"></div>`, 400_000),
		"deep navigation": strings.Repeat("<nav>", 500) + strings.Repeat("<i>a</i>", 1_000_000),
		"nested roots":    strings.Repeat(`<div id="app">`, 500) + strings.Repeat("<b></b>", 1_000_000),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				pageNeedsScript([]byte(page))
			}
		})
	}
}

func FuzzNeedsScript(f *testing.F) {
	for _, s := range []string{
		`<div id=root></div><script src=a.js></script>`, `<noscript>JavaScript</noscript><script>1</script>`, `<frameset>`,
		`<template><script>1</script></template><app-root>`, `<body><p>Hello`, "\xff\xfe<\x00d\x00i\x00v",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, page []byte) {
		needs := pageNeedsScript(page)
		if needs && !strings.Contains(strings.ToLower(string(page)), "<script") {
			t.Errorf("a page without scripts needs them: %q", page)
		}
		full := append([]byte(fmt.Sprintf("<p>%s</p>", strings.Repeat("text ", emptyNotice))), page...)
		if pageNeedsScript(full) {
			t.Errorf("a page full of text needs scripts: %q", page)
		}
	})
}
