package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	defaultAttempts    = 6
	defaultIdleTimeout = 5 * time.Minute
	defaultMaxBody     = 64 << 20
	dialTimeout        = 10 * time.Second
	idlePerHost        = 16
	maxRedirects       = 5
)

// Client calls the API of one service. It is safe for concurrent use.
type Client struct {
	endpoints *Endpoints
	sender    *sender
}

// Option configures a Client.
type Option func(*sender)

// WithHTTP sets the HTTP client, for example to configure proxies or certificates. Its Timeout also limits streams.
func WithHTTP(h *http.Client) Option { return func(s *sender) { s.http = h } }

// WithAttempts sets the maximum number of attempts per request. 1 disables retries and automatic Idempotency-Keys. The
// default of 6 takes about eight seconds unless the service asks for longer pauses.
func WithAttempts(n int) Option { return func(s *sender) { s.attempts = max(1, n) } }

// WithIdleTimeout sets how long a request may go without transferring data before it fails with [ErrIdleTimeout]. The
// default is five minutes. Idle streams don't time out, because the service sends a comment every 15 seconds.
func WithIdleTimeout(d time.Duration) Option { return func(s *sender) { s.idleTimeout = d } }

// WithMaxBody sets the maximum size, in bytes, of a JSON response or a single stream event. The default is 64 MiB.
func WithMaxBody(n int64) Option { return func(s *sender) { s.maxBody = n } }

// WithUserAgent sets the User-Agent header.
func WithUserAgent(name string) Option { return func(s *sender) { s.agent = name } }

// New returns a client for the service at an address such as http://127.0.0.1:8080, with or without /api at the end.
// The API key may be empty for public agents and datastores. New sends no request.
func New(baseURL, apiKey string, options ...Option) (*Client, error) {
	u, err := url.Parse(baseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, fmt.Errorf("%q is not the address of a service: it must look like http://127.0.0.1:8080", redacted(u, baseURL))
	}
	if strings.ContainsFunc(apiKey, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("the API key contains a space, a line break or another invalid character; was it copied completely?")
	}
	s := &sender{base: u.Redacted(), key: apiKey, agent: "sluice-client", attempts: defaultAttempts, idleTimeout: defaultIdleTimeout,
		maxBody: defaultMaxBody, wait: wait}
	for _, o := range options {
		o(s)
	}
	if s.http == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.DialContext = (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext
		transport.MaxIdleConnsPerHost = idlePerHost
		s.http = &http.Client{Transport: transport, CheckRedirect: keepMethod}
	}
	endpoints, err := NewClient(strings.TrimRight(u.String(), "/"), WithHTTPClient(s))
	if err != nil {
		return nil, err
	}
	return &Client{endpoints: endpoints, sender: s}, nil
}

// keepMethod rejects a redirect that changes the method, because a redirect from http to https may turn a POST into a
// GET. It also rejects one that would send the key over an unencrypted connection.
func keepMethod(next *http.Request, via []*http.Request) error {
	asked := via[0]
	if next.Method != asked.Method || len(via) > maxRedirects || asked.URL.Scheme == "https" && next.URL.Scheme != "https" {
		return fmt.Errorf("the service has moved: it redirects to %s://%s", next.URL.Scheme, next.URL.Host)
	}
	return nil
}

// redacted returns the address with its password removed.
func redacted(u *url.URL, given string) string {
	if u == nil || u.User == nil {
		return given
	}
	return u.Redacted()
}

// Endpoints returns the generated methods, for operations without a Client method. Requests are authenticated and
// retried as usual, and an error response becomes an [*Error]. The caller must read and close the response body.
func (c *Client) Endpoints() *Endpoints { return c.endpoints }

// Close closes idle connections.
func (c *Client) Close() { c.sender.http.CloseIdleConnections() }

type contextKey int

const (
	idempotencyContext contextKey = iota
	optionsContext
)

// WithIdempotencyKey returns a context that makes a POST use this Idempotency-Key instead of a random one. A key has 1
// to 200 printable ASCII characters. If the same key and body are sent again within a day, even by another process, the
// service repeats its first response without executing the request. If the body differs, it responds with CONFLICT.
func WithIdempotencyKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, idempotencyContext, key)
}

// requestOptions says how a request differs from an ordinary one. An ordinary request can be retried and has a JSON
// response.
type requestOptions struct {
	noRetry bool // do not retry if the service may have processed the request
	read    bool // the request changes nothing, so it doesn't need an Idempotency-Key
	stream  bool // the caller reads the body
	accept  int  // a non-2xx status that counts as success; 0 means none
}

func withOptions(ctx context.Context, m requestOptions) context.Context {
	return context.WithValue(ctx, optionsContext, m)
}

// wait pauses for d. If ctx is done first, it returns the context's error.
func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
