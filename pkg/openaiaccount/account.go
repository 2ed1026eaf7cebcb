// Package openaiaccount reads the vector stores and files in an OpenAI account, or in an account on another server with
// the same API. It changes nothing there.
package openaiaccount

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/sluice/sluice/pkg/bounded"
	"github.com/sluice/sluice/pkg/modelhttp"
	"github.com/sluice/sluice/pkg/sleep"
)

// DefaultURL is the address of OpenAI's API.
const DefaultURL = "https://api.openai.com/v1"

const (
	pageSize = 100 // the API's maximum

	attempts   = 6
	firstPause = time.Second
	maxPause   = time.Minute // also the longest Retry-After to obey

	responseTime = time.Minute // time limit for a response's header

	maxResponse  = 64 << 20 // maximum size of a JSON response, in bytes
	maxErrorBody = 64 << 10

	// MaxFile is the maximum file size in bytes, which is also OpenAI's limit.
	MaxFile = 512 << 20
)

// Config selects the account.
type Config struct {
	URL string // includes the version; default DefaultURL
	Key string // sent as a bearer token if not empty

	Wait func(ctx context.Context, d time.Duration) error // waits before a request is repeated; default sleep.For
}

// Account is a client for the API. It is safe for concurrent use.
type Account struct {
	base *url.URL
	key  string
	http *http.Client
	wait func(ctx context.Context, d time.Duration) error
}

// New returns a client without sending a request.
func New(c Config) (*Account, error) {
	base, err := url.Parse(cmp.Or(c.URL, DefaultURL))
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("the address %q is not an http or https URL such as %s", c.URL, DefaultURL)
	}
	a := &Account{base: base, key: c.Key, wait: c.Wait, http: &http.Client{CheckRedirect: modelhttp.SameOrigin}}
	if transport, ok := http.DefaultTransport.(*http.Transport); ok {
		transport = transport.Clone()
		transport.ResponseHeaderTimeout = responseTime
		a.http.Transport = transport
	}
	if a.wait == nil {
		a.wait = sleep.For
	}
	return a, nil
}

// Close closes idle connections.
func (a *Account) Close() { a.http.CloseIdleConnections() }

// VectorStore describes a vector store.
type VectorStore struct {
	ID     string `json:"id"`
	Name   string `json:"name"` // may be empty
	Status string `json:"status"`
	Counts struct {
		Total     int64 `json:"total"`
		Completed int64 `json:"completed"`
	} `json:"file_counts"`
}

// StoreFile describes a file in a vector store.
type StoreFile struct {
	ID         string         `json:"id"`
	Status     string         `json:"status"` // completed, in_progress, cancelled or failed
	Attributes map[string]any `json:"attributes"`
	LastError  *struct {
		Message string `json:"message"`
	} `json:"last_error"`
}

// File describes a file in the account.
type File struct {
	ID    string `json:"id"`
	Name  string `json:"filename"`
	Bytes int64  `json:"bytes"`
}

// Error is an error response.
type Error struct {
	Status  int
	Message string // as sent by the server; may be empty
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("the account's server answered %d: %s", e.Status, cmp.Or(e.Message, http.StatusText(e.Status)))
}

// Unreachable is the error for a request that got no response.
type Unreachable struct{ err error }

// Error implements error.
func (e *Unreachable) Error() string {
	return "the account's server cannot be reached: " + e.err.Error()
}

// Unwrap returns the cause.
func (e *Unreachable) Unwrap() error { return e.err }

// Unreadable is the error for an unusable response.
type Unreadable struct{ err error }

// Error implements error.
func (e *Unreadable) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *Unreadable) Unwrap() error { return e.err }

// ConcernsObject reports whether an error concerns only the requested object, such as a file, so that other objects may
// still be readable. It returns false if the server can't be reached, is overloaded or rejects the key.
func ConcernsObject(err error) bool {
	if _, ok := errors.AsType[*Unreadable](err); ok {
		return true
	}
	status := StatusOf(err)
	return status >= http.StatusBadRequest && status < http.StatusInternalServerError && status != http.StatusUnauthorized && status != http.StatusTooManyRequests
}

// StatusOf returns the status of the Error in err's chain, or 0 if there is none.
func StatusOf(err error) int {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Status
	}
	return 0
}

// VectorStore returns the vector store with the given id.
func (a *Account) VectorStore(ctx context.Context, id string) (VectorStore, error) {
	var v VectorStore
	return v, a.get(ctx, &v, nil, "vector_stores", id)
}

// VectorStores yields all vector stores, oldest first.
func (a *Account) VectorStores(ctx context.Context) iter.Seq2[VectorStore, error] {
	return pages(ctx, a, func(v VectorStore) string { return v.ID }, "vector_stores")
}

// Files yields all files in a vector store, oldest first.
func (a *Account) Files(ctx context.Context, storeID string) iter.Seq2[StoreFile, error] {
	return pages(ctx, a, func(f StoreFile) string { return f.ID }, "vector_stores", storeID, "files")
}

// File returns a file's properties.
func (a *Account) File(ctx context.Context, id string) (File, error) {
	var f File
	return f, a.get(ctx, &f, nil, "files", id)
}

