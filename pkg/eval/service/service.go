// Package service gives measurements access to a running Sluice: queries, agents, datasources, chunks and uploads. It
// is a thin layer over the client package that avoids pointers and offers only what measurements need.
package service

import (
	"net/http"
	"time"

	"github.com/sluice/sluice/pkg/client"
)

const (
	attempts        = 8               // attempts per request to a busy service, spread over half a minute
	initialAttempts = 3               // attempts per initial request, spread over a second, to report a wrong address soon
	idleTimeout     = 2 * time.Minute // maximum time without data from the service
)

// Service gives access to a running Sluice. It is safe for concurrent use.
type Service struct {
	client       *client.Client
	first        *client.Client // lists datastores and agents while the command's user waits
	address, key string
}

// New returns a client for the service at an address like http://127.0.0.1:8080. The API key may be "" for public
// datastores. New sends no request.
func New(address, key string) (*Service, error) {
	return open(address, key, attempts, initialAttempts)
}

func open(address, key string, attempts, first int, options ...client.Option) (*Service, error) {
	options = append(options, client.WithIdleTimeout(idleTimeout), client.WithUserAgent("sluice-eval"))
	s := &Service{address: address, key: key}
	for _, c := range []struct {
		of       **client.Client
		attempts int
	}{{&s.client, attempts}, {&s.first, first}} {
		var err error
		if *c.of, err = client.New(address, key, append(options, client.WithAttempts(c.attempts))...); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// WithoutRetries returns a client for the same service that doesn't retry, for callers that count a busy service's
// rejections. The new client keeps up to `connections` idle connections and must be closed separately.
func (s *Service) WithoutRetries(connections int) (*Service, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = connections, connections
	return open(s.address, s.key, 1, 1, client.WithHTTP(&http.Client{Transport: transport}))
}

// Close closes idle connections.
func (s *Service) Close() {
	s.client.Close()
	s.first.Close()
}

// set returns a pointer to v, or nil if v is zero, which selects the service's default.
func set[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}

// value returns *p, or the zero value if p is nil.
func value[T any](p *T) T {
	if p == nil {
		return *new(T)
	}
	return *p
}
