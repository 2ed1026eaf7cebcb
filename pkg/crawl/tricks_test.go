package crawl

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/crawl/guard"
	"github.com/sluice/sluice/pkg/domain"
)

// canary listens on this machine, on IPv4 and IPv6, and counts connections.
type canary struct {
	port     string
	hits     atomic.Int32
	serving  sync.WaitGroup
	families []net.Listener
}

func newCanary(t *testing.T) *canary {
	t.Helper()
	four, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &canary{families: []net.Listener{four}}
	_, c.port, _ = net.SplitHostPort(four.Addr().String())
	if six, err := net.Listen("tcp6", "[::1]:"+c.port); err == nil { // not every machine has IPv6
		c.families = append(c.families, six)
	}
	for _, l := range c.families {
		c.serving.Go(func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				c.hits.Add(1)
				_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
				_, _ = http.ReadRequest(bufio.NewReader(conn))
				_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nsecret"))
				_ = conn.Close()
			}
		})
	}
	t.Cleanup(func() {
		for _, l := range c.families {
			_ = l.Close()
		}
		c.serving.Wait()
	})
	return c
}

// tricks are addresses through which a careless crawler would connect to the canary at port PORT. ORIGIN is the address
// of a server that is allowed by name and whose path /to?x redirects to x.
var tricks = map[string][]string{
	"notations of the address of this machine": {
		"http://127.0.0.1:PORT/", "https://127.0.0.1:PORT/", "http://127.1:PORT/", "http://127.0.1:PORT/", "http://2130706433:PORT/",
		"http://0x7f000001:PORT/", "http://0x7f.1:PORT/", "http://0X7F.0.0.1:PORT/", "http://0x7f.0x0.0x0.0x1:PORT/",
		"http://017700000001:PORT/", "http://0177.0.0.1:PORT/", "http://0177.0x0.0.1:PORT/", "http://00000177.0.0.1:PORT/",
		"http://127.000.000.001:PORT/", "http://127.0.0.1.:PORT/", "http://127.255.255.254:PORT/", "http://127.0.0.2:PORT/",
		"http://0:PORT/", "http://0.0.0.0:PORT/", "http://0x0:PORT/", "http://0.1:PORT/",
	},
	"letters that are read as others": {
		"http://127。0。0。1:PORT/", "http://127．0．0．1:PORT/", "http://127｡0｡0｡1:PORT/", "http://１２７.０.０.１:PORT/",
		"http://①②⑦.⓪.⓪.①:PORT/", "http://%31%32%37.0.0.1:PORT/", "http://127%2e0%2e0%2e1:PORT/", "http://127%E3%80%820.0.1:PORT/",
		"http://12\u00ad7.0.0.1:PORT/", "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ:PORT/", "http://loc%61lhost:PORT/", "http://127.0.0.\t1:PORT/", "http://127.0\n.0.1:PORT/",
		" http://127.0.0.1:PORT/ ", "HTTP:\\\\127.0.0.1:PORT\\", "hTTp:/127.0.0.1:PORT/", "http:127.0.0.1:PORT", "http:///127.0.0.1:PORT/",
	},
	"IPv6 and what it carries": {
		"http://[::1]:PORT/", "http://[0:0:0:0:0:0:0:1]:PORT/", "http://[::]:PORT/", "http://[::ffff:127.0.0.1]:PORT/",
		"http://[::ffff:7f00:1]:PORT/", "http://[0000:0000:0000:0000:0000:FFFF:7F00:0001]:PORT/", "http://[::127.0.0.1]:PORT/",
		"http://[::7f00:1]:PORT/", "http://[::ffff:0:127.0.0.1]:PORT/", "http://[64:ff9b::127.0.0.1]:PORT/", "http://[64:ff9b::7f00:1]:PORT/",
		"http://[64:ff9b:1::7f00:1]:PORT/", "http://[2002:7f00:1::]:PORT/", "http://[2001:0:4136:e378:8000:63bf:80ff:fffe]:PORT/",
		"http://[2600::5efe:127.0.0.1]:PORT/", "http://[2600::200:5efe:7f00:1]:PORT/", "http://[::1%25lo]:PORT/", "http://[fe80::1%25lo]:PORT/",
		"http://[::1%lo]:PORT/", "http://[::ffff:0.0.0.0]:PORT/",
	},
	"names of this machine": {
		"http://localhost:PORT/", "http://LOCALHOST:PORT/", "http://LocalHost.:PORT/", "http://localhost..:PORT/",
		"http://app.localhost:PORT/", "http://ip6-localhost:PORT/", "http://ip6-loopback:PORT/", "http://localhost.localdomain:PORT/",
		"http://HOSTNAME:PORT/", "http://printer.local:PORT/",
	},
	"names that lead here": {
		"http://four.test:PORT/", "http://FOUR.Test.:PORT/", "http://six.test:PORT/", "http://both.test:PORT/", "http://mixed.test:PORT/",
		"http://mixed6.test:PORT/", "http://alias.test:PORT/", "http://chain.test:PORT/", "http://mapped.test:PORT/",
		"http://unspecified.test:PORT/", "http://bytcp.test:PORT/", "http://xn--bcher-kva.test:PORT/", "http://BÜCHER.test:PORT/",
		"http://rebind.test:PORT/", "http://alternate.test:PORT/", "http://sub.allowed.test:PORT/", "http://allowed.test.evil.test:PORT/",
		"http://notallowed.test:PORT/", "http://aliasofallowed.test:PORT/", "http://many.test:PORT/",
	},
	"user names, ports and other parts": {
		"http://allowed.test@127.0.0.1:PORT/", "http://allowed.test:80@127.0.0.1:PORT/", "http://a:b@127.0.0.1:PORT/", "http://@127.0.0.1:PORT/",
		"http://allowed.test%2f@127.0.0.1:PORT/", "http://127.0.0.1:PORT\\@allowed.test/", "http://127.0.0.1:PORT#@allowed.test/",
		"http://127.0.0.1:PORT?@allowed.test/", "http://127.0.0.1:0PORT/", "http://127.0.0.1:PORT%2f/", "http://127.0.0.1%00.allowed.test:PORT/",
		"http://127.0.0.1%0d%0aHost:%20allowed.test:PORT/", "http://127.0.0.1 :PORT/", "http://127.0.0.1:PORT@allowed.test:PORT@127.0.0.1:PORT/",
	},
	"other schemes": {
		"file:///etc/passwd", "file://127.0.0.1:PORT/", "gopher://127.0.0.1:PORT/_GET%20/", "ftp://127.0.0.1:PORT/", "dict://127.0.0.1:PORT/",
		"ws://127.0.0.1:PORT/", "ldap://127.0.0.1:PORT/", "jar:http://127.0.0.1:PORT/!/", "view-source:http://127.0.0.1:PORT/",
		"unix:///var/run/docker.sock", "data:text/html,<meta http-equiv=refresh content='0;url=http://127.0.0.1:PORT/'>",
	},
	"metadata services and inner networks": {
		"http://169.254.169.254/latest/meta-data/", "http://2852039166/", "http://[::ffff:a9fe:a9fe]/", "http://[fd00:ec2::254]/",
		"http://metadata.test/", "http://100.100.100.200/", "http://168.63.129.16/", "http://10.0.0.1:PORT/", "http://192.168.0.1:PORT/",
		"http://172.16.0.1:PORT/", "http://[fd00::1]:PORT/", "http://100.64.0.1:PORT/", "http://inner.test:PORT/",
	},
	"redirects": {
		"ORIGIN/to?http://127.0.0.1:PORT/", "ORIGIN/to?https://127.0.0.1:PORT/", "ORIGIN/to?//127.0.0.1:PORT/", "ORIGIN/to?\\\\127.0.0.1:PORT/",
		"ORIGIN/to?/\\127.0.0.1:PORT/", "ORIGIN/to?http:\\\\127.1:PORT", "ORIGIN/to?http://[::1]:PORT/", "ORIGIN/to?http://localhost:PORT/",
		"ORIGIN/to?http://four.test:PORT/", "ORIGIN/to?http://rebind2.test:PORT/", "ORIGIN/to?http://0x7f.1:PORT/", "ORIGIN/to?http://u:p@127.0.0.1:PORT/",
		"ORIGIN/to?http://169.254.169.254/latest/", "ORIGIN/to?file:///etc/passwd", "ORIGIN/to?gopher://127.0.0.1:PORT/_x",
		"ORIGIN/to?ftp://127.0.0.1:PORT/", "ORIGIN/twice?http://127.0.0.1:PORT/", "ORIGIN/301?http://127.0.0.1:PORT/",
		"ORIGIN/303?http://127.0.0.1:PORT/", "ORIGIN/307?http://127.0.0.1:PORT/", "ORIGIN/308?http://127.0.0.1:PORT/",
		"http://badrobots.test:ORIGINPORT/page",
	},
}

