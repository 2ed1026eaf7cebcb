// Package service asks a running Sluice over its HTTP API, as any client would: for fragments, datasources and chunks,
// and, for measuring, to take in documents.
package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	maxAnswer   = 64 << 20         // bytes of one answer
	maxProblem  = 64 << 10         // bytes of an answer that says what is wrong
	attempts    = 6                // of a request that the service is too busy for
	firstWait   = time.Second      // before the second one; doubled each time
	longestWait = 30 * time.Second // whatever the service asks for
	patience    = 2 * time.Minute  // for one answer
)

// Service is a running Sluice. It is safe for concurrent use.
type Service struct {
	base, key string
	client    *http.Client
	attempts  int
	wait      func(context.Context, time.Duration) error
}

// New returns the service at an address like http://127.0.0.1:8080, asked with the API key, which may be "" for a public
// datastore. It does not ask anything yet.
func New(address, key string) (*Service, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.User != nil {
		return nil, fmt.Errorf("%q is no address of a service: it must look like http://127.0.0.1:8080", address)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 16
	transport.ResponseHeaderTimeout = patience // of streams, which have no time-out as a whole
	return &Service{base: strings.TrimSuffix(u.String(), "/"), key: key, attempts: attempts, wait: wait,
		client: &http.Client{Transport: transport, Timeout: patience}}, nil
}

// Impatient returns the same service, asked for everything once: to see what it refuses when it is busy. It keeps so many
// idle connections. It is closed by itself.
func (s *Service) Impatient(connections int) *Service {
	transport := s.client.Transport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = connections, connections
	return &Service{base: s.base, key: s.key, attempts: 1, wait: s.wait, client: &http.Client{Transport: transport, Timeout: patience}}
}

// Close lets go of idle connections.
func (s *Service) Close() { s.client.CloseIdleConnections() }

// Refused is an answer of the service that is no success.
type Refused struct {
	Status int
	Detail string // what the service says is wrong
}

func (r *Refused) Error() string {
	return fmt.Sprintf("the service answered %d: %s", r.Status, r.Detail)
}

// do makes a request until it is answered by anything but "later", and decodes the answer into into unless it is nil.
func (s *Service) do(ctx context.Context, method, path string, body, into any) error {
	var content []byte
	if body != nil {
		var err error
		if content, err = json.Marshal(body); err != nil {
			return fmt.Errorf("writing the request of %s: %w", path, err)
		}
	}
	for attempt, delay := 1, firstWait; ; attempt, delay = attempt+1, min(2*delay, longestWait) {
		after, err := s.once(ctx, method, path, content, into)
		var refused *Refused
		busy := errors.As(err, &refused) && (refused.Status == http.StatusTooManyRequests || refused.Status == http.StatusServiceUnavailable)
		if err == nil || !busy || attempt == s.attempts {
			return err
		}
		if err := s.wait(ctx, min(max(delay, after), longestWait)); err != nil {
			return err
		}
	}
}

// once makes a request once. after is how long the service asks to wait.
func (s *Service) once(ctx context.Context, method, path string, content []byte, into any) (after time.Duration, err error) {
	resp, after, err := s.send(ctx, s.client, method, path, "application/json", content)
	if err != nil {
		return after, err
	}
	defer resp.Body.Close()
	if into == nil {
		return 0, nil
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err == nil && len(answer) > maxAnswer {
		err = fmt.Errorf("it is longer than %d MiB", maxAnswer>>20)
	}
	if err == nil {
		err = json.Unmarshal(answer, into)
	}
	if err != nil {
		return 0, fmt.Errorf("reading the service's answer to %s %s: %w", method, path, err)
	}
	return 0, nil
}

// send makes a request. The answer is a success, and the caller's to close; after is how long a service that refuses asks
// to wait.
func (s *Service) send(ctx context.Context, client *http.Client, method, path, contentType string, content []byte) (resp *http.Response, after time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, method, s.base+path, bytes.NewReader(content))
	if err != nil {
		return nil, 0, fmt.Errorf("asking for %s: %w", path, err)
	}
	if s.key != "" {
		req.Header.Set("Authorization", "Bearer "+s.key)
	}
	if content != nil {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err = client.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		return nil, 0, fmt.Errorf("asking the service: %w", err)
	}
	if resp.StatusCode/100 == 2 {
		return resp, 0, nil
	}
	defer resp.Body.Close()
	seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After")) // the service sends seconds; none is 0
	return nil, time.Duration(max(0, seconds)) * time.Second, problem(resp)
}

// problem reads what the service says is wrong.
func problem(resp *http.Response) error {
	refused := &Refused{Status: resp.StatusCode, Detail: http.StatusText(resp.StatusCode)}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	if err != nil {
		return errors.Join(refused, err)
	}
	var said struct{ Title, Detail string }
	switch {
	case json.Unmarshal(body, &said) == nil && said.Detail != "":
		refused.Detail = said.Detail
	case said.Title != "":
		refused.Detail = said.Title
	}
	return refused
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
