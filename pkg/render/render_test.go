package render

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/crawl"
)

// text returns a handler that sends a body with the given media type.
func text(mediaType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		_, _ = w.Write([]byte(body))
	}
}

func cookieNames(r *http.Request) []string {
	var names []string
	for _, c := range r.Cookies() {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	return names
}

func redirect(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
}

func TestPagesAreReadAsTheirScriptsBuildThem(t *testing.T) {
	t.Parallel()
	b := shared(t)
	const shell = `<!doctype html><title>Shell</title><noscript>Please enable JavaScript</noscript><div id="root"></div>`
	show := func(expression string) string {
		return shell + `<script>const show = x => { root.innerHTML += '<p>' + x + '</p>' };` + expression + `</script>`
	}
	tests := map[string]struct {
		pages    map[string]string
		handlers map[string]http.HandlerFunc
		want     []string
		without  []string
		address  string // path of the final address; "": "/"
		status   int    // expected status; 0: 200
	}{
		"by a script of the page's": {
			pages:   map[string]string{"/": show(`show('built here')`)},
			want:    []string{"<p>built here</p>", "<title>Shell</title>"},
			without: []string{"<script", "noscript", "enable JavaScript"},
		},
		"by a script beside it": {
			pages: map[string]string{"/": shell + `<script src="a/app.js" type="module"></script>`,
				"/a/app.js": `import {text} from './part.js'; root.textContent = text;`, "/a/part.js": `export const text = 'from a module';`},
			want: []string{"from a module"},
		},
		"from what it fetches": {
			pages: map[string]string{"/": show(`fetch('/a.json').then(r => r.json()).then(d => show(d.text))`), "/a.json": `{"text": "fetched"}`},
			want:  []string{"<p>fetched</p>"},
		},
		"from what it fetches by and by": {
			pages: map[string]string{
				"/": show(`(async () => { for (let n = 0; n < 5; n++) { const r = await fetch('/n.json?' + n); await r.json();
				await new Promise(f => setTimeout(f, 300)); show('step ' + n) } })()`), "/n.json": `{}`},
			want: []string{"step 0", "step 4"},
		},
		"from what XMLHttpRequest brings, packed": {
			pages: map[string]string{"/": show(`const x = new XMLHttpRequest(); x.open('GET', '/packed'); x.onload = () => show(x.responseText + x.getResponseHeader('X-Total')); x.send()`)},
			handlers: map[string]http.HandlerFunc{"/packed": func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", "gzip")
				w.Header().Set("X-Total", "7")
				_, _ = w.Write(packed("unpacked "))
			}},
			want: []string{"unpacked 7"},
		},
		"from the answer to a POST": {
			pages: map[string]string{"/": show(`fetch('/q', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: '{"q": 1}'}).then(r => r.text()).then(show)`)},
			handlers: map[string]http.HandlerFunc{"/q": func(w http.ResponseWriter, r *http.Request) {
				body := make([]byte, 8)
				_, _ = r.Body.Read(body)
				fmt.Fprintf(w, "%s %s %s", r.Method, r.Header.Get("Content-Type"), body)
			}},
			want: []string{`POST application/json {"q": 1}`},
		},
		"where a script leads": {
			pages: map[string]string{"/": `<script>location.href = '/next'</script>`, "/next": show(`show('arrived')`)},
			want:  []string{"arrived"}, address: "/next",
		},
		"where a script leads after the page has loaded": {
			pages: map[string]string{"/": `<p>first</p><script>addEventListener('load', () => setTimeout(() => location.replace('/next'), 100))</script>`, "/next": show(`show('arrived')`)},
			want:  []string{"arrived"}, without: []string{"first"}, address: "/next",
		},
		"where a meta element leads": {
			pages: map[string]string{"/": `<meta http-equiv="refresh" content="0; url=/next">`, "/next": show(`show('arrived')`)},
			want:  []string{"arrived"}, address: "/next",
		},
		"where the server leads": {
			pages:    map[string]string{"/c/": show(`show(location.pathname)`)},
			handlers: map[string]http.HandlerFunc{"/": redirect("/b"), "/b": redirect("c/")},
			want:     []string{"/c/"}, address: "/c/",
		},
		"at the address that a script gives it": {
			pages: map[string]string{"/": show(`history.pushState({}, '', '/shown'); show('x')`)},
			want:  []string{"<p>x</p>"}, address: "/shown",
		},
		"after scripts that answer with a redirect": {
			pages:    map[string]string{"/": shell + `<script src="/old.js"></script>`, "/new.js": `root.textContent = 'moved script'`},
			handlers: map[string]http.HandlerFunc{"/old.js": redirect("/new.js")},
			want:     []string{"moved script"},
		},
		"with the parts of shadow trees in place": {
			pages: map[string]string{"/": shell + `<x-card><b slot="name">Ada</b> wrote it</x-card><script>customElements.define('x-card', class extends HTMLElement {
				connectedCallback() { this.attachShadow({mode: 'open'}).innerHTML = '<h2>By <slot name="name"></slot></h2><style>h2{}</style><p><slot></slot>, in 1843</p><slot name="none">unfilled</slot>' } })</script>`},
			want: []string{"<h2>By <b slot=\"name\">Ada</b></h2>", "wrote it, in 1843", "unfilled"}, without: []string{"<style", "<slot"},
		},
		"with documents that have no address": {
			pages: map[string]string{"/": `<iframe srcdoc="<p>inner text</p><script>document.body.append('built inside')</script>"></iframe>`},
			want:  []string{"<p>inner text</p>", "built inside"},
		},
		"with frames that help to build it": {
			pages: map[string]string{"/": show(`addEventListener('message', e => show(e.data))`) + `<iframe src="/frame"></iframe>`,
				"/frame": `not part of the page<script src="/f.js"></script>`, "/f.js": `parent.postMessage('told by the frame', '*')`},
			want: []string{"told by the frame"}, without: []string{"not part"},
		},
		"without frames of other sites": {
			pages: map[string]string{"/": show(`const f = document.createElement('iframe'); f.src = location.href.replace('127.0.0.1', 'localhost') + 'other';
				document.body.append(f); addEventListener('load', () => show('loaded'))`), "/other": "x"},
			want: []string{"<p>loaded</p>"},
		},
		"in UTF-8 whatever the original is": {
			handlers: map[string]http.HandlerFunc{"/": text("text/html", "<meta charset=windows-1251><p>\xcf\xf0\xe8\xe2\xe5\xf2</p><script>document.body.append('!')</script>")},
			want:     []string{"Привет", `charset="utf-8"`}, without: []string{"1251"},
		},
		"with linked data": {
			pages: map[string]string{"/": `<script type="application/ld+json">{"@type": "Article"}</script><script>var x = 1</script>`},
			want:  []string{`{"@type": "Article"}`}, without: []string{"var x"},
		},
		"also when the server says that there is none": {
			handlers: map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				w.WriteHeader(http.StatusNotFound)
				fmt.Fprint(w, show(`show('not there')`))
			}},
			want: []string{"not there"}, status: http.StatusNotFound,
		},
		"after pictures and style sheets that are not fetched": {
			pages: map[string]string{"/": show(`const i = new Image(); i.onload = () => show('picture'); i.onerror = () => show('no picture'); i.src = '/i.png';
				const l = document.createElement('link'); l.rel = 'stylesheet'; l.href = '/s.css'; l.onload = () => show('style'); l.onerror = () => show('no style'); document.head.append(l)`)},
			want: []string{"<p>picture</p>", "<p>style</p>"},
		},
		"by scripts that change the language": {
			pages: map[string]string{"/": show(`show('true text'); Document.prototype.importNode = null; JSON.stringify = () => 'lie'; Object.defineProperty(Element.prototype, 'outerHTML', {get: () => 'lie'});
				Object.defineProperty(document, 'documentElement', {get: () => null}); document.createElement = null; RegExp.prototype.test = () => false`)},
			want: []string{"true text"}, without: []string{"lie"},
		},
		"when they alert, confirm and prompt": {
			pages: map[string]string{"/": show(`alert('stop'); show('confirmed ' + confirm('sure?')); show('prompted ' + prompt('who?')); onbeforeunload = e => e.preventDefault()`)},
			want:  []string{"confirmed false", "prompted null"},
		},
		"with the cookies of server and scripts": {
			pages: map[string]string{"/in": show(`document.cookie = 'script=2'; fetch('/cookies').then(r => r.text()).then(show)`)},
			handlers: map[string]http.HandlerFunc{
				"/": func(w http.ResponseWriter, r *http.Request) {
					http.SetCookie(w, &http.Cookie{Name: "server", Value: "1", HttpOnly: true})
					http.Redirect(w, r, "/in", http.StatusSeeOther)
				},
				"/cookies": func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "got %s", cookieNames(r)) },
			},
			want: []string{"got [script server]"}, address: "/in",
		},
		"as itself": {
			pages:    map[string]string{"/": show(`show(navigator.userAgent); fetch('/ua').then(r => r.text()).then(show)`)},
			handlers: map[string]http.HandlerFunc{"/ua": func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "sent %s", r.UserAgent()) }},
			want:     []string{"<p>" + crawl.DefaultUserAgent + "</p>", "sent " + crawl.DefaultUserAgent},
		},
		"when one of its requests never ends": {
			pages:    map[string]string{"/": show(`show('there'); fetch('/hang').catch(() => show('cut'))`)},
			handlers: map[string]http.HandlerFunc{"/hang": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
			want:     []string{"there"},
		},
		"when they never stop to move": {
			pages: map[string]string{"/": show(`show('there'); const c = document.createElement('i'); root.append(c); setInterval(() => { c.textContent = performance.now() }, 20)`)},
			want:  []string{"there"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, test.pages, test.handlers)
			begin := time.Now()
			r := render(t, b, via(t), s.URL+"/")
			t.Logf("%s", time.Since(begin).Round(time.Millisecond))
			wantText(t, r, test.want...)
			for _, not := range test.without {
				if strings.Contains(string(r.HTML), not) {
					t.Errorf("the rendered page has %q:\n%.2000s", not, r.HTML)
				}
			}
			if test.address == "" {
				test.address = "/"
			}
			if test.status == 0 {
				test.status = http.StatusOK
			}
			if r.URL != s.URL+test.address || r.Status != test.status {
				t.Errorf("the rendering ends at %s with %d, want %s with %d", r.URL, r.Status, s.URL+test.address, test.status)
			}
			for _, path := range []string{"/i.png", "/s.css", "/other", "/favicon.ico"} {
				if s.count(path) > 0 {
					t.Errorf("%s was fetched", path)
				}
			}
		})
	}
}

