package openai

import (
	"context"
	"net/http"
	"time"

	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/modelhttp"
)

// retryDelay returns how long the response asks the client to wait, or 0. It reads Retry-After and OpenAI's more
// precise retry-after-ms. For a 429 response without either, it returns the time until the exhausted limit resets.
func retryDelay(status int, header http.Header, now time.Time) time.Duration {
	wait, _ := modelhttp.RetryAfter(header, now)
	if wait > 0 || status != http.StatusTooManyRequests {
		return wait
	}
	for _, limit := range []string{"Requests", "Tokens"} {
		reset, err := time.ParseDuration(header.Get("X-Ratelimit-Reset-" + limit)) // "6m0s", "20ms"
		if err == nil && header.Get("X-Ratelimit-Remaining-"+limit) == "0" {
			wait = max(wait, reset)
		}
	}
	return wait
}

// delayPassages delays further passage requests after a 429 response. Without the delay, they would be rejected as
// well, because all documents share the limit, and the rejected requests would count towards the limit.
func (e *Embedder) delayPassages(failure *embed.Error, wait time.Duration) {
	if failure.Status == http.StatusTooManyRequests {
		e.resume.Store(time.Now().Add(wait).UnixNano())
	}
}

// waitForPassages waits until passage requests may resume. Queries don't wait, because they are few and users are
// waiting for them.
func (e *Embedder) waitForPassages(ctx context.Context, purpose embed.Purpose) error {
	wait := time.Until(time.Unix(0, e.resume.Load()))
	if purpose == embed.Query || wait <= 0 {
		return nil
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
		return nil // send the request now, so that the caller learns how long to wait from the response
	}
	return e.pause(ctx, wait)
}
