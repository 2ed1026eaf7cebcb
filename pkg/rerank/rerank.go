// Package rerank ranks passages by their relevance to a query, using a model in this process (Local) or on a server
// (Client). It supports the wire formats of Cohere (v2), of Jina (also used by vLLM and others), and of Hugging Face's
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

	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/bounded"
	"github.com/sluice/sluice/pkg/lists"
	"github.com/sluice/sluice/pkg/modelhttp"
	"github.com/sluice/sluice/pkg/sleep"
)

// Limits for a call.
const (
	MaxPassages      = 1000
	MaxPassageBytes  = 6000 // longer ones are truncated: models read about 512 tokens
	MaxQueryBytes    = 2000
	DefaultTimeout   = 5 * time.Second
	maxResponseBytes = 4 << 20
)

// Limits for a call's requests.
const (
	// Maximum number of texts per TEI request: the default of the server's --max-client-batch-size option
	// (https://huggingface.co/docs/text-embeddings-inference/cli_arguments).
	batchTEI = 32
	// Maximum number of texts per request in the other formats.
	batch = 100
	// Maximum number of simultaneous requests.
	parallel = 4
)

// Config configures a Client.
type Config struct {
	// URL is the server's http or https address with the path; /rerank is appended if missing. A path that ends in /v2 or
	// /v2/rerank selects Cohere's format, and one that ends in /v1 or /v1/rerank selects Jina's. Any other path selects
	// TEI's; if the server rejects that, Jina's is tried.
	URL     string
	APIKey  string        // sent as a bearer token, unless ""
	Model   string        // "" if the server has only one
	Timeout time.Duration // time limit per 100 passages passed to Rerank, including retries; default DefaultTimeout
	// Transport sends the requests; if nil, New creates one. Redirects are not followed, because that would forward the
	// API key.
	Transport http.RoundTripper
	Now       func() time.Time // the circuit breaker's clock; default time.Now
}

// Client ranks passages with a model on a server. It is safe for concurrent use.
type Client struct {
	config      Config
	address     string
	http        *http.Client
	form        atomic.Int32 // wire format, as a form
	isFormFixed bool         // the address determines the format
	breaker     breaker
	wait        func(ctx context.Context, d time.Duration) error
}

// Result is a ranked passage.
type Result struct {
	Index int     // passage index
	Score float64 // 0 to 1
}

// New validates the configuration and returns a client. It sends no request.
func New(c Config) (*Client, error) {
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil, errors.New("the reranker's address is not a URL such as http://localhost:8080/rerank")
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("the reranker's address is %q; it must begin with http:// or https://, followed by a host", u.Redacted())
	}
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	client := &Client{config: c, wait: sleep.For, breaker: breaker{now: c.Now, server: "the server"}}
	f := formTEI
	u.Path = strings.TrimSuffix(u.Path, "/")
	base := strings.TrimSuffix(u.Path, "/rerank")
	switch {
	case strings.HasSuffix(base, "/v2"):
		f, client.isFormFixed = formCohere, true
	case strings.HasSuffix(base, "/v1"):
		f, client.isFormFixed = formJina, true
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

// Model returns the model's name, or the server's host if no name is configured.
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

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Rerank returns all passages, best first. Passages with equal scores keep their order. Scores are between 0 and 1;
// normalise says how the server's scores are mapped to this range.
//
// If the server can't be reached in time, rejects the request or returns an invalid response, Rerank returns *Error. If
// ctx is done first, it returns ctx's error. After two consecutive failures, calls fail at once with ErrPaused for 5
// seconds. The pause gets longer, up to a minute, as long as the server keeps failing.
//
// A nonzero `until` is a deadline: if the server hasn't answered by then, Rerank fails as if it couldn't be reached in
// time.
func (c *Client) Rerank(ctx context.Context, query string, passages []string, until time.Time) ([]Result, error) {
	if len(passages) == 0 {
		return nil, nil
	}
	if len(passages) > MaxPassages {
		return nil, fmt.Errorf("reranking %d passages: the limit is %d", len(passages), MaxPassages)
	}
	visit, err := c.breaker.admit()
	if err != nil {
		return nil, err
	}
	outer := ctx
	batches := (len(passages) + batch - 1) / batch
	ctx, cancel := context.WithTimeout(ctx, time.Duration(batches)*c.config.Timeout)
	defer cancel()
	if !until.IsZero() {
		ctx, cancel = context.WithDeadline(ctx, until)
		defer cancel()
	}
	texts := lists.Map(passages, func(p string) string { return truncate(p, MaxPassageBytes) })
	scores, err := c.scores(ctx, truncate(query, MaxQueryBytes), texts)
	c.breaker.record(visit, err, outer.Err() != nil)
	if outer.Err() != nil && err != nil {
		return nil, fmt.Errorf("reranking: %w", outer.Err())
	}
	if err != nil {
		return nil, err
	}
	return normalise(scores), nil
}

// scores requests the scores in the last format that worked. If the server rejects it and the URL leaves the format
// open, scores tries the other format: Jina's instead of TEI's, or vice versa.
func (c *Client) scores(ctx context.Context, query string, texts []string) ([]float64, error) {
	f := form(c.form.Load())
	scores, err := c.scoresAs(ctx, f, query, texts)
	if err == nil || c.isFormFixed || !rejectsFormat(err) {
		return scores, err
	}
	other := formTEI
	if f == formTEI {
		other = formJina
	}
	scores, otherErr := c.scoresAs(ctx, other, query, texts)
	if otherErr != nil {
		return nil, err // the error in the format that the address suggests
	}
	c.form.Store(int32(other))
	return scores, nil
}

// scoresAs requests the scores in one format, in batches that servers accept.
func (c *Client) scoresAs(ctx context.Context, f form, query string, texts []string) ([]float64, error) {
	size := batch
	if f == formTEI {
		size = batchTEI
	}
	scores := make([]float64, len(texts))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for from := 0; from < len(texts); from += size {
		to := min(from+size, len(texts))
		group.Go(func() error {
			return c.sendWithRetries(ctx, f, query, texts[from:to], scores[from:to])
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return scores, nil
}

// truncate shortens a text to at most `limit` bytes at a character boundary and replaces invalid UTF-8.
func truncate(text string, limit int) string {
	return strings.ToValidUTF8(bounded.Prefix(text, limit), "\ufffd")
}
