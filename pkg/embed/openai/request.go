package openai

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/sluice/sluice/pkg/bounded"
	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/modelhttp"
)

const (
	firstPause     = 500 * time.Millisecond
	maxPause       = 30 * time.Second
	minHalvedBytes = 16 // a text is halved only if each half has at least this many bytes
)

// request returns one batch's vectors. If the server rejects the batch as too long, request splits it in half and sends
// each half separately, which may be split again. This isolates a text that is too long, and helps if the server allows
// fewer texts per request. If a single text is too long, only its first half is embedded.
func (e *Embedder) request(ctx context.Context, texts []string, purpose embed.Purpose) ([][]float32, error) {
	vectors, err := e.retry(ctx, texts, purpose)
	if err == nil || !isTooLong(err) {
		return vectors, err
	}
	if len(texts) == 1 {
		if len(texts[0]) < 2*minHalvedBytes {
			return nil, err
		}
		return e.request(ctx, []string{firstHalf(texts[0])}, purpose)
	}
	middle := len(texts) / 2
	first, err := e.request(ctx, texts[:middle], purpose)
	if err != nil {
		return nil, err
	}
	second, err := e.request(ctx, texts[middle:], purpose)
	return slices.Concat(first, second), err
}

// retry sends one batch until it succeeds, fails permanently, or runs out of attempts or time. It gives up immediately
// if the next wait would go past ctx's deadline.
func (e *Embedder) retry(ctx context.Context, texts []string, purpose embed.Purpose) ([][]float32, error) {
	if err := e.waitForPassages(ctx, purpose); err != nil {
		return nil, fmt.Errorf("waiting to embed: %w", err)
	}
	wait := firstPause
	for attempt := 1; ; attempt++ {
		vectors, err := e.attempt(ctx, texts, purpose)
		var failure *embed.Error
		if err == nil || !errors.As(err, &failure) || failure.Kind == embed.Permanent || attempt == e.config.MaxAttempts {
			return vectors, err
		}
		// Randomise the wait (wait/2 to wait), so that workers that failed at the same time don't retry at the same
		// time.
		pause := max(wait/2+rand.N(wait/2+1), failure.RetryAfter)
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= pause {
			return nil, err
		}
		if pause > e.config.Timeout+maxPause {
			return nil, err // waiting in the caller's queue is better than blocking a worker
		}
		e.delayPassages(failure, pause)
		if e.pause(ctx, pause) != nil {
			return nil, err
		}
		wait = min(2*wait, maxPause)
	}
}

// attempt sends one request and checks the response.
func (e *Embedder) attempt(ctx context.Context, texts []string, purpose embed.Purpose) ([][]float32, error) {
	slot := e.slots[min(max(purpose, embed.Passage), embed.Query)]
	select {
	case slot <- struct{}{}:
		defer func() { <-slot }()
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting to embed: %w", ctx.Err())
	}
	requestCtx, cancel := context.WithTimeout(ctx, e.config.Timeout)
	defer cancel()

	dimensions := e.config.Dimensions
	if e.withoutDimensions.Load() {
		dimensions = 0
	}
	body, err := e.send(requestCtx, texts, dimensions)
	if dimensions > 0 && rejectsDimensions(err) {
		e.withoutDimensions.Store(true) // retry without the field, because the model's own vectors may have the configured length
		body, err = e.send(requestCtx, texts, 0)
	}
	if err != nil {
		return nil, e.classify(ctx, err)
	}
	vectors, err := decode(body, len(texts))
	if err != nil {
		return nil, &embed.Error{Kind: embed.Transient, Model: e.id, Message: "it sent an invalid response", Err: err}
	}
	if err := e.checkDimensions(vectors); err != nil {
		return nil, err
	}
	return vectors, nil
}

// send sends one request. It includes the "dimensions" field unless `dimensions` is 0.
func (e *Embedder) send(ctx context.Context, texts []string, dimensions int) ([]byte, error) {
	body := struct {
		Model      string   `json:"model"`
		Input      []string `json:"input"`
		Encoding   string   `json:"encoding_format"`
		Dimensions int      `json:"dimensions,omitempty"`
	}{e.config.Model, texts, "float", dimensions}
	if e.config.Base64 {
		body.Encoding = "base64"
	}
	response, err := modelhttp.Post(ctx, e.config.HTTPClient, e.address, modelhttp.Bearer(e.config.APIKey), body)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode >= 300 {
		return nil, e.responseError(response)
	}
	return bounded.ReadAll(response.Body, maxResponse)
}

// checkDimensions checks that the vectors have the model's known length. If the length is unknown, the first response
// determines it.
func (e *Embedder) checkDimensions(vectors [][]float32) error {
	got := int64(len(vectors[0]))
	e.dimensions.CompareAndSwap(0, got)
	switch want := e.dimensions.Load(); {
	case got == want:
		return nil
	case e.config.Dimensions > 0:
		return &embed.Error{Kind: embed.Permanent, Model: e.id,
			Message: fmt.Sprintf("it returned %d dimensions instead of the configured %d", got, want)}
	default:
		return &embed.Error{Kind: embed.Permanent, Model: e.id,
			Message: fmt.Sprintf("it returned %d dimensions instead of %d: a different model may now have this name", got, want)}
	}
}
