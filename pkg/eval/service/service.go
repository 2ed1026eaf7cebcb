// Package service asks a running Sluice for what measuring needs: fragments, datasources and chunks, and that documents are taken in. It
// is package client, with fewer words: what measuring does not ask for is left out, and nothing is a pointer.
package service

import (
	"net/http"
	"time"

	"github.com/sluice/sluice/pkg/client"
)

const (
	attempts = 8               // of a request that the service is too busy for, over half a minute
	few      = 3               // of what is asked first, over a second: a wrong address should show at once
	patience = 2 * time.Minute // for a sign of life
)

// Service is a running Sluice. It is safe for concurrent use.
type Service struct {
	client       *client.Client
	first        *client.Client // for what somebody waits who has called a command: which datastores and agents there are
	address, key string
}

// New returns the service at an address like http://127.0.0.1:8080, asked with the API key, which may be "" for a public
// datastore. It does not ask anything yet.
func New(address, key string) (*Service, error) {
	return open(address, key, attempts, few)
}

func open(address, key string, attempts, first int, options ...client.Option) (*Service, error) {
	options = append(options, client.WithSilence(patience), client.WithUserAgent("sluice-eval"))
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

// Impatient returns the same service, asked for everything once: to see what it refuses when it is busy. It keeps so many
// idle connections. It is closed by itself.
func (s *Service) Impatient(connections int) (*Service, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = connections, connections
	return open(s.address, s.key, 1, 1, client.WithHTTP(&http.Client{Transport: transport}))
}

// Close lets go of idle connections.
func (s *Service) Close() {
	s.client.Close()
	s.first.Close()
}

// set is v, or nil for a zero value, which leaves the choice to the service.
func set[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}

// value is what p points to, or the zero value.
func value[T any](p *T) T {
	if p == nil {
		return *new(T)
	}
	return *p
}
