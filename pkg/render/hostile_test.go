package render

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// listeningPort listens on a local TCP and UDP port and counts connections. The test fails if there are any, because a
// page may send requests only through `via`.
type listeningPort struct {
	tcp         net.Listener
	udp         net.PacketConn
	connections atomic.Int64
}

func listen(t testing.TB) *listeningPort {
	t.Helper()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	udp, err := net.ListenPacket("udp", tcp.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	e := &listeningPort{tcp: tcp, udp: udp}
	done := make(chan struct{}, 2)
	go func() {
		defer func() { done <- struct{}{} }()
		for {
			c, err := tcp.Accept()
			if err != nil {
				return
			}
			e.connections.Add(1)
			c.Close()
		}
	}()
	go func() {
		defer func() { done <- struct{}{} }()
		for {
			if _, _, err := udp.ReadFrom(make([]byte, 2000)); err != nil {
				return
			}
			e.connections.Add(1)
		}
	}()
	t.Cleanup(func() {
		tcp.Close()
		udp.Close()
		<-done
		<-done
		if n := e.connections.Load(); n > 0 {
			t.Errorf("the browser has reached a port by itself, %d times", n)
		}
	})
	return e
}

func (e *listeningPort) addr() string { return e.tcp.Addr().String() }

const shell = `<!doctype html><div id="root">begun;</div><script>const show = x => { root.append(x + ';') };</script>`

// reaching contains scripts that try to access the network in different ways. ADDR stands for the listeningPort's
// address.
var reaching = map[string]string{
	"a WebSocket":         `const w = new WebSocket('ws://ADDR/'); w.onerror = () => show('failed'); w.onopen = () => show('reached')`,
	"a WebSocket by name": strings.ReplaceAll(`const w = new WebSocket('ws://NAME/'); w.onerror = () => show('failed'); w.onopen = () => show('reached')`, "NAME", "localhost:PORT"),
	"a WebSocket of a worker": `const w = new Worker(URL.createObjectURL(new Blob(["const w = new WebSocket('ws://ADDR/'); w.onerror = () => postMessage('failed')"])));
		w.onmessage = e => show(e.data)`,
	"a request of a worker": `const w = new Worker(URL.createObjectURL(new Blob(["fetch('http://localhost:PORT/').then(() => postMessage('reached'), () => postMessage('failed'))"])));
		w.onmessage = e => show(e.data)`,
	"a shared worker": `try { const w = new SharedWorker('data:text/javascript,' + encodeURIComponent("onconnect = e => fetch('http://localhost:PORT/').catch(() => e.ports[0].postMessage('failed'))"));
		w.port.onmessage = e => show(e.data) } catch { show('failed') }`,
	"WebRTC": `try { const p = new RTCPeerConnection({iceServers: [{urls: 'stun:ADDR'}]}); p.createDataChannel('x'); p.createOffer().then(o => p.setLocalDescription(o)); setTimeout(() => show('failed'), 400) } catch { show('failed') }`,
	"WebRTC of a frame": `const f = document.createElement('iframe'); document.body.append(f);
		try { const p = new f.contentWindow.RTCPeerConnection({iceServers: [{urls: 'stun:ADDR'}, {urls: 'turn:ADDR?transport=tcp', username: 'x', credential: 'x'}]});
			p.createDataChannel('x'); p.createOffer().then(o => p.setLocalDescription(o)); setTimeout(() => show('failed'), 400) } catch { show('failed') }`,
	"WebRTC of a frame that is written": `const f = document.createElement('iframe'); f.srcdoc = '<script>parent.RTC = window.RTCPeerConnection<' + '/script>'; document.body.append(f);
		setTimeout(() => { try { const p = new RTC({iceServers: [{urls: 'stun:ADDR'}]}); p.createDataChannel('x'); p.createOffer().then(o => p.setLocalDescription(o)); setTimeout(() => show('failed'), 400) } catch { show('failed') } }, 200)`,
	"WebRTC of a frame in a process of its own": `const f = document.createElement('iframe'); f.sandbox = 'allow-scripts';
		f.srcdoc = "<script>const p = new RTCPeerConnection({iceServers: [{urls: 'stun:ADDR'}]}); p.createDataChannel('x'); p.createOffer().then(o => p.setLocalDescription(o))<" + '/script>';
		document.body.append(f); setTimeout(() => show('failed'), 400)`,
	"WebTransport":       `try { new WebTransport('https://ADDR/').ready.then(() => show('reached'), () => show('failed')) } catch { show('failed') }`,
	"an event stream":    `const s = new EventSource('http://localhost:PORT/'); s.onerror = () => { s.close(); show('failed') }`,
	"a beacon":           `navigator.sendBeacon('http://localhost:PORT/', 'x'); show('failed')`,
	"a preconnection":    `document.head.insertAdjacentHTML('beforeend', '<link rel=preconnect href="http://ADDR"><link rel=dns-prefetch href="//ADDR"><link rel=prefetch href="http://ADDR/x"><link rel=preload as=image href="http://ADDR/y">'); show('failed')`,
	"a ping of a link":   `const a = document.createElement('a'); a.href = '#x'; a.ping = 'http://localhost:PORT/'; document.body.append(a); a.click(); show('failed')`,
	"a prerendering":     `document.head.insertAdjacentHTML('beforeend', '<script type=speculationrules>{"prerender": [{"urls": ["http://ADDR/"]}], "prefetch": [{"urls": ["http://ADDR/z"]}]}<' + '/script>'); show('failed')`,
	"a window":           `show(window.open('http://localhost:PORT/') ? 'reached' : 'failed')`,
	"a window of a link": `const a = document.createElement('a'); a.href = 'http://localhost:PORT/'; a.target = '_blank'; document.body.append(a); a.click(); show('failed')`,
	"a form":             `document.body.insertAdjacentHTML('beforeend', '<form method=post target=_blank action="http://localhost:PORT/"></form>'); document.forms[0].submit(); show('failed')`,
	"an FTP address":     `fetch('ftp://ADDR/x').catch(() => show('failed'))`,
	"a picture":          `const i = new Image(); i.onload = i.onerror = () => show('failed'); i.src = 'http://localhost:PORT/i.png'`,
	"a font":             `new FontFace('f', 'url(http://ADDR/f.woff2)').load().catch(() => show('failed'))`,
	"a film":             `const v = document.createElement('video'); v.onerror = () => show('failed'); v.src = 'http://ADDR/v.mp4'; document.body.append(v)`,
	"a download":         `const a = document.createElement('a'); a.href = 'blob:http://localhost:PORT/f.zip'; a.download = 'f.zip'; document.body.append(a); a.click(); show('failed')`,
}

func TestAllRequestsUseTheTransport(t *testing.T) {
	t.Parallel()
	b := shared(t)
	for name, script := range reaching {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reach(t, b, script)
		})
	}
}

