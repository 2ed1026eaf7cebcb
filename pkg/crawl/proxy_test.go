package crawl

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/crawl/guard"
)

// testProxy is a proxy that connects to the same server for every request and records the requested targets.
type testProxy struct {
	*httptest.Server
	to     string // the server's host and port
	refuse int    // status to refuse with; 0 means to connect
	only   string // `refuse` applies only to this path; "" means all paths
	mu     sync.Mutex
	asked  []string
}

func (m *testProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	m.asked = append(m.asked, r.Method+" "+r.Host+" "+r.Header.Get("Proxy-Authorization"))
	m.mu.Unlock()
	if m.refuse != 0 && (m.only == "" || m.only == r.URL.Path) {
		w.Header().Set("Retry-After", "600")
		w.WriteHeader(m.refuse)
		return
	}
	if r.Method != http.MethodConnect {
		out := r.Clone(r.Context())
		out.RequestURI, out.URL.Scheme, out.URL.Host = "", "http", m.to
		out.Header.Del("Proxy-Authorization")
		res, err := http.DefaultTransport.RoundTrip(out)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer res.Body.Close()
		maps.Copy(w.Header(), res.Header)
		w.WriteHeader(res.StatusCode)
		_, _ = io.Copy(w, res.Body)
		return
	}
	out, err := net.Dial("tcp", m.to)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	in, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		out.Close()
		return
	}
	_, _ = io.WriteString(in, "HTTP/1.1 200 OK\r\n\r\n")
	join(in, buffered.Reader, out)
}

// join copies between two connections until both are closed.
func join(in net.Conn, from io.Reader, out net.Conn) {
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(out, from); out.Close() })
	both.Go(func() { _, _ = io.Copy(in, out); in.Close() })
	both.Wait()
}

func (m *testProxy) requests() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.asked)
}

// proxied returns a crawler that may access only the public internet, through the proxy. It can resolve several host
// names, some to public and some to private addresses.
func proxied(t *testing.T, proxy string, change ...func(*Options)) *Crawler {
	t.Helper()
	at, err := url.Parse(proxy)
	if err != nil {
		t.Fatal(err)
	}
	resolver := dnsServer(t, zone{
		"public.example.": {{"93.184.215.14"}}, "inner.example.": {{"10.0.0.7"}}, "both.example.": {{"93.184.215.14", "10.0.0.7"}},
	})
	o := Options{Proxy: at, PerHostDelay: -1, TempDir: t.TempDir(), Resolver: resolver}
	for _, f := range change {
		f(&o)
	}
	c := New(o)
	t.Cleanup(c.Close)
	return c
}

func newTestProxy(t *testing.T, to *httptest.Server) *testProxy {
	t.Helper()
	m := &testProxy{to: to.Listener.Addr().String()}
	m.Server = serve(t, m)
	return m
}

func TestRequestsGoThroughTheProxy(t *testing.T) {
	t.Parallel()
	m := newTestProxy(t, routes(t, map[string]string{"/a": "<p>Behind the proxy.</p>"}))
	c := proxied(t, strings.Replace(m.URL, "http://", "http://user:pass@", 1))
	_, body, err := fetch(t, c, PageRequest{URL: "http://public.example/a"})
	if err != nil || !strings.Contains(body, "Behind the proxy.") {
		t.Fatalf("%q, %v", body, err)
	}
	want := "GET public.example Basic dXNlcjpwYXNz"
	if diff := cmp.Diff([]string{want, want}, m.requests()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestTLSGoesThroughTheProxy(t *testing.T) {
	t.Parallel()
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<p>Behind the proxy.</p>") }))
	t.Cleanup(secure.Close)
	m := newTestProxy(t, secure)
	c := proxied(t, m.URL)
	c.transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	_, body, err := fetch(t, c, PageRequest{URL: "https://public.example/a"})
	if err != nil || !strings.Contains(body, "Behind the proxy.") {
		t.Fatalf("%q, %v", body, err)
	}
	if got := m.requests(); len(got) == 0 || got[0] != "CONNECT public.example:443 " {
		t.Errorf("the proxy was asked for %q", got)
	}
}

func TestTheGuardHoldsBehindAProxy(t *testing.T) {
	t.Parallel()
	m := newTestProxy(t, routes(t, nil))
	socks := newSocks(t, m.to)
	for _, proxy := range []string{m.URL, "socks5://" + socks.addr} {
		c := proxied(t, proxy)
		for _, target := range []string{
			"http://inner.example/", "https://inner.example/", "http://both.example/", "http://10.0.0.7/", "http://127.0.0.1:8080/",
			"http://169.254.169.254/latest/", "http://[::1]/", "http://public.example:22/", m.URL + "/", "http://localhost/",
		} {
			_, _, err := fetch(t, c, PageRequest{URL: target})
			if e := wantError(t, err); !e.Permanent {
				t.Errorf("%s through %s: %v", target, proxy, err)
			}
		}
	}
	if asked := append(m.requests(), socks.requests()...); len(asked) > 0 {
		t.Errorf("proxies were asked for %q", asked)
	}
}

func TestARedirectToAPrivateAddressIsRefusedBehindAProxy(t *testing.T) {
	t.Parallel()
	m := newTestProxy(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://inner.example/secret", http.StatusFound)
	})))
	_, _, err := fetch(t, proxied(t, m.URL), PageRequest{URL: "http://public.example/a"})
	if e := wantError(t, err); !e.Permanent || !strings.Contains(e.Message, "10.0.0.7 is a private address") {
		t.Errorf("got %v", err)
	}
	if slices.ContainsFunc(m.requests(), func(r string) bool { return strings.Contains(r, "inner") }) {
		t.Errorf("the proxy was asked for %q", m.requests())
	}
}