// harmless addresses look like the canary's, but lead to the allowed server or nowhere.
var harmless = []string{
	"ORIGIN/refresh?http://127.0.0.1:PORT/", "ORIGIN/300?http://127.0.0.1:PORT/", "ORIGIN/refreshheader?http://127.0.0.1:PORT/",
	"ORIGIN/frames?http://127.0.0.1:PORT/", "ORIGIN/?http://127.0.0.1:PORT/", "ORIGIN/#@127.0.0.1:PORT/", "ORIGIN//127.0.0.1:PORT/",
}

var trickZone = zone{
	"allowed.test.": {{"127.0.0.1"}}, "badrobots.test.": {{"127.0.0.1"}}, "four.test.": {{"127.0.0.1"}}, "six.test.": {{"::1"}},
	"both.test.": {{"127.0.0.1", "::1"}}, "mixed.test.": {{"93.184.215.14", "127.0.0.1"}}, "mixed6.test.": {{"2606:4700::1111", "127.0.0.1"}},
	"alias.test.": {{"four.test."}}, "chain.test.": {{"alias.test."}}, "mapped.test.": {{"::ffff:127.0.0.1"}},
	"unspecified.test.": {{"0.0.0.0", "::"}}, "bytcp.test.": {{"truncated", "127.0.0.1"}}, "xn--bcher-kva.test.": {{"127.0.0.1"}},
	"rebind.test.": {{"93.184.215.14"}, {"127.0.0.1"}}, "rebind2.test.": {{"93.184.215.14"}, {"127.0.0.1"}},
	"alternate.test.":   {{"127.0.0.1"}, {"93.184.215.14"}, {"127.0.0.1"}},
	"sub.allowed.test.": {{"127.0.0.1"}}, "allowed.test.evil.test.": {{"127.0.0.1"}}, "notallowed.test.": {{"127.0.0.1"}},
	"aliasofallowed.test.": {{"allowed.test."}}, "metadata.test.": {{"169.254.169.254"}}, "inner.test.": {{"10.1.2.3"}},
	"many.test.": {{"93.184.215.14", "93.184.215.15", "10.0.0.1", "169.254.169.254", "127.0.0.1"}},
}