// reach renders a page with the script. The test fails if the script reaches the port that ADDR stands for.
func reach(t *testing.T, b *Browser, script string) {
	t.Helper()
	e := listen(t)
	_, port, err := net.SplitHostPort(e.addr())
	if err != nil {
		t.Fatal(err)
	}
	script = strings.NewReplacer("ADDR", e.addr(), "PORT", port).Replace(script)
	s := serve(t, map[string]string{"/": shell + "<script>" + script + "</script>"}, nil)
	d := via(t)
	d.host = strings.TrimPrefix(s.URL, "http://")
	wantText(t, render(t, b, d, s.URL+"/"), "begun;", "failed;")
	for _, asked := range d.asked {
		if !strings.HasPrefix(asked, s.URL+"/") {
			t.Logf("via was asked for %s", asked)
		}
	}
}

func TestAddressesRefusedByTheTransportAreNotReached(t *testing.T) {
	t.Parallel()
	b := shared(t)
	for _, address := range []string{"http://169.254.169.254/latest/meta-data/", "http://localhost:9/", "http://[::1]/", "http://0x7f.1/x", "http://internal.example/"} {
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			s := serve(t, map[string]string{"/": shell + `<script>fetch('` + address + `').then(() => show('reached'), () => show('refused'))</script>`}, nil)
			d := via(t)
			wantText(t, render(t, b, d, s.URL+"/"), "refused;")
			if !strings.Contains(address, "0x7f.1") && d.refused != 1 { // the browser changes 0x7f.1 to 127.0.0.1
				t.Errorf("via was asked for %q and refused %d, want one", d.asked, d.refused)
			}
		})
	}
	t.Run("as the page itself", func(t *testing.T) {
		t.Parallel()
		s := serve(t, nil, map[string]http.HandlerFunc{"/": redirect("http://169.254.169.254/latest/")})
		_, err := b.Render(context.Background(), s.URL+"/", via(t))
		if e := wantError(t, err); !strings.Contains(e.Message, "169.254.169.254") || !strings.Contains(e.Message, errRefused.Error()) {
			t.Errorf("the message does not tell the cause: %s", e.Message)
		}
	})
	t.Run("where a script leads", func(t *testing.T) {
		t.Parallel()
		s := serve(t, map[string]string{"/": `<script>location = 'http://169.254.169.254/latest/'</script>`}, nil)
		_, err := b.Render(context.Background(), s.URL+"/", via(t))
		if e := wantError(t, err); !strings.Contains(e.Message, "169.254.169.254") {
			t.Errorf("the message does not tell the cause: %s", e.Message)
		}
	})
}

