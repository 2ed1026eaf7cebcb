// Package openai embeds texts with any server that speaks the OpenAI embeddings API: OpenAI itself, Ollama, vLLM,
// llama.cpp, Text Embeddings Inference and others.
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
)

// Config says which server and model to use and how hard. Every zero field but Model has a default.
type Config struct {
	BaseURL string // with the version: "http://localhost:11434/v1"; default "https://api.openai.com/v1"
	APIKey  string // sent as bearer token; empty sends none. Never logged, never part of an error
	Model   string // the server's name of the model, required

	// Dimensions is how long the model's vectors are to be, for models that can shorten theirs: it is sent along, unless
	// the server does not know the field, and vectors of another length are refused. It is part of the model's ID, since
	// vectors of different lengths do not compare. 0 takes what the model makes.
	Dimensions int

	// Known is how long the vectors of this model are known to be from earlier answers. It is not sent. It lets
	// Model tell the dimensions before the first answer, and refuses a server whose model has become another one. 0: not
	// known.
	Known int

	// QueryPrefix and PassagePrefix go before every text of their purpose, for models that were trained so
	// ("query: ", "passage: "). A digest of PassagePrefix is part of the model's ID, since vectors of passages with and
	// without do not compare.
	QueryPrefix, PassagePrefix string

	// Base64 asks for vectors as base64 instead of JSON numbers: a third of the bytes, but not every server knows it.
	// Answers are read in either form whatever was asked for.
	Base64 bool

	MaxInputTokens int           // a longer text is cut, by a careful estimate; default 8,000
	MaxBatch       int           // texts a request; default 32, the least that servers are known to allow
	MaxBatchTokens int           // estimated tokens a request; default 16,000
	Concurrency    int           // requests at once, separately for queries and passages; default 8
	Timeout        time.Duration // of one request; default 60 s
	MaxAttempts    int           // requests for one batch, the first included; default 6

	HTTPClient *http.Client // default: a client of its own that keeps a connection for each request at once
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
	if c.BaseURL == "" {
		c.BaseURL = defaultBaseURL
	}
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

// newClient makes a client that keeps so many connections to a server. The default keeps two and closes the others after
// each request, which costs a handshake for each of the next. It does not follow redirects to other hosts.
func newClient(connections int) *http.Client {
	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok { // replaced, for instrumentation for example
		return &http.Client{CheckRedirect: modelhttp.SameOrigin}
	}
	transport = transport.Clone()
	transport.MaxIdleConnsPerHost = connections
	transport.MaxIdleConns = max(transport.MaxIdleConns, connections)
	return &http.Client{Transport: transport, CheckRedirect: modelhttp.SameOrigin}
}

// Embedder is an embed.Embedder over HTTP. It is safe for concurrent use.
type Embedder struct {
	config     Config
	id         string
	address    string
	dimensions atomic.Int64
	resume     atomic.Int64     // when requests for passages may go on, in Unix nanoseconds
	plain      atomic.Bool      // the server does not take the field dimensions
	slots      [2]chan struct{} // by purpose, so that a bulk import does not hold up queries
	pause      func(ctx context.Context, d time.Duration) error
}

var _ embed.Embedder = (*Embedder)(nil)

// New returns an embedder of the given configuration; it does not call the server. The error says which field is
// wrong.
func New(config Config) (*Embedder, error) {
	config = config.withDefaults()
	if config.Model == "" {
		return nil, errors.New("no embedding model is named")
	}
	base, err := url.Parse(config.BaseURL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("the embedding server's address %q is not an http or https URL", config.BaseURL)
	}
	if base.User != nil {
		return nil, errors.New("the embedding server's address holds a password; give it as API key")
	}
	for _, n := range []int{config.Dimensions, config.Known} {
		if n < 0 || n > maxDimensions {
			return nil, fmt.Errorf("%d dimensions are not between 0 (as the model gives them) and %d", n, maxDimensions)
		}
	}
	e := &Embedder{config: config, id: "openai:" + config.Model, address: base.JoinPath("embeddings").String(), pause: pause}
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

// Model implements embed.Embedder. Dimensions is 0 until Discover or Embed has had the first answer, unless the
// configuration gave it or knew it.
func (e *Embedder) Model() embed.Model {
	return embed.Model{ID: e.id, Dimensions: int(e.dimensions.Load())}
}

// Discover makes Model's dimensions known by embedding one word, if they are not yet. Its errors are Embed's.
func (e *Embedder) Discover(ctx context.Context) error {
	if e.dimensions.Load() != 0 {
		return nil
	}
	_, err := e.request(ctx, []string{"dimensions"}, embed.Query)
	return err
}

// Embed implements embed.Embedder. Blank texts are not sent, since servers refuse them, and have zero vectors. Errors
// of the server are *embed.Error; the others are those of ctx.
func (e *Embedder) Embed(ctx context.Context, texts []string, purpose embed.Purpose) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(e.config.Concurrency)
	for _, b := range e.batches(texts, purpose) {
		group.Go(func() error {
			got, err := e.request(groupCtx, b.texts, purpose)
			for i, vector := range got {
				vectors[b.places[i]] = vector
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if err := e.fillBlanks(ctx, vectors); err != nil {
		return nil, err
	}
	return vectors, nil
}

// fillBlanks gives the texts that were not sent their zero vectors, whose length the server may have to tell first.
func (e *Embedder) fillBlanks(ctx context.Context, vectors [][]float32) error {
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