// trickster is the server that is allowed by name and abuses this permission.
func trickster(inner string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := strings.ReplaceAll(r.URL.RawQuery, "%5C", "\\")
		code := http.StatusFound
		switch {
		case r.URL.Path == "/robots.txt" && strings.HasPrefix(r.Host, "badrobots."):
			w.Header().Set("Location", inner+"/robots.txt")
			w.WriteHeader(code)
			return
		case r.URL.Path == "/robots.txt":
			_, _ = fmt.Fprintf(w, "User-agent: *\nAllow: /\nSitemap: %s/sitemap.xml\n", inner)
			return
		case r.URL.Path == "/sitemap.xml":
			_, _ = fmt.Fprintf(w, `<sitemapindex><sitemap><loc>%s/a.xml</loc></sitemap><sitemap><loc>/to.xml?%s/b.xml</loc></sitemap></sitemapindex>`, inner, inner)
			return
		case r.URL.Path == "/to", r.URL.Path == "/to.xml":
		case r.URL.Path == "/twice":
			to = "/to?" + to
		case r.URL.Path == "/refreshheader":
			w.Header().Set("Refresh", "0; url="+to)
			return
		case r.URL.Path == "/refresh":
			_, _ = fmt.Fprintf(w, `<meta http-equiv="refresh" content="0; url=%s"><p>text`, to)
			return
		case r.URL.Path == "/frames":
			_, _ = fmt.Fprintf(w, `<base href="%s"><link rel=canonical href="%s"><iframe src="%s"></iframe><img src="%s"><a href="%s">x</a>`, to, to, to, to, to)
			return
		default:
			if _, err := fmt.Sscanf(r.URL.Path, "/%d", &code); err != nil {
				_, _ = w.Write([]byte("<p>harmless"))
				return
			}
		}
		w.Header()["Location"] = []string{to}
		w.WriteHeader(code)
	})
}

