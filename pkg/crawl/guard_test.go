package crawl

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

func TestFetch_refuses_every_notation_of_an_inner_address(t *testing.T) {
	t.Parallel()
	hosts := []string{
		// notations of loopback addresses that browsers and libraries accept
		"127.0.0.1", "127.1", "127.0.1", "127.255.255.254", "2130706433", "0x7f000001", "0x7f.0x0.0x0.0x1", "0x7f.1",
		"017700000001", "0177.0.0.1", "0177.0.0.01", "127.0.0.1.", "127。0。0。1", "１２７.０.０.１", "①②⑦.⓪.⓪.①",
		"%31%32%37.0.0.1", "[::1]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]",
		"[0000:0000:0000:0000:0000:ffff:7f00:0001]",
		// the unspecified address, which also leads to this machine
		"0.0.0.0", "0", "0x0", "00", "0.1.2.3", "[::]",
		// private networks
		"10.0.0.1", "10.255.255.255", "0xa000001", "012.0.0.1", "167772161", "172.16.0.1", "172.31.255.255",
		"192.168.1.1", "192.168.257", "3232235777", "100.64.0.1", "100.127.255.254", "[fc00::1]", "[fd12:3456::1]",
		// link-local and metadata services
		"169.254.169.254", "169.254.1.1", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "[fe80::1]", "[fec0::1]",
		"[::ffff:169.254.169.254]", "100.100.100.200", "168.63.129.16", "192.0.0.192", "[fd00:ec2::254]",
		// addresses that embed another address
		"[64:ff9b::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b::10.0.0.1]", "[64:ff9b:1::1]", "[2002:7f00:1::]",
		"[2002:a00:1::1]", "[2002:c0a8:101::]", "[2001:0:4136:e378:8000:63bf:3fff:fdd2]", "[2600::5efe:10.0.0.1]",
		"[2600::200:5efe:127.0.0.1]",
		// multicast, documentation, benchmarks, reserved
		"224.0.0.1", "239.255.255.255", "[ff02::1]", "240.0.0.1", "255.255.255.255", "192.0.2.1", "198.51.100.7",
		"203.0.113.9", "198.18.0.1", "192.88.99.1", "[2001:db8::1]", "[3fff::1]", "[100::1]", "[5f00::1]", "[4000::1]",
	}
	c := New(Options{})
	t.Cleanup(c.Close)
	for _, host := range hosts {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			for _, u := range []string{"http://" + host + "/", "https://" + host + ":8443/x?y", "HTTP:\\\\" + host, "//" + host + "/"} {
				_, _, err := fetch(t, c, PageRequest{URL: u})
				if e := wantError(t, err); !e.Permanent {
					t.Errorf("%s: got %+v", u, e)
				}
			}
		})
	}
}

func TestFetch_refuses_addresses_that_are_not_plain_web_addresses(t *testing.T) {
	t.Parallel()
	c := local(t)
	for u, says := range map[string]string{
		"ftp://example.com/":                     "only http and https",
		"file:///etc/passwd":                     "only http and https",
		"gopher://127.0.0.1:6379/_PING":          "only http and https",
		"javascript:alert(1)":                    "only http and https",
		"data:text/html,x":                       "only http and https",
		"":                                       "not a web address",
		"example.com":                            "not a web address",
		"http://":                                "has no host",
		"http://exa mple.com/":                   "not a web address",
		"http://[::1":                            "not a web address",
		"http://[fe80::1%25eth0]/":               "link-local",
		"http://a:99999/":                        "not a port",
		"http://user:secret@127.0.0.1/":          "user name",
		"http://example.com@127.0.0.1/":          "user name",
		"http://127.0.0.1:6379/":                 "Redis",
		"http://127.0.0.1:22/":                   "SSH",
		"http://127.0.0.1:4222/":                 "NATS",
		"http://127.0.0.1:0/":                    "port 0",
		"http://x/" + strings.Repeat("a", 3_000): "longer than",
	} {
		_, _, err := fetch(t, c, PageRequest{URL: u})
		if e := wantError(t, err); !e.Permanent || !strings.Contains(e.Message, says) {
			t.Errorf("%.60q: got %q, want %q", u, e.Message, says)
		} else if strings.Contains(e.Message, "secret") {
			t.Errorf("the message shows a password: %q", e.Message)
		}
	}
}