// absentServer is an address that refuses connections. A closed server's port wouldn't do, because another test might
// reuse it.
const absentServer = "http://127.0.0.1:1"

func TestAProxyThatDoesNotConnectIsNamed(t *testing.T) {
	t.Parallel()
	for status, permanent := range map[int]bool{
		http.StatusForbidden: true, http.StatusProxyAuthRequired: false, http.StatusRequestTimeout: false, http.StatusTooManyRequests: false,
		http.StatusBadGateway: false,
	} {
		m := newTestProxy(t, routes(t, nil))
		m.refuse = status
		_, _, err := fetch(t, proxied(t, strings.Replace(m.URL, "http://", "http://user:very-secret@", 1)), PageRequest{URL: "https://public.example/a"})
		e := wantError(t, err)
		if !permanent && e.RetryAfter != 10*time.Minute {
			t.Errorf("%d: again after %s", status, e.RetryAfter)
		}
		if e.Permanent != permanent || !strings.Contains(e.Message, proxyName) || strings.Contains(err.Error(), "very-secret") {
			t.Errorf("%d: permanent %t, %v", status, e.Permanent, err)
		}
	}
	_, _, err := fetch(t, proxied(t, absentServer), PageRequest{URL: "http://public.example/a"})
	if e := wantError(t, err); e.Permanent || !strings.Contains(e.Message, proxyName) {
		t.Errorf("got %v", err)
	}
}

func TestAccessBehindAProxyDependsOnTheCheckedLookup(t *testing.T) {
	t.Parallel()
	m := newTestProxy(t, routes(t, map[string]string{"/a": shellPage, "/api": "inner text"}))
	s := newSocks(t, m.to)
	allow, err := guard.ParseAllow([]string{"10.0.0.0/8"})
	if err != nil {
		t.Fatal(err)
	}
	// A hostile DNS server changes its answers over time. Only the first answers are checked, so later ones must not
	// change the result.
	const public, private = "93.184.215.14", "10.0.0.7"
	for name, test := range map[string]struct {
		responses [][]string
		inner     bool // the page's scripts may access private addresses that the configuration allows
		named     bool // only for a proxy that gets names and may connect to any of their addresses
	}{
		"public":                {responses: [][]string{{public}}},
		"public, then private":  {responses: [][]string{{public}, {public}, {private}}},
		"public, then no names": {responses: [][]string{{public}, {public}, {"none.example."}}},
		"both":                  {responses: [][]string{{public, private}}, named: true},
		"private":               {responses: [][]string{{private}}, inner: true},
	} {
		for _, proxy := range []string{m.URL, "socks5://" + s.addr} {
			if test.named && proxy != m.URL {
				continue
			}
			var reached error
			c := proxied(t, proxy, func(o *Options) {
				o.Allow = allow
				o.Resolver = dnsServer(t, zone{"page.example.": test.responses, "inner.example.": {{private}}})
				o.Renderer = browserOf(func(_ context.Context, u string, get func(string) (int, string, error)) (Rendered, error) {
					_, _, reached = get("http://inner.example/api")
					return Rendered{Status: 200, URL: u, HTML: []byte("<p>text")}, nil
				})
			})
			if _, _, err := fetch(t, c, PageRequest{URL: "http://page.example/a"}); err != nil {
				t.Errorf("%s through %s: %v", name, proxy, err)
			} else if (reached == nil) != test.inner {
				t.Errorf("%s through %s: asking an inner host gives %v", name, proxy, reached)
			}
		}
	}
}