func TestFetch_reaches_nothing_inside_by_any_trick(t *testing.T) {
	t.Parallel()
	inside := newCanary(t)
	origin := httptest.NewServer(trickster("http://127.0.0.1:" + inside.port))
	t.Cleanup(origin.Close)
	allow, err := guard.ParseAllow([]string{"allowed.test", "badrobots.test"})
	if err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	originPort := mustParse(t, origin.URL).Port()
	fill := strings.NewReplacer(
		"ORIGINPORT", originPort, "ORIGIN", "http://allowed.test:"+originPort, "PORT", inside.port, "HOSTNAME", host,
	).Replace
	resolver := dnsServer(t, trickZone)
	crawler := func(t *testing.T) *Crawler {
		c := New(Options{Allow: allow, Resolver: resolver, PerHostDelay: -1, TempDir: t.TempDir()})
		t.Cleanup(c.Close)
		fence(c, resolver, new(atomic.Int32))
		return c
	}
	scope := &domain.SiteScope{Root: fill("ORIGIN/"), MaxDepth: 3, Follow: true}
	n := 0
	t.Run("tricks", func(t *testing.T) {
		for kind, list := range tricks {
			n += len(list)
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				for _, trick := range list {
					c, u := crawler(t), fill(trick)
					for range 3 { // names' addresses change
						p, _, err := fetch(t, c, PageRequest{URL: u, WantLinks: true, Scope: scope})
						if e := new(Error); !errors.As(err, &e) {
							t.Errorf("%q brought %+v, %v", u, p, err)
						}
					}
					if _, err := c.Discover(t.Context(), domain.CrawlSpec{Sitemap: u}, func([]domain.Link) error { return nil }); err == nil {
						t.Errorf("%q was read as a sitemap", u)
					}
					if got := inside.hits.Load(); got != 0 {
						t.Fatalf("by %q the canary was reached", u)
					}
				}
			})
		}
		t.Run("addresses that only look like tricks", func(t *testing.T) {
			t.Parallel()
			c := crawler(t)
			for _, trick := range harmless {
				_, _, _ = fetch(t, c, PageRequest{URL: fill(trick), WantLinks: true, Scope: scope})
			}
			if _, body, err := fetch(t, c, PageRequest{URL: fill("ORIGIN/?x")}); err != nil || body != "<p>harmless" {
				t.Errorf("the allowed server: %q, %v", body, err)
			}
		})
		t.Run("sitemaps", func(t *testing.T) {
			t.Parallel()
			c := crawler(t)
			for _, spec := range []domain.CrawlSpec{
				{URL: fill("ORIGIN/")}, {Sitemap: fill("ORIGIN/sitemap.xml")}, {Sitemap: fill("ORIGIN/to?http://127.0.0.1:PORT/s.xml")},
				{URL: fill("http://badrobots.test:ORIGINPORT/")},
			} {
				_, _ = c.Discover(t.Context(), spec, func([]domain.Link) error { return nil })
			}
		})
	})
	if n < 60 {
		t.Errorf("the table has %d tricks", n)
	}
	if got := inside.hits.Load(); got != 0 {
		t.Errorf("the canary was reached %d times", got)
	}
	// A crawler that is allowed to access the canary does reach it.
	p, body, err := fetch(t, local(t), PageRequest{URL: fill("http://127.0.0.1:PORT/")})
	if err != nil || body != "secret" || inside.hits.Load() == 0 {
		t.Errorf("the canary does not answer: %+v, %v", p, err)
	}
}
