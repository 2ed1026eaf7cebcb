package access

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/domain"
)

// RequireHost accepts only requests to a loopback name or to one of the hosts. This protects servers on a loopback
// address from DNS rebinding, where a web page's owner points a host name at this machine so that browsers let the page
// read the service's responses. Requests without a host pass, because browsers always send one.
func RequireHost(hosts []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host == "" || isLoopback(r.Host) || isConfiguredHost(hosts, r.Host) {
			next.ServeHTTP(w, r)
			return
		}
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		h.Set("Connection", "close") // the body is not read
		problem.Write(w, problem.FormOf(r.URL.Path), "", hostError(r.Host))
	})
}

func hostError(host string) *domain.Error {
	return problem.Forbidden("the host %s is not allowed; use a loopback address, or add the host to SLUICE_HOSTS", jsonbody.Describe(host))
}

// CheckOrigin protects against web pages that make a browser send requests without the user's consent. It rejects
// requests from other origins, and requests to a host name that the page's owner has pointed at this machine (DNS
// rebinding). The Model Context Protocol requires both checks.
func CheckOrigin(r *http.Request, hosts []string) error {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if local != nil && isLoopback(local.String()) && !isLoopback(r.Host) && !isConfiguredHost(hosts, r.Host) {
		return hostError(r.Host)
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return nil // not sent by a browser
	}
	from, err := url.Parse(origin)
	if err != nil || from.Host == "" || !strings.EqualFold(from.Host, r.Host) && !isConfiguredHost(hosts, from.Host) {
		return problem.Forbidden("the origin %s is not allowed; the operator can add its host to SLUICE_HOSTS", jsonbody.Describe(origin))
	}
	return nil
}

func isConfiguredHost(hosts []string, host string) bool {
	name := hostName(host)
	return slices.ContainsFunc(hosts, func(our string) bool { return our == "*" || strings.EqualFold(our, name) })
}

// isLoopback reports whether a host, with or without a port, is a loopback name or address.
func isLoopback(host string) bool {
	name := hostName(host)
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.Unmap().IsLoopback()
}

// hostName returns the host without its port and without the brackets around an IPv6 address.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}
