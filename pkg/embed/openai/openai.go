// Package openai computes embeddings with any server that supports the OpenAI embeddings API: OpenAI itself, Ollama,
// vLLM, llama.cpp, Text Embeddings Inference and others.
package openai

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/modelhttp"
	"github.com/sluice/sluice/pkg/sleep"
)

// Config selects the server and the model and limits requests. Zero fields get defaults, except Model, which is
// required.
type Config struct {
	BaseURL string // includes the version: "http://localhost:11434/v1"; default "https://api.openai.com/v1"
	APIKey  string // sent as a bearer token if not empty; never logged or included in errors
	Model   string // the model's name on the server; required

	// Dimensions is the vector length to request from a model that can shorten its vectors; 0 means the model's own
	// length. The "dimensions" field is sent unless the server rejects it, and vectors of any other length are
	// rejected. Dimensions is part of the model's ID, because vectors of different lengths can't be compared.
	Dimensions int

	// Known is the vector length in earlier responses, or 0 if unknown. Model returns it until the first response
	// arrives. It is not sent to the server. If the server returns a different length, the model has changed, and the
	// response is rejected.
	Known int

	// QueryPrefix and PassagePrefix are prepended to queries and passages, for models trained with prefixes such as
	// "query: " and "passage: ". A digest of PassagePrefix is part of the model's ID, because passages with and without
	// it can't be compared.
	QueryPrefix, PassagePrefix string

	// Base64 requests vectors in base64, which takes up a third of the space of JSON numbers but isn't supported by
	// every server. Servers may respond in either format, whichever is requested.
	Base64 bool

	MaxInputTokens int           // maximum number of tokens per text, by a cautious estimate; longer texts are truncated; default 8,000
	MaxBatch       int           // maximum number of texts per request; default 32, the lowest limit among known servers
	MaxBatchTokens int           // maximum number of tokens per request, by a cautious estimate; default 16,000
	Concurrency    int           // maximum number of simultaneous requests, separate for queries and passages; default 8
	Timeout        time.Duration // per request; default 60 s
	MaxAttempts    int           // maximum number of requests per batch, including the first; default 6

	HTTPClient *http.Client // default: a client that keeps one connection per simultaneous request
}

const (
	defaultBaseURL = "https://api.openai.com/v1"
	maxDimensions  = 65_536
)

func (c Config) withDefaults() Config {
	set := func(field *int, value int) {
		if *field <= 0 {
			*field = value
		}
	}
	c.BaseURL = cmp.Or(c.BaseURL, defaultBaseURL)
	if c.Timeout <= 0 {
		c.Timeout = time.Minute
	}
	set(&c.MaxInputTokens, 8_000)
	set(&c.MaxBatch, 32)
	set(&c.MaxBatchTokens, 16_000)
	set(&c.Concurrency, 8)
	set(&c.MaxAttempts, 6)
	if c.HTTPClient == nil {
		c.HTTPClient = newClient(2 * c.Concurrency)
	}
	return c
}

// newClient returns an HTTP client that keeps up to `connections` idle connections to the server and does not follow
// redirects to other hosts. Go's default client keeps only two idle connections, so most requests would need a new
// handshake.
func newClient(connections int) *http.Client {
	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok { // the transport was replaced, e.g. by instrumentation
		return &http.Client{CheckRedirect: modelhttp.SameOrigin}
	}
	transport = transport.Clone()
	transport.MaxIdleConnsPerHost = connections
	transport.MaxIdleConns = max(transport.MaxIdleConns, connections)
	return &http.Client{Transport: transport, CheckRedirect: modelhttp.SameOrigin}
}

// Embedder is an embed.Embedder over HTTP. It is safe for concurrent use.
type Embedder struct {
	config            Config
	id                string
	address           string
	dimensions        atomic.Int64
	resume            atomic.Int64     // Unix time in nanoseconds when passage requests may resume
	withoutDimensions atomic.Bool      // the server rejects the "dimensions" field
	slots             [2]chan struct{} // one channel per purpose, so that queries do not wait behind a bulk import
	pause             func(ctx context.Context, d time.Duration) error
}

var _ embed.Embedder = (*Embedder)(nil)

// New returns an embedder without calling the server. If a field in the configuration is invalid, the error names it.
func New(config Config) (*Embedder, error) {
	config = config.withDefaults()
	if config.Model == "" {
		return nil, errors.New("no embedding model is set")
	}
	base, err := url.Parse(config.BaseURL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("the embedding server's address %q is not an http or https URL", config.BaseURL)
	}
	if base.User != nil {
		return nil, errors.New("the embedding server's address contains a password; set it as the API key instead")
	}
	for _, n := range []int{config.Dimensions, config.Known} {
		if n < 0 || n > maxDimensions {
			return nil, fmt.Errorf("the number of dimensions is %d, but must be between 0 (the model's default) and %d", n, maxDimensions)
		}
	}
	e := &Embedder{config: config, id: "openai:" + config.Model, address: base.JoinPath("embeddings").String(), pause: sleep.For}
	if config.Dimensions > 0 {
		e.id += "@" + strconv.Itoa(config.Dimensions)
	}
	if config.PassagePrefix != "" {
		sum := sha256.Sum256([]byte(config.PassagePrefix))
		e.id += "+" + hex.EncodeToString(sum[:4])
	}
	e.dimensions.Store(int64(cmp.Or(config.Dimensions, config.Known)))
	for i := range e.slots {
		e.slots[i] = make(chan struct{}, config.Concurrency)
	}
	return e, nil
}

// Model implements embed.Embedder. If neither Dimensions nor Known is configured, the dimensions are 0 until the first
// response to Discover or Embed.
func (e *Embedder) Model() embed.Model {
	return embed.Model{ID: e.id, Dimensions: int(e.dimensions.Load())}
}

// Discover determines unknown dimensions by embedding a word. It returns the same errors as Embed.
func (e *Embedder) Discover(ctx context.Context) error {
	if e.dimensions.Load() != 0 {
		return nil
	}
	_, err := e.request(ctx, []string{"dimensions"}, embed.Query)
	return err
}

// Embed implements embed.Embedder. Blank texts are not sent, because servers reject them; their vectors are zero. The
// error is an *embed.Error or ctx's error.
func (e *Embedder) Embed(ctx context.Context, texts []string, purpose embed.Purpose) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(e.config.Concurrency)
	for _, b := range e.batches(texts, purpose) {
		group.Go(func() error {
			got, err := e.request(groupCtx, b.texts, purpose)
			for i, vector := range got {
				vectors[b.indexes[i]] = vector
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if err := e.setZeroVectors(ctx, vectors); err != nil {
		return nil, err
	}
	return vectors, nil
}

// setZeroVectors sets zero vectors for texts that were not sent. If the vectors' length is unknown, it calls Discover.
func (e *Embedder) setZeroVectors(ctx context.Context, vectors [][]float32) error {
	for i, vector := range vectors {
		if vector != nil {
			continue
		}
		if err := e.Discover(ctx); err != nil {
			return err
		}
		vectors[i] = make([]float32, e.dimensions.Load())
	}
	return nil
}