func TestAProxyThatRequiresAPasswordIsReported(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/robots.txt", "/a", "/api"} {
		m := newTestProxy(t, routes(t, map[string]string{"/a": shellPage, "/api": "text", "/robots.txt": "User-agent: *\nDisallow: /private"}))
		m.refuse, m.only = http.StatusProxyAuthRequired, path
		now := time.Now()
		c := proxied(t, m.URL, func(o *Options) {
			o.Now = func() time.Time { return now }
			o.Renderer = browserOf(func(_ context.Context, u string, get func(string) (int, string, error)) (Rendered, error) {
				_, _, err := get("http://public.example/api")
				return Rendered{Status: 200, URL: u, HTML: []byte("<p>text")}, err
			})
		})
		_, _, err := fetch(t, c, PageRequest{URL: "http://public.example/a"})
		if e := wantError(t, err); e.Permanent || e.RetryAfter != 10*time.Minute || !strings.Contains(e.Message, proxyName) {
			t.Errorf("%s: permanent %t, again after %s: %v", path, e.Permanent, e.RetryAfter, err)
		}
		m.refuse = 0
		now = now.Add(11 * time.Minute)
		_, _, err = fetch(t, c, PageRequest{URL: "http://public.example/private"})
		if e := wantError(t, err); !errors.Is(err, errForbidden) {
			t.Errorf("%s: with a password, a page that robots.txt forbids gives %v", path, e)
		}
	}
}

func TestAServersOwn407IsItsAnswer(t *testing.T) {
	t.Parallel()
	root := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusProxyAuthRequired) }))
	_, _, err := fetch(t, local(t), PageRequest{URL: root.URL + "/a"})
	if e := wantError(t, err); !e.Permanent || strings.Contains(e.Message, proxyName) {
		t.Errorf("got %v", err)
	}
}

func TestASocksProxyGetsTheAddressThatWasChecked(t *testing.T) {
	t.Parallel()
	s := newSocks(t, routes(t, map[string]string{"/a": "<p>Behind the proxy.</p>"}).Listener.Addr().String())
	_, body, err := fetch(t, proxied(t, "socks5://"+s.addr), PageRequest{URL: "http://public.example/a"})
	if err != nil || !strings.Contains(body, "Behind the proxy.") {
		t.Fatalf("%q, %v", body, err)
	}
	if got := s.requests(); len(got) == 0 || got[0] != "93.184.215.14:80" {
		t.Errorf("the proxy was asked for %q", got)
	}
}

// socks is a SOCKS5 proxy (RFC 1928) that connects to the same server for every request.
type socks struct {
	addr, to string
	mu       sync.Mutex
	asked    []string
}

func newSocks(t *testing.T, to string) *socks {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &socks{addr: l.Addr().String(), to: to}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(func() { l.Close(); serving.Wait() })
	return s
}

func (s *socks) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	head := make([]byte, 2)
	if _, err := io.ReadFull(in, head); err != nil {
		return
	}
	if _, err := io.ReadFull(in, make([]byte, head[1])); err != nil {
		return
	}
	_, _ = conn.Write([]byte{5, 0})
	request := make([]byte, 4)
	if _, err := io.ReadFull(in, request); err != nil {
		return
	}
	size := map[byte]int{1: 4, 4: 16}[request[3]]
	if request[3] == 3 {
		n, err := in.ReadByte()
		if err != nil {
			return
		}
		size = int(n)
	}
	address, port := make([]byte, size), make([]byte, 2)
	if _, err := io.ReadFull(in, address); err != nil {
		return
	}
	if _, err := io.ReadFull(in, port); err != nil {
		return
	}
	host := string(address)
	if ip, ok := netip.AddrFromSlice(address); ok && request[3] != 3 {
		host = ip.String()
	}
	s.mu.Lock()
	s.asked = append(s.asked, net.JoinHostPort(host, strconv.Itoa(int(binary.BigEndian.Uint16(port)))))
	s.mu.Unlock()
	out, err := net.Dial("tcp", s.to)
	if err != nil {
		return
	}
	_, _ = conn.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	join(conn, in, out)
}

func (s *socks) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}
