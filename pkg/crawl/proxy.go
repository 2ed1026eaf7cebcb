package crawl

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"golang.org/x/net/proxy"

	"github.com/sluice/sluice/pkg/crawl/guard"
)

// proxyName stands for the proxy in messages, because its address may contain a password.
const proxyName = "the proxy in SLUICE_CRAWL_PROXY"

// errProxy means that the proxy itself refused a connection.
type errProxy struct {
	status     int
	retryAfter time.Duration // 0 if not given
}

func newErrProxy(res *http.Response, now time.Time) errProxy {
	after, _ := parseRetryAfter(res.Header.Get("Retry-After"), now)
	return errProxy{status: res.StatusCode, retryAfter: after}
}

// isPermanent reports whether the proxy rejects this target permanently. Other statuses indicate a problem with the
// proxy itself, such as a wrong password or overload.
func (e errProxy) isPermanent() bool {
	switch e.status {
	case http.StatusProxyAuthRequired, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	}
	return e.status >= 400 && e.status < 500
}

func (e errProxy) Error() string {
	return fmt.Sprintf("%s refused the connection: it answered %d %s", proxyName, e.status, http.StatusText(e.status))
}

// httpProxy reports whether requests go through an HTTP proxy.
func (o Options) httpProxy() bool {
	return o.Proxy != nil && (o.Proxy.Scheme == "http" || o.Proxy.Scheme == "https")
}

// checkProxy returns an error if an HTTP proxy asks for a password. It ignores responses received through a tunnel,
// because those come from the server.
func (o Options) checkProxy(req *http.Request, res *http.Response) error {
	if !o.httpProxy() || req.URL.Scheme != "http" || res.StatusCode != http.StatusProxyAuthRequired {
		return nil
	}
	return errors.Join(newErrProxy(res, o.Now()), res.Body.Close())
}

// useProxy sends the transport's requests through the proxy. The address guard can't check the proxy's connections, so
// useProxy resolves each target itself, and a request fails if the guard refuses any of the addresses. A SOCKS proxy
// then gets the checked address. An HTTP proxy gets the name, because its rules refer to names.
func useProxy(t *http.Transport, o Options, g guard.Guard) {
	direct := &net.Dialer{Timeout: o.ConnectTimeout, KeepAlive: 30 * time.Second, Resolver: o.Resolver}
	if !o.httpProxy() {
		t.DialContext = socksDial(direct, o, g)
		return
	}
	t.DialContext = direct.DialContext // connects only to the proxy, which gets every request
	t.Proxy = func(req *http.Request) (*url.URL, error) {
		targets, err := g.Resolve(req.Context(), o.Resolver, hostPort(req.URL))
		if err != nil {
			return nil, err
		}
		setGuardResult(req.Context(), targets)
		return o.Proxy, nil
	}
	t.OnProxyConnectResponse = func(_ context.Context, _ *url.URL, _ *http.Request, res *http.Response) error {
		if res.StatusCode != http.StatusOK {
			return newErrProxy(res, o.Now())
		}
		return nil
	}
}

// hostPort returns the host and port of an address's server.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = "80"
		if u.Scheme == "https" {
			port = "443"
		}
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// socksDial connects to checked addresses through a SOCKS5 proxy.
func socksDial(direct *net.Dialer, o Options, g guard.Guard) func(ctx context.Context, network, address string) (net.Conn, error) {
	var auth *proxy.Auth
	if u := o.Proxy.User; u != nil {
		password, _ := u.Password()
		auth = &proxy.Auth{User: u.Username(), Password: password}
	}
	at := o.Proxy.Host
	if o.Proxy.Port() == "" {
		at = net.JoinHostPort(o.Proxy.Hostname(), "1080")
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, o.ConnectTimeout)
		defer cancel()
		targets, err := g.Resolve(ctx, o.Resolver, address)
		if err != nil {
			return nil, err
		}
		socks, err := proxy.SOCKS5("tcp", at, auth, direct)
		if err != nil {
			return nil, fmt.Errorf("setting up %s: %w", proxyName, err)
		}
		through, ok := socks.(proxy.ContextDialer)
		if !ok {
			return nil, fmt.Errorf("%s does not support timeouts", proxyName)
		}
		var last error
		for _, target := range targets {
			conn, err := through.DialContext(ctx, network, target.String())
			if err == nil {
				return socksConn{conn, target}, nil
			}
			last = err
		}
		if last == nil {
			return nil, &net.DNSError{Err: "no such host", Name: address, IsNotFound: true}
		}
		return nil, &net.OpError{Op: opProxy, Net: network, Err: last}
	}
}

// opProxy is the Op field of net/http's errors about connecting to or through a proxy.
const opProxy = "proxyconnect"

// guardResult says whether the target of a request through an HTTP proxy is private. The connection can't tell, because
// it ends at the proxy.
type guardResult struct{ private bool }

type guardResultKey struct{}

// withGuardResult returns a context for a request through an HTTP proxy. setGuardResult later fills in v.
func withGuardResult(ctx context.Context, v *guardResult) context.Context {
	return context.WithValue(ctx, guardResultKey{}, v)
}

// setGuardResult records in the context's guardResult whether the target is private. The proxy may connect to any of
// the `targets`, the host's IP addresses, so the target is private only if all of them are.
func setGuardResult(ctx context.Context, targets []netip.AddrPort) {
	v, _ := ctx.Value(guardResultKey{}).(*guardResult)
	if v == nil {
		return
	}
	v.private = len(targets) > 0 && !slices.ContainsFunc(targets, func(t netip.AddrPort) bool {
		return !guard.IsPrivate(net.TCPAddrFromAddrPort(t))
	})
}

// socksConn is a connection through a SOCKS proxy. Its remote address is the target's, as checked by the address guard.
type socksConn struct {
	net.Conn
	target netip.AddrPort
}

// RemoteAddr implements net.Conn.
func (c socksConn) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(c.target) }
