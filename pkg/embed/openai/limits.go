package openai

import (
	"context"
	"net/http"
	"time"

	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/modelhttp"
)

// waitOf is how long the answer asks to wait, 0 if it does not say: by Retry-After, by OpenAI's finer retry-after-ms, or where
// the request was refused for its rate, by when the limit that is used up is whole again.
func waitOf(status int, header http.Header, now time.Time) time.Duration {
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

// slowDown has requests for passages that have not begun wait too, when one was told to: those of all documents count
// against the same limit, and each would be refused, and count, by itself.
func (e *Embedder) slowDown(failure *embed.Error, wait time.Duration) {
	if failure.Status == http.StatusTooManyRequests {
		e.resume.Store(time.Now().Add(wait).UnixNano())
	}
}

// keepPace waits until requests for passages may go on. Queries are not held up: somebody waits for them, and they are few.
func (e *Embedder) keepPace(ctx context.Context, purpose embed.Purpose) error {
	wait := time.Until(time.Unix(0, e.resume.Load()))
	if purpose == embed.Query || wait <= 0 {
		return nil
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
		return nil // the answer will say how long
	}
	return e.pause(ctx, wait)
}
