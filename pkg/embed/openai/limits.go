package openai

import (
	"context"
	"net/http"
	"time"

	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/modelhttp"
)

// retryDelay returns the delay that the response asks for, or 0. It reads Retry-After and OpenAI's finer
// retry-after-ms. Without these, after a 429, it returns the time until the exhausted limit resets.
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

// delayPassages delays further requests for passages after a 429. All documents share the same limit, so each of these
// requests would also be rejected, and would count against the limit.
func (e *Embedder) delayPassages(failure *embed.Error, wait time.Duration) {
	if failure.Status == http.StatusTooManyRequests {
		e.resume.Store(time.Now().Add(wait).UnixNano())
	}
}

// waitForPassages waits until requests for passages may resume. Queries are not delayed: they are few, and a user is
// waiting.
func (e *Embedder) waitForPassages(ctx context.Context, purpose embed.Purpose) error {
	wait := time.Until(time.Unix(0, e.resume.Load()))
	if purpose == embed.Query || wait <= 0 {
		return nil
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
		return nil // the response will contain the delay
	}
	return e.pause(ctx, wait)
}
