package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"mime"
	"net/http"
	"strings"
)

func decodeOne[T any](resp *http.Response, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if err := isOf(resp, "application/json"); err != nil {
		return nil, err
	}
	var v T
	if err := json.NewDecoder(resp.Body).Decode(&v); err != nil {
		return nil, fmt.Errorf("reading the response to %s %s: %w", resp.Request.Method, resp.Request.URL.Path, err)
	}
	return &v, nil
}

// isOf returns an error if the response's media type isn't `kind`, which may mean that the address belongs to a server
// other than Sluice.
func isOf(resp *http.Response, kind string) error {
	got, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind == "application/json" && strings.HasPrefix(got, "application/vnd.sluice.") && strings.HasSuffix(got, "+json") {
		return nil
	}
	if got != kind {
		return fmt.Errorf("%s answered with content type %q instead of %q: is this the address of a Sluice service?", resp.Request.URL.Host, got, kind)
	}
	return nil
}

// callByID calls an endpoint that takes an id and decodes the response.
func callByID[T any](ctx context.Context, id string, call func(context.Context, string, ...RequestEditorFn) (*http.Response, error)) (*T, error) {
	if err := check(id); err != nil {
		return nil, err
	}
	return decodeOne[T](call(ctx, id))
}

// callByIDWithBody calls an endpoint that takes an id and a body and decodes the response.
func callByIDWithBody[B, T any](ctx context.Context, id string, body B,
	call func(context.Context, string, B, ...RequestEditorFn) (*http.Response, error)) (*T, error) {
	if err := check(id); err != nil {
		return nil, err
	}
	return decodeOne[T](call(ctx, id, body))
}

// postByID calls an endpoint that takes an id, optional parameters and a body and decodes the response.
func postByID[P, B, T any](ctx context.Context, id string, params *P, body B,
	call func(context.Context, string, *P, B, ...RequestEditorFn) (*http.Response, error)) (*T, error) {
	if err := check(id); err != nil {
		return nil, err
	}
	return decodeOne[T](call(ctx, id, params, body))
}

func deleteByID(ctx context.Context, id string, call func(context.Context, string, Empty, ...RequestEditorFn) (*http.Response, error)) error {
	if err := check(id); err != nil {
		return err
	}
	resp, err := call(ctx, id, Empty{})
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// check rejects ids that would change the structure of the request's path, such as "..".
func check(id string) error {
	if id == "" || id == "." || id == ".." {
		return fmt.Errorf("%q is not a valid id", id)
	}
	return nil
}

// value returns *p, or the zero value if p is nil.
func value[T any](p *T) T {
	if p == nil {
		return *new(T)
	}
	return *p
}

// pageSize is the service's maximum page size.
const pageSize = 200

type page[T any] struct {
	Data       []T     `json:"data"`
	NextCursor *string `json:"nextCursor"`
}

// pages iterates over a list page by page. If a page cannot be read, the last pair contains the error.
func pages[T any](fetch func(limit *int, cursor *string) (*http.Response, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		size, cursor := pageSize, ""
		for {
			var from *string
			if cursor != "" {
				from = &cursor
			}
			got, err := decodeOne[page[T]](fetch(&size, from))
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, item := range got.Data {
				if !yield(item, nil) {
					return
				}
			}
			next := value(got.NextCursor)
			switch next {
			case "":
				return
			case cursor:
				yield(*new(T), fmt.Errorf("the service returned a broken list: page %s refers to itself", strings.ToValidUTF8(next, "")))
				return
			}
			cursor = strings.Clone(next)
		}
	}
}