func TestFetch_refuses_names_that_lead_to_inner_addresses(t *testing.T) {
	t.Parallel()
	c := New(Options{PerHostDelay: -1, Resolver: dnsServer(t, zone{
		"loop.test.": {{"127.0.0.1"}}, "private.test.": {{"10.0.0.7"}}, "meta.test.": {{"169.254.169.254"}},
		"six.test.": {{"::1"}}, "mapped.test.": {{"64:ff9b::7f00:1"}}, "ula.test.": {{"fd00::1"}}, "zero.test.": {{"0.0.0.0"}},
		"xn--bcher-kva.test.": {{"127.0.0.1"}},
	})})
	t.Cleanup(c.Close)
	for _, host := range []string{
		"loop.test", "LOOP.test.", "private.test", "meta.test", "six.test", "mapped.test", "ula.test", "zero.test",
		"bücher.test", "BÜCHER.test", "xn--bcher-kva.test",
	} {
		_, _, err := fetch(t, c, PageRequest{URL: "http://" + host + "/"})
		if e := wantError(t, err); !e.Permanent || !strings.Contains(e.Message, "does not connect") {
			t.Errorf("%s: got %+v", host, e)
		}
		_, err = c.Discover(context.Background(), domain.CrawlSpec{Sitemap: "http://" + host + "/sitemap.xml"}, nil)
		if e := wantError(t, err); !e.Permanent || !strings.Contains(e.Message, "does not connect") {
			t.Errorf("sitemap on %s: got %+v", host, e)
		}
	}
	_, _, err := fetch(t, c, PageRequest{URL: "http://nowhere.test/"})
	if e := wantError(t, err); !e.Permanent || !strings.Contains(e.Message, `the host "nowhere.test" does not exist`) {
		t.Errorf("got %+v", e)
	}
}

func TestFetch_is_not_fooled_by_a_name_that_changes_its_address(t *testing.T) {
	t.Parallel()
	var hits, passed atomic.Int32
	inner := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	port := mustParse(t, inner.URL).Port()
	// The first DNS answer is a public address, and all later ones are 127.0.0.1. A guard that resolved the name
	// separately from the dialer would check the first answer and let the dialer connect to the second.
	resolver := dnsServer(t, zone{"rebind.test.": {{"93.184.215.14"}, {"127.0.0.1"}}})
	c := New(Options{Resolver: resolver, PerHostDelay: -1, Now: fastClock()})
	t.Cleanup(c.Close)
	fence(c, resolver, &passed)
	var last *Error
	for range 3 {
		_, _, err := fetch(t, c, PageRequest{URL: "http://rebind.test:" + port + "/"})
		last = wantError(t, err)
	}
	if hits.Load() != 0 || passed.Load() != 1 {
		t.Errorf("the inner server was reached %d times, the public address tried %d times", hits.Load(), passed.Load())
	}
	if !last.Permanent || !strings.Contains(last.Message, "127.0.0.1") {
		t.Errorf("last error %+v", last)
	}
}

// fastClock returns a clock that advances by an hour with every reading, so that cached entries are always expired.
func fastClock() func() time.Time {
	var n atomic.Int64
	return func() time.Time { return time.Unix(0, 0).Add(time.Duration(n.Add(1)) * time.Hour) }
}

func TestFetch_checks_redirects_like_first_addresses(t *testing.T) {
	t.Parallel()
	for _, to := range []string{
		"http://169.254.169.254/latest/meta-data/", "http://0xa9fea9fe/", "http://[::ffff:169.254.169.254]/", "http://0.0.0.0/",
		"http://127.0.0.1:6379/", "//127.0.0.1:22/", "file:///etc/passwd", "http://u:p@127.0.0.1/", "http://[fe80::1]/",
	} {
		s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		}))
		_, _, err := fetch(t, local(t), PageRequest{URL: s.URL + "/a"})
		if e := wantError(t, err); !e.Permanent {
			t.Errorf("to %s: got %+v", to, e)
		}
	}
}

func TestFetch_checks_redirects_of_robots_too(t *testing.T) {
	t.Parallel()
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://169.254.169.254/robots.txt", http.StatusFound)
	}))
	_, _, err := fetch(t, local(t), PageRequest{URL: s.URL + "/a"})
	if e := wantError(t, err); !e.Permanent || !strings.Contains(e.Message, "169.254.169.254") {
		t.Errorf("got %+v", e)
	}
}

func TestFetch_ignores_proxies_of_the_environment(t *testing.T) {
	var hits atomic.Int32
	proxy := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("http_proxy", proxy.URL)
	t.Setenv("COLLY_IGNORE_ROBOTSTXT", "yes")
	c := New(Options{Resolver: dnsServer(t, zone{"loop.test.": {{"127.0.0.1"}}})})
	t.Cleanup(c.Close)
	_, _, err := fetch(t, c, PageRequest{URL: "http://loop.test/"})
	if e := wantError(t, err); !e.Permanent || hits.Load() != 0 {
		t.Errorf("the proxy was asked %d times; %+v", hits.Load(), e)
	}
	s := routes(t, map[string]string{"/robots.txt": "User-agent: *\nDisallow: /", "/a": "x"})
	_, _, err = fetch(t, local(t), PageRequest{URL: s.URL + "/a"})
	if e := wantError(t, err); !strings.Contains(e.Message, "robots.txt") {
		t.Errorf("got %+v", e)
	}
}

func mustParse(t testing.TB, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