func TestAServiceWorkerIsNotFetched(t *testing.T) {
	t.Parallel()
	b := shared(t)
	s := serve(t, map[string]string{
		"/":      shell + `<script>navigator.serviceWorker.register('/sw.js').then(() => show('registered'), () => show('refused'))</script>`,
		"/sw.js": `fetch('/from-worker')`,
	}, nil)
	wantText(t, render(t, b, via(t), s.URL+"/"), "refused;")
	if s.count("/sw.js")+s.count("/from-worker") > 0 {
		t.Error("the service worker was fetched")
	}
}

// endless returns a handler that sends a body of `bytes` bytes.
func endless(mediaType string, bytes int64) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		_, _ = io.CopyN(w, zeroes{}, bytes)
	}
}

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

func TestUnrenderablePagesAreReported(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it is about pages, not about goroutines")
	}
	b := start(t, func(o *Options) { o.Timeout, o.MaxHTML = 30*time.Second, 1<<20 })
	hurried := start(t, func(o *Options) { o.Timeout = 5 * time.Second })
	tests := map[string]struct {
		page      string
		handler   http.HandlerFunc
		permanent bool
		message   string
	}{
		"a page of 100 MB":               {handler: endless("text/html", 100<<20), permanent: true, message: "too large"},
		"a page that scripts make large": {page: `<p></p><script>document.querySelector('p').textContent = 'x '.repeat(1 << 20)</script>`, permanent: true, message: "too large"},
		"a PDF":                          {handler: text("application/pdf", "%PDF-1.4"), permanent: true, message: "application/pdf"},
		"a picture":                      {handler: text("image/png", "\x89PNG"), permanent: true, message: "image/png"},
		"a file to download": {permanent: true, message: "download", handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Disposition", `attachment; filename="x.html"`)
			fmt.Fprint(w, "<p>x")
		}},
		"redirects without end":                           {handler: redirect("/"), permanent: true, message: "more than 12 addresses"},
		"scripts that lead on without end":                {page: `<script>location = '/?' + Math.random()</script>`, permanent: true, message: "more than 12 addresses"},
		"a server that does not answer":                   {handler: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, message: "within 5s"},
		"a script without end, after which there is text": {page: `<script>for (;;);</script>text`},
		"a script without end and no text":                {page: `<script>for (;;);</script>`, message: "within 5s"},
		"a script that leads to a download":               {page: `text<script>location = '/file'</script>`},
		"a script that leads to a file":                   {page: `text<script>location = 'file:///etc/passwd'</script>`},
		"a script that leads to data":                     {page: `text<script>location = 'data:text/html,other'</script>`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			handlers := map[string]http.HandlerFunc{"/file": text("application/zip", "PK")}
			if test.handler != nil {
				handlers["/"] = test.handler
			}
			s := serve(t, map[string]string{"/": test.page}, handlers)
			b := b
			if !test.permanent { // the page does not become idle
				b = hurried
			}
			r, err := b.Render(context.Background(), s.URL+"/", via(t))
			if test.message == "" { // the browser itself refuses to navigate, and the page stays
				if err != nil {
					t.Fatal(err)
				}
				wantText(t, r, "text")
				return
			}
			if e := wantError(t, err); !strings.Contains(e.Message, test.message) || e.Permanent != test.permanent {
				t.Errorf("got %q (permanent: %v), want %q (%v)", e.Message, e.Permanent, test.message, test.permanent)
			}
		})
	}
}