func TestPagesShareNoState(t *testing.T) {
	t.Parallel()
	b := shared(t)
	s := serve(t, map[string]string{"/": `<p></p><script>
		document.querySelector('p').textContent = 'cookies: ' + document.cookie + '; storage: ' + localStorage.getItem('kept') + ';';
		document.cookie = 'kept=1; max-age=1000'; localStorage.setItem('kept', 1)</script>`}, nil)
	for range 2 {
		wantText(t, render(t, b, via(t), s.URL+"/"), "cookies: ; storage: null;")
	}
}

func TestFramesAreOfThePagesSiteByTheirNames(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"https://www.example.com/a", "https://www.example.com:8443/b", true},
		{"https://www.example.com/", "https://app.example.com/", true},
		{"https://www.example.com/", "http://www.example.com/", false},
		{"https://www.example.com/", "https://example.org/", false},
		{"https://a.github.io/", "https://b.github.io/", false},
		{"https://a.co.uk/", "https://b.co.uk/", false},
		{"http://127.0.0.1/", "http://127.0.0.1:81/", true},
		{"http://127.0.0.1/", "http://127.0.0.2/", false},
		{"http://intranet/", "http://intranet/a", true},
		{"", "http://intranet/a", false},
	} {
		if got := sameSite(test.a, test.b); got != test.want {
			t.Errorf("sameSite(%q, %q) = %v, want %v", test.a, test.b, got, test.want)
		}
	}
}
