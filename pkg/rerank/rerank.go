// Package rerank asks a server to put passages in the order of how well they answer a query. It speaks the three wire
// forms that such servers have: Cohere's (v2), Jina's, which vLLM and others share, and that of Hugging Face's
// text-embeddings-inference (TEI).
package rerank

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/modelhttp"
)

// Bounds of a call.
const (
	MaxPassages      = 100
	MaxPassageBytes  = 6000 // more is cut off: models read some 512 tokens
	MaxQueryBytes    = 2000
	DefaultTimeout   = 5 * time.Second
	maxResponseBytes = 4 << 20
)

// batch is how many texts TEI takes at once unless it is told otherwise: the default of its --max-client-batch-size
// (https://huggingface.co/docs/text-embeddings-inference/cli_arguments).
const batch = 32

// Config says which server to ask.
type Config struct {
	// URL is the address of the server, http or https, with the path as it wants it. A path that ends in
	// /v1 or /v2, or in either with /rerank, is of Cohere's and Jina's form. Any other is taken for TEI's, with /rerank
	// added where it is missing; a server that refuses that form is asked in the other.
	URL     string
	APIKey  string        // sent as a bearer token; "": none
	Model   string        // "": the server's only one
	Timeout time.Duration // of one Rerank, with all that is repeated; default DefaultTimeout
	// Transport carries the requests; nil: a transport of its own. Redirects are not followed, for the key would go along.
	Transport http.RoundTripper
	Now       func() time.Time // the clock of the pauses of a server that fails; default time.Now
}

// Client asks a server. It is safe for concurrent use.
type Client struct {
	config  Config
	address string
	http    *http.Client
	form    atomic.Int32 // a form
	fixed   bool         // the form is known from the address
	breaker breaker
	wait    func(ctx context.Context, d time.Duration) error
}

// Result is one passage of an order.
type Result struct {
	Index int     // of the passage
	Score float64 // 0 to 1
}

// New checks the configuration. It asks nothing.
func New(c Config) (*Client, error) {
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil, errors.New("the reranker's address is no URL; it looks like http://localhost:8080/rerank")
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("the reranker's address is %q; it must begin with http:// or https:// and name a host", u.Redacted())
	}
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	client := &Client{config: c, wait: wait, breaker: breaker{now: c.Now}}
	f := formTEI
	u.Path = strings.TrimSuffix(u.Path, "/")
	base := strings.TrimSuffix(u.Path, "/rerank")
	switch {
	case strings.HasSuffix(base, "/v2"):
		f, client.fixed = formCohere, true
	case strings.HasSuffix(base, "/v1"):
		f, client.fixed = formJina, true
	}
	client.form.Store(int32(f))
	u.Path = base + "/rerank"
	client.address = u.String()
	if c.Transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConnsPerHost = 16
		c.Transport = t
	}
	client.http = &http.Client{Transport: c.Transport, CheckRedirect: modelhttp.NoRedirects}
	return client, nil
}

// Model names the model, or else the server.
func (c *Client) Model() string {
	if c.config.Model != "" {
		return c.config.Model
	}
	u, err := url.Parse(c.address)
	if err != nil {
		return ""
	}
	return u.Host
}

// Close gives idle connections up.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Rerank puts all of the passages in order, best first; of equal ones the order is kept. Scores do not rise and lie
// between 0 and 1: a server's own where they do, and else mapped there (see normal).
//
// It fails with *Error when the server cannot be reached in time, refuses, or answers what is no order of the passages,
// and with the error of ctx when that ends first. A server that has failed twice in a row is left alone for 5 seconds, and
// for up to a minute while it goes on failing: until then it fails at once, with ErrPaused.
func (c *Client) Rerank(ctx context.Context, query string, passages []string) ([]Result, error) {
	if len(passages) == 0 {
		return nil, nil
	}
	if len(passages) > MaxPassages {
		return nil, fmt.Errorf("reranking %d passages: the most is %d", len(passages), MaxPassages)
	}
	visit, err := c.breaker.enter()
	if err != nil {
		return nil, err
	}
	outer := ctx
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	texts := make([]string, len(passages))
	for i, p := range passages {
		texts[i] = cut(p, MaxPassageBytes)
	}
	scores, err := c.scores(ctx, cut(query, MaxQueryBytes), texts)
	c.breaker.leave(visit, err, outer.Err() != nil)
	if outer.Err() != nil && err != nil {
		return nil, fmt.Errorf("reranking: %w", outer.Err())
	}
	if err != nil {
		return nil, err
	}
	return normal(scores), nil
}

// scores asks in the form that the server is known to take, and in the other when it refuses that.
func (c *Client) scores(ctx context.Context, query string, texts []string) ([]float64, error) {
	f := form(c.form.Load())
	scores, err := c.scoresAs(ctx, f, query, texts)
	if err == nil || c.fixed || !refusesForm(err) {
		return scores, err
	}
	other := formTEI
	if f == formTEI {
		other = formJina
	}
	scores, otherErr := c.scoresAs(ctx, other, query, texts)
	if otherErr != nil {
		return nil, err // what it said to the form that its address speaks for
	}
	c.form.Store(int32(other))
	return scores, nil
}

// scoresAs asks in one form, with as many texts at once as servers of that form take.
func (c *Client) scoresAs(ctx context.Context, f form, query string, texts []string) ([]float64, error) {
	size := len(texts)
	if f == formTEI {
		size = batch
	}
	scores := make([]float64, len(texts))
	group, ctx := errgroup.WithContext(ctx)
	for from := 0; from < len(texts); from += size {
		to := min(from+size, len(texts))
		group.Go(func() error {
			return c.ask(ctx, f, query, texts[from:to], scores[from:to])
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return scores, nil
}

// cut shortens a text to so many bytes, at a character's edge, and mends what is no UTF-8.
func cut(text string, most int) string {
	if len(text) > most {
		for most > 0 && !utf8.RuneStart(text[most]) {
			most--
		}
		text = text[:most]
	}
	return strings.ToValidUTF8(text, "\ufffd")
}
