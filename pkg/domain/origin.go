package domain

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// AnyOrigin allows all origins if it is in a list of origins.
const AnyOrigin = "*"

// MaxOrigins is the maximum number of origins that an agent can allow.
const MaxOrigins = 100

// ParseOrigin parses an origin written by a user and returns it as browsers send it (https://www.example.com): scheme,
// host and any non-default port. It also accepts AnyOrigin. The error says what is wrong and what to write instead.
func ParseOrigin(text string) (string, error) {
	const wanted = "write scheme, host and optional port, such as https://www.example.com, or * for any origin"
	text = strings.TrimSpace(text)
	if text == AnyOrigin {
		return AnyOrigin, nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Opaque != "", u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return "", fmt.Errorf("is %q; %s", shortened(text), wanted)
	case u.User != nil, u.Path != "" && u.Path != "/", u.RawQuery != "", u.ForceQuery, u.Fragment != "", strings.HasSuffix(text, "#"):
		return "", fmt.Errorf("is %q, which contains more than an origin; %s", shortened(text), wanted)
	case strings.Contains(u.Host, "*"):
		return "", fmt.Errorf("is %q; wildcards in hosts are not supported: list each host, or use * for any origin", shortened(text))
	}
	host, err := hostOf(u.Hostname())
	if err != nil {
		return "", fmt.Errorf("is %q, whose host is invalid; %s", shortened(text), wanted)
	}
	if port := u.Port(); port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return "", fmt.Errorf("is %q, whose port is invalid; %s", shortened(text), wanted)
		}
		if own := map[string]uint64{"http": 80, "https": 443}[u.Scheme]; n != own {
			host += ":" + strconv.FormatUint(n, 10)
		}
	}
	return u.Scheme + "://" + host, nil
}

// hostOf returns a host name as browsers send it.
func hostOf(name string) (string, error) {
	if ip, err := netip.ParseAddr(name); err == nil {
		if ip.Is6() {
			return "[" + ip.WithZone("").String() + "]", nil
		}
		return ip.String(), nil
	}
	return idna.Lookup.ToASCII(name)
}

func shortened(text string) string {
	if runes := []rune(text); len(runes) > 100 {
		return string(runes[:100]) + "…"
	}
	return text
}

// AllowsOrigin reports whether a list of origins from ParseOrigin allows the origin sent by a browser.
func AllowsOrigin(list []string, origin string) bool {
	return slices.Contains(list, AnyOrigin) || origin != "null" && slices.Contains(list, strings.ToLower(origin))
}