// TestLargeAnswersToPagesAreRefused isn't parallel: if other pages kept all CPUs busy, the responses would be too slow
// for the rendering to wait for them.
func TestLargeAnswersToPagesAreRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("it is about input and figures, not about goroutines")
	}
	bomb := packed(strings.Repeat("0", 100<<20))
	for name, large := range map[string]http.HandlerFunc{
		"of 100 MB": endless("text/plain", 100<<20),
		"that unpack to 100 MB": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb)
		},
	} {
		t.Run(name, func(t *testing.T) {
			page := shell + `<script>fetch('/large').then(r => r.blob()).then(() => show('got it'), () => show('refused'))</script>`
			s := serve(t, map[string]string{"/": page}, map[string]http.HandlerFunc{"/large": large})
			wantText(t, render(t, shared(t), via(t), s.URL+"/"), "refused;")
		})
	}
}

func TestHostilePagesShowWhatTheyHave(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it waits until the time of pages is over")
	}
	b := start(t, func(o *Options) { o.Timeout = 5 * time.Second })
	tests := map[string]struct{ script, want string }{
		"requests without end, refused":         {script: `const ask = () => fetch('http://10.0.0.1/').catch(ask); ask()`, want: "begun;"},
		"requests without end, one by one":      {script: `const ask = () => fetch('/x').then(ask, ask); ask()`, want: "begun;"},
		"requests without end, all at once":     {script: `for (let n = 0; n < 5000; n++) fetch('/x?' + n).catch(() => {})`, want: "begun;"},
		"a script without end":                  {script: `setTimeout(() => { for (;;); }, 100)`, want: "begun;"},
		"a script without end, again and again": {script: `setInterval(() => { for (;;); }, 10)`, want: "begun;"},
		"dialogs without end":                   {script: `setTimeout(() => { for (;;) alert('stop') }, 100)`, want: "begun;"},
		"windows without end":                   {script: `setInterval(() => open('/'), 1); setInterval(() => open('about:blank'), 1)`, want: "begun;"},
		"states without end":                    {script: `setInterval(() => { for (let n = 0; n < 1000; n++) history.replaceState({}, '', '#' + n) }, 1)`, want: "begun;"},
		"messages without end":                  {script: `setInterval(() => { for (let n = 0; n < 1000; n++) console.log({n}, 'x'.repeat(1000)) }, 1)`, want: "begun;"},
		"frames within frames":                  {script: `const f = document.createElement('iframe'); f.src = '/'; document.body.append(f)`, want: "begun;"},
		"a document nested 2,000 deep":          {script: `let e = document.body; for (let n = 0; n < 2000; n++) e = e.appendChild(document.createElement('div')); e.append('deep;')`, want: "deep;"},
		"a document nested 12,000 deep":         {script: `let e = document.body; for (let n = 0; n < 12000; n++) e = e.appendChild(document.createElement('b')); document.body.style.display = 'none'; e.append('deep;')`, want: "deep;"},
		"work for the processor without end":    {script: `for (let n = 0; n < 4; n++) new Worker(URL.createObjectURL(new Blob(['for (;;);'])))`, want: "begun;"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, map[string]string{"/": shell + "<script>" + test.script + "</script>", "/x": "{}"}, nil)
			d := via(t)
			b := b
			if strings.HasSuffix(name, "all at once") { // the page becomes idle
				b = shared(t)
			}
			begin := time.Now()
			wantText(t, render(t, b, d, s.URL+"/"), test.want)
			t.Logf("%s, %d requests", time.Since(begin).Round(time.Millisecond), len(d.asked))
			if n := len(d.asked); n > maxRequests {
				t.Errorf("%d requests were made, want at most %d", n, maxRequests)
			}
		})
	}
}

func TestAPageThatTakesAllMemoryHarmsNoOther(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it waits until the time of pages is over")
	}
	b := start(t, func(o *Options) { o.Timeout = 5 * time.Second })
	s := serve(t, map[string]string{"/": shell, "/eats": shell + `<script>const a = []; for (;;) a.push(new Array(1 << 16).fill({}))</script>`}, nil)
	if _, err := b.Render(context.Background(), s.URL+"/eats", via(t)); err != nil {
		wantError(t, err)
	}
	wantText(t, render(t, b, via(t), s.URL+"/"), "begun;")
}