// Download writes a file's content to a new file at the path. It fails with an Error for files with some purposes, such
// as assistants, whose content OpenAI doesn't return.
func (a *Account) Download(ctx context.Context, id, path string) error {
	return a.try(ctx, nil, func(body io.Reader) error {
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, bounded.NewReader(body, MaxFile))
		var onDisk *os.PathError
		switch {
		case errors.Is(err, bounded.ErrTooLarge):
			err = fmt.Errorf("the file is larger than %d MiB", MaxFile>>20)
		case err != nil && !errors.As(err, &onDisk):
			err = &interrupted{err}
		}
		return errors.Join(err, f.Close())
	}, "files", id, "content")
}

// Text returns the text of a file in a vector store. The server sends the text in chunks that may overlap; Text joins
// them.
func (a *Account) Text(ctx context.Context, storeID, fileID string) (string, error) {
	var chunks []string
	for page := ""; ; {
		query := url.Values{}
		if page != "" {
			query.Set("page", page)
		}
		var got struct {
			Data []struct {
				Text string `json:"text"`
			} `json:"data"`
			HasMore  bool    `json:"has_more"`
			NextPage *string `json:"next_page"`
		}
		if err := a.get(ctx, &got, query, "vector_stores", storeID, "files", fileID, "content"); err != nil {
			return "", err
		}
		for _, d := range got.Data {
			chunks = append(chunks, d.Text)
		}
		if !got.HasMore || got.NextPage == nil || *got.NextPage == page {
			return join(chunks), nil
		}
		page = *got.NextPage
	}
}

// pages yields all objects in a list, page by page. `id` returns an object's id. A request for the next page contains
// the id of the last object on the previous page.
func pages[T any](ctx context.Context, a *Account, id func(T) string, path ...string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		query := url.Values{"limit": {fmt.Sprint(pageSize)}, "order": {"asc"}}
		for {
			var page struct {
				Data    []T  `json:"data"`
				HasMore bool `json:"has_more"`
			}
			if err := a.get(ctx, &page, query, path...); err != nil {
				yield(*new(T), err)
				return
			}
			for _, v := range page.Data {
				if !yield(v, nil) {
					return
				}
			}
			if !page.HasMore || len(page.Data) == 0 {
				return
			}
			query.Set("after", id(page.Data[len(page.Data)-1]))
		}
	}
}

func (a *Account) get(ctx context.Context, into any, query url.Values, path ...string) error {
	return a.try(ctx, query, func(body io.Reader) error {
		text, err := bounded.ReadAll(body, maxResponse)
		switch {
		case errors.Is(err, bounded.ErrTooLarge):
			return fmt.Errorf("the response is larger than %d MiB", maxResponse>>20)
		case err != nil:
			return &interrupted{err}
		}
		if err := json.Unmarshal(text, into); err != nil {
			return fmt.Errorf("the response is not in the format of OpenAI's API: %w", err)
		}
		return nil
	}, path...)
}

// interrupted is the error for a response that was cut off. Retrying is safe.
type interrupted struct{ err error }

func (e *interrupted) Error() string { return "the response was interrupted: " + e.err.Error() }
func (e *interrupted) Unwrap() error { return e.err }

// try sends a request and passes the response to `read`. It retries after temporary errors.
func (a *Account) try(ctx context.Context, query url.Values, read func(body io.Reader) error, path ...string) error {
	segments := make([]string, len(path))
	for i, segment := range path {
		if segments[i] = url.PathEscape(segment); segment == "" || segment == "." || segment == ".." {
			return fmt.Errorf("%q is not an id", segment)
		}
	}
	address := a.base.JoinPath(segments...)
	address.RawQuery = query.Encode()
	pause := firstPause
	for attempt := 1; ; attempt++ {
		after, err := a.send(ctx, address.String(), read)
		if err == nil || after < 0 || attempt == attempts || ctx.Err() != nil {
			return err
		}
		if a.wait(ctx, min(max(after, pause/2+rand.N(pause/2)), maxPause)) != nil {
			return err
		}
		pause *= 2
	}
}

// send sends a request once. On failure, `after` is how long to wait before a retry, or -1 if a retry would fail again.
func (a *Account) send(ctx context.Context, address string, read func(body io.Reader) error) (after time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return -1, fmt.Errorf("creating a request to the account: %w", err)
	}
	req.Header.Set("User-Agent", "Sluice")
	maps.Copy(req.Header, modelhttp.Bearer(a.key))
	res, err := a.http.Do(req)
	if err != nil {
		return 0, &Unreachable{err}
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusOK {
		if err := read(res.Body); err != nil {
			if _, ok := errors.AsType[*interrupted](err); ok {
				return 0, err
			}
			return -1, &Unreadable{err}
		}
		return 0, nil
	}
	failure := &Error{Status: res.StatusCode}
	if text, err := bounded.ReadAll(res.Body, maxErrorBody); err == nil {
		var body struct {
			Error struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		if json.Unmarshal(text, &body) == nil {
			failure.Message = body.Error.Message
		}
	}
	if res.StatusCode != http.StatusTooManyRequests && res.StatusCode < http.StatusInternalServerError {
		return -1, failure
	}
	after, _ = modelhttp.RetryAfter(res.Header, time.Now())
	return after, failure
}
