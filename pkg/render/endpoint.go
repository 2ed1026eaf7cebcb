package render

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/bounded"
)

const (
	endpointTimeout  = 10 * time.Second // for asking a running browser for its WebSocket URL
	maxEndpointBytes = 64 << 10
)

// parseEndpoint parses a running browser's address. Errors don't repeat it, because it may contain a token.
func parseEndpoint(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, errors.New("the browser's address is invalid; it must be http://host:port or ws://host:port/…")
	}
	switch u.Scheme {
	case "http", "https", "ws", "wss":
	default:
		return nil, fmt.Errorf("the browser's address has the scheme %q; it must be http, https, ws or wss", u.Scheme)
	}
	if u.Hostname() == "" {
		return nil, errors.New("the browser's address has no host; it must be http://host:port or ws://host:port/…")
	}
	return u, nil
}

// socketURL returns the WebSocket URL of the browser at the endpoint, asking the browser for it if necessary.
func socketURL(ctx context.Context, raw string) (string, error) {
	u, err := parseEndpoint(raw)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, endpointTimeout)
	defer cancel()
	secure := u.Scheme == "https" || u.Scheme == "wss"
	if !secure {
		// Chromium only accepts requests for an IP address or localhost.
		if u.Host, err = resolveHost(ctx, u); err != nil {
			return "", fmt.Errorf("looking up the browser's host: %w", err)
		}
	}
	if strings.HasPrefix(u.Scheme, "ws") && (strings.Trim(u.Path, "/") != "" || u.RawQuery != "") {
		return u.String(), nil
	}
	ask := *u
	ask.Scheme, ask.Path = "http", "/json/version"
	if secure {
		ask.Scheme = "https"
	}
	path, err := socketPath(ctx, ask.String())
	if err != nil {
		return "", fmt.Errorf("asking the browser at %s for its WebSocket: %w", u.Host, err)
	}
	// Use only the reported URL's path. Its host is the browser's own name for itself, which may not work from here.
	socket := url.URL{Scheme: "ws", User: u.User, Host: u.Host, Path: path}
	if secure {
		socket.Scheme = "wss"
	}
	return socket.String(), nil
}

func resolveHost(ctx context.Context, u *url.URL) (string, error) {
	host, port := u.Hostname(), u.Port()
	port = cmp.Or(port, "80")
	if host != "localhost" && net.ParseIP(host) == nil {
		addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		if err != nil {
			return "", err
		}
		host = addrs[0].Unmap().String()
	}
	return net.JoinHostPort(host, port), nil
}

func socketPath(ctx context.Context, ask string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, ask, nil)
	if err != nil {
		return "", err
	}
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	res, err := transport.RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("it answered %s", res.Status)
	}
	var version struct {
		Socket string `json:"webSocketDebuggerUrl"`
	}
	if err := json.NewDecoder(bounded.NewReader(res.Body, maxEndpointBytes)).Decode(&version); err != nil {
		return "", fmt.Errorf("reading its response: %w", err)
	}
	u, err := url.Parse(version.Socket)
	if err != nil || u.Path == "" {
		return "", errors.New("its response contains no WebSocket address")
	}
	return u.Path, nil
}
