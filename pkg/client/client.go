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
	defaultAttempts = 6
	defaultSilence  = 5 * time.Minute
	defaultMaxBody  = 64 << 20
	dialTimeout     = 10 * time.Second
	idlePerHost     = 16
	maxRedirects    = 5
)

// Client talks to one service. It is safe for concurrent use.
type Client struct {
	endpoints *Endpoints
	sender    *sender
}

// Option changes how a Client works.
type Option func(*sender)

// WithHTTP has requests made by this client, with its transport, proxies and certificates. A Timeout of it also ends streams.
func WithHTTP(h *http.Client) Option { return func(s *sender) { s.http = h } }

// WithAttempts says how often a request is made at most, 1 for no repeats, and then no Idempotency-Key of its own either. Without it, 6,
// over some eight seconds unless the service says when to come again.
func WithAttempts(n int) Option { return func(s *sender) { s.attempts = max(1, n) } }

// WithSilence says how long nothing may move on the connection of a request before that is given up. Without it, five minutes.
// A service sends a comment every 15 seconds while it streams.
func WithSilence(d time.Duration) Option { return func(s *sender) { s.silence = d } }

// WithMaxBody bounds an answer in JSON, and one event of a stream, in bytes. Without it, 64 MiB.
func WithMaxBody(n int64) Option { return func(s *sender) { s.maxBody = n } }

// WithUserAgent sets the header User-Agent.
func WithUserAgent(name string) Option { return func(s *sender) { s.agent = name } }

// New returns a client for the service at an address like http://127.0.0.1:8080, which may end in /api. The API key may be empty for
// agents and datastores that are public. Nothing is asked yet.
func New(baseURL, apiKey string, options ...Option) (*Client, error) {
	u, err := url.Parse(baseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, fmt.Errorf("%q is no address of a service: it must look like http://127.0.0.1:8080", redacted(u, baseURL))
	}
	if strings.ContainsFunc(apiKey, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("the API key has a space, a line break or another character that no key has; was it copied whole?")
	}
	s := &sender{base: u.Redacted(), key: apiKey, agent: "sluice-client", attempts: defaultAttempts, silence: defaultSilence,
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

// keepMethod refuses a redirect that would make something else of a request, as those from http to https make a GET of a POST, and
// one that would send the key over a connection that everybody can read.
func keepMethod(next *http.Request, via []*http.Request) error {
	asked := via[0]
	if next.Method != asked.Method || len(via) > maxRedirects || asked.URL.Scheme == "https" && next.URL.Scheme != "https" {
		return fmt.Errorf("the service is not here: it points to %s://%s", next.URL.Scheme, next.URL.Host)
	}
	return nil
}

// redacted is the address without a password that it may hold.
func redacted(u *url.URL, given string) string {
	if u == nil || u.User == nil {
		return given
	}
	return u.Redacted()
}

// Endpoints are the generated methods, for what has none here. Their requests carry the key and are repeated like those of the
// Client, and what is no success is an [*Error]; the body of an answer is the caller's to read and to close.
func (c *Client) Endpoints() *Endpoints { return c.endpoints }

// Close lets go of idle connections.
func (c *Client) Close() { c.sender.http.CloseIdleConnections() }

type contextKey int

const (
	idempotencyContext contextKey = iota
	mannerContext
)

// WithIdempotencyKey has the POST that is made with the context carry this key (1 to 200 printable ASCII characters) in place of a
// random one. Made again with the same key and body within a day, by another process too, it is answered as it was the first time
// and does nothing twice. A key is for one request: with another the service answers CONFLICT.
func WithIdempotencyKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, idempotencyContext, key)
}

// manner is what sets a request apart from those that are answered with JSON and may be repeated.
type manner struct {
	once   bool // a repeat is another request: not to be made where the first may have been worked on
	read   bool // changes nothing: a repeat needs no key that tells it from another request
	stream bool // the body of the answer is not read here
	accept int  // a status that is no success and yet an answer
}

func in(ctx context.Context, m manner) context.Context {
	return context.WithValue(ctx, mannerContext, m)
}

// wait returns after the time, or with the context's error.
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
