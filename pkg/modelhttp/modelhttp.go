// Package modelhttp is the HTTP client for model servers: JSON requests, Retry-After headers and event streams. It
// doesn't retry, because only its callers know which requests are safe to repeat.
package modelhttp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Post sends `body` as JSON and returns the response, whatever its status. The caller must close the response's body.
// Errors omit the address, because its query may contain a key.
func Post(ctx context.Context, client *http.Client, address string, header http.Header, body any) (*http.Response, error) {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body); err != nil {
		return nil, fmt.Errorf("writing the request: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, &encoded)
	if err != nil {
		return nil, fmt.Errorf("creating the request: %w", withoutAddress(err))
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "Sluice")
	maps.Copy(req.Header, header)
	res, err := client.Do(req)
	if err != nil {
		return nil, withoutAddress(err)
	}
	return res, nil
}

func withoutAddress(err error) error {
	if whole, ok := errors.AsType[*url.Error](err); ok {
		return whole.Err
	}
	return err
}

// Bearer returns an Authorization header with the key, as OpenAI's API expects. It returns nil for an empty key.
func Bearer(key string) http.Header {
	if key == "" {
		return nil
	}
	return http.Header{"Authorization": {"Bearer " + key}}
}

// NoRedirects is a CheckRedirect that returns redirects as responses. Following them would send keys in custom headers
// to other hosts.
func NoRedirects(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

const maxRedirects = 10

// SameOrigin is a CheckRedirect that follows redirects to the same scheme, host and port. It returns any other redirect
// as the response, because the request's content and key are meant only for the configured server.
func SameOrigin(req *http.Request, via []*http.Request) error {
	if first := via[0].URL; req.URL.Scheme != first.Scheme || req.URL.Host != first.Host || len(via) >= maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

// maxWait is the longest wait accepted by RetryAfter.
const maxWait = 24 * time.Hour

// RetryAfter returns how long a response asks the client to wait. It reads OpenAI's Retry-After-Ms header, which holds
// milliseconds, or else Retry-After, which holds seconds or a date (RFC 9110, section 10.2.3). It returns ok = false if
// the response asks for no wait, or for a wait of more than a day.
func RetryAfter(h http.Header, now time.Time) (wait time.Duration, ok bool) {
	if wait, ok := waitOf(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return wait, true
	}
	value := h.Get("Retry-After")
	if wait, ok := waitOf(value, time.Second); ok {
		return wait, true
	}
	if at, err := http.ParseTime(value); err == nil && at.Sub(now) < maxWait {
		return max(0, at.Sub(now)), true
	}
	return 0, false
}

func waitOf(number string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || !(n >= 0 && n < float64(maxWait/unit)) { // false for NaN
		return 0, false
	}
	return time.Duration(n * float64(unit)), true
}
