package guard

import (
	"net/netip"
	"strings"
	"testing"
)

func TestParseAllow_takes_addresses_ranges_and_hosts(t *testing.T) {
	t.Parallel()
	a, err := ParseAllow([]string{
		" 10.1.2.3 ", "", "192.168.7.0/24", "fd00:1::/32", "[fd00:2::7]", "::1", "198.18.0.0/15", "::ffff:10.9.0.0/112",
		"Wiki.Intranet.example.", "*.docs.example", "BÜCHER.example", "localhost",
	})
	if err != nil {
		t.Fatal(err)
	}
	g := Guard{Allow: a}
	for ip, want := range map[string]bool{
		"10.1.2.3": true, "::ffff:10.1.2.3": true, "64:ff9b::10.1.2.3": true, "10.1.2.4": false, "192.168.7.200": true, "192.168.8.1": false,
		"fd00:1::9": true, "fd00:2::7": true, "fd00:2::8": false, "::1": true, "127.0.0.1": false, "198.19.0.1": true, "10.9.1.1": true,
		"10.10.0.1": false, "8.8.8.8": true, "169.254.169.254": false, "fd00:ec2::254": false,
	} {
		if err := g.checkIP(netip.MustParseAddr(ip)); (err == nil) != want {
			t.Errorf("%s: %v", ip, err)
		}
	}
	for host, want := range map[string]bool{
		"wiki.intranet.example": true, "WIKI.intranet.example.": true, "x.wiki.intranet.example": false, "intranet.example": false,
		"a.docs.example": true, "a.b.docs.example": true, "docs.example": false, ".docs.example": false, "evildocs.example": false,
		"xn--bcher-kva.example": true, "localhost": true, "a.localhost": false, "": false,
	} {
		if a.allowsName(host) != want {
			t.Errorf("%q is allowed: %t", host, !want)
		}
	}
	if (Allow{}).allowsName("localhost") || (Allow{}).contains(netip.MustParseAddr("10.0.0.1")) {
		t.Error("an empty list allows something")
	}
}

func TestParseAllow_opens_no_range_that_is_never_reached_by_naming_a_wider_one(t *testing.T) {
	t.Parallel()
	a, err := ParseAllow([]string{"0.0.0.0/0", "::/0"})
	if err != nil {
		t.Fatal(err)
	}
	g := Guard{Allow: a}
	for ip, want := range map[string]bool{
		"10.0.0.1": true, "127.0.0.1": true, "fd00::1": true, "240.0.0.1": true, "169.254.169.254": false, "100.100.100.200": false,
		"fe80::1": false, "0.0.0.0": false, "::": false, "255.255.255.255": false, "224.0.0.1": false, "ff02::1": false,
		"::169.254.169.254": false, "64:ff9b::169.254.169.254": false, "64:ff9b:1::a9fe:a9fe": false, "2002:a9fe:a9fe::": false,
		"2001:0:4136:e378:8000:63bf:5601:5601": false, "::ffff:0:169.254.169.254": false, "2600::5efe:169.254.169.254": false,
	} {
		if err := g.checkIP(netip.MustParseAddr(ip)); (err == nil) != want {
			t.Errorf("%s: %v", ip, err)
		}
	}
}

func TestParseAllow_reports_errors(t *testing.T) {
	t.Parallel()
	for entry, says := range map[string]string{
		"169.254.169.254":          "cannot be allowed",
		"169.254.0.0/16":           "cannot be allowed",
		"100.100.100.200":          "metadata",
		"fe80::/64":                "cannot be allowed",
		"fe80::1%eth0":             "cannot be allowed",
		"224.0.0.0/8":              "cannot be allowed",
		"0.0.0.0":                  "cannot be allowed",
		"64:ff9b::10.0.0.1":        "contains an IPv4 address",
		"2002:a00:1::/48":          "contains an IPv4 address",
		"10.0.0.1/8":               "write 10.0.0.0/8",
		"10.0.0.0/33":              "neither a host nor an address range",
		"10.0.0.7:8080":            "has a port",
		"wiki.example:80":          "has a port",
		"wiki.example:8080":        "has a port",
		"http://wiki.example":      "write only the host",
		"wiki.example/docs":        "neither a host nor an address range",
		"*":                        "would allow every host",
		"wiki.*.example":           `has a "*" that is not at the beginning`,
		"*.*.example":              `has a "*" that is not at the beginning`,
		"*wiki.example":            `has a "*" that is not at the beginning`,
		"127.1":                    "unusual form of an address; write it as 127.0.0.1",
		"0x7f.0.0.1":               "unusual form",
		"2130706433":               "unusual form",
		"user@wiki.example":        "not a host name",
		"wiki example":             "not a host name",
		"wiki..example..":          "neither a host name nor an address",
		strings.Repeat("a", 3_000): "neither a host name nor an address",
	} {
		_, err := ParseAllow([]string{"10.0.0.1", entry})
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), strings.ToValidUTF8(entry[:min(len(entry), 100)], "")) {
			t.Errorf("%.60q: %v, want %q", entry, err, says)
		}
	}
	if _, err := ParseAllow(make([]string, maxAllowed+1)); err == nil {
		t.Error("a list of any length is read")
	}
}

func FuzzParseAllow(f *testing.F) {
	for _, s := range []string{"10.0.0.0/8", "*.a.example", "[::1]", "169.254.0.0/15", "a:1", "%", "::ffff:0:0/95"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, entry string) {
		a, err := ParseAllow([]string{entry})
		if err != nil {
			return
		}
		for _, ip := range []string{"169.254.169.254", "fe80::1", "::", "0.0.0.0", "100.100.100.200", "64:ff9b::a9fe:a9fe", "ff02::1"} {
			if (Guard{Allow: a}).checkIP(netip.MustParseAddr(ip)) == nil {
				t.Errorf("%q opens %s", entry, ip)
			}
		}
	})
}
