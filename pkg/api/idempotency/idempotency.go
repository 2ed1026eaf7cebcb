// Package idempotency carries out a request with an Idempotency-Key once: it gives an answer again that was given
// before, and has a request that is repeated after a crash find what the run before it has made. It knows no operation;
// pkg/api may import it.
package idempotency

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/api/transfer"
	"github.com/sluice/sluice/pkg/catalog/accounts"
	"github.com/sluice/sluice/pkg/domain"
)

// Store remembers the answers of requests by their idempotency keys.
type Store interface {
	// BeginIdempotent returns the answer stored under the key, or a claim: go on, Keep it, then Finish, Release or
	// Abandon. A key in use by a request that is under way, or used for another request, is domain.CodeConflict.
	BeginIdempotent(ctx context.Context, ws, key, requestHash string) (*accounts.Claim, *accounts.StoredResponse, error)
	// KeepIdempotent says that the request is being worked on, and reports whether no other request has taken it over.
	KeepIdempotent(ctx context.Context, claim *accounts.Claim) (holds bool, err error)
	FinishIdempotent(ctx context.Context, claim *accounts.Claim, r accounts.StoredResponse) error
	// ReleaseIdempotent lets a request be repeated that may have done something.
	ReleaseIdempotent(ctx context.Context, claim *accounts.Claim) error
	// AbandonIdempotent frees the key of a request that has done nothing.
	AbandonIdempotent(ctx context.Context, claim *accounts.Claim) error
}

const header = "Idempotency-Key"

// keyPattern is what the document takes for one. An empty one is a client's mistake that it should hear of: it
// counts on what it would not get.
var keyPattern = regexp.MustCompile(`^[ -~]{1,200}$`)

// replayedHeader marks an answer that was given before.
const replayedHeader = "Idempotent-Replayed"

// maxStoredResponse bounds the answers that are kept for replay. Larger ones, of queries, are computed again.
const maxStoredResponse = 1 << 20

// Responses remembers answers.
type Responses struct {
	Store     Store
	Heartbeat time.Duration // how often a request says that it is alive
	Log       *slog.Logger
}

// Serve answers a request whose Idempotency-Key was seen before with the answer that was given then, of the content
// type, and otherwise serves it and keeps the answer, unless it is secret. Only answers of success are kept: what
// failed may be tried again. It does nothing when there is no key, and for streams and callers without an API key.
func (k *Responses) Serve(c *gin.Context, caller access.Caller, secret bool, contentType string) error {
	given := c.Request.Header.Values(header)
	if len(given) == 0 {
		return nil
	}
	key := given[0]
	if len(given) > 1 || !keyPattern.MatchString(key) {
		return domain.Invalid(header, "must be given once, as 1 to 200 printable ASCII characters")
	}
	if caller.Anonymous || asksForStream(c.Request) {
		return nil
	}
	ctx := c.Request.Context()
	claim, stored, err := k.Store.BeginIdempotent(ctx, caller.Workspace(), key, fingerprint(c.Request))
	if err != nil {
		return err
	}
	if stored != nil {
		c.Header(replayedHeader, "true")
		c.Data(stored.Status, contentType, []byte(stored.Body))
		c.Abort()
		return nil
	}
	c.Request = c.Request.WithContext(context.WithValue(ctx, claimKey{}, claim))
	k.serveOnce(c, claim, secret)
	return nil
}

// serveOnce serves the request under its claim, and stores the answer unless it is secret. The key of a request that
// did nothing is freed, even when the handler panics or the client has left. If the request may have done something,
// the key stays with it.
func (k *Responses) serveOnce(c *gin.Context, claim *accounts.Claim, secret bool) {
	recording := &recorder{ResponseWriter: c.Writer}
	c.Writer = recording
	release := k.renewClaim(c.Request.Context(), claim)
	served := false
	defer func() {
		release()
		c.Writer = recording.ResponseWriter
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request.Context()), claimTimeout)
		defer cancel()
		var err error
		switch status := recording.Status(); {
		case served && status >= 200 && status < 300 && !secret && !recording.cut:
			err = k.Store.FinishIdempotent(ctx, claim, accounts.StoredResponse{Status: status, Body: recording.body.String()})
		case served && status >= 400 && status < 500 && status != problem.StatusClientClosed:
			err = k.Store.AbandonIdempotent(ctx, claim)
		default:
			err = k.Store.ReleaseIdempotent(ctx, claim)
		}
		if err != nil {
			k.Log.Error("storing a response for its idempotency key failed", "request", problem.RequestID(ctx), "error", err)
		}
	}()
	c.Next()
	served = true
}

// claimTimeout bounds each of the writes about a claim.
const claimTimeout = 5 * time.Second

// renewClaim keeps the claim until the returned function has been called, which waits for the end of that.
func (k *Responses) renewClaim(ctx context.Context, claim *accounts.Claim) (release func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // the client may leave before the work is done
	var keeping sync.WaitGroup
	keeping.Go(func() {
		beat := time.NewTicker(k.Heartbeat)
		defer beat.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-beat.C:
			}
			if !k.renewOnce(ctx, claim) {
				return
			}
		}
	})
	return func() {
		cancel()
		keeping.Wait()
	}
}

// renewOnce reports whether it makes sense to go on keeping the claim. A failure to keep it may pass before it is lost.
func (k *Responses) renewOnce(ctx context.Context, claim *accounts.Claim) bool {
	within, cancel := context.WithTimeout(ctx, claimTimeout)
	defer cancel()
	holds, err := k.Store.KeepIdempotent(within, claim)
	switch {
	case ctx.Err() != nil:
		return false
	case err != nil:
		k.Log.Warn("storing an idempotency key failed", "request", problem.RequestID(ctx), "error", err)
		return true
	case !holds:
		k.Log.Warn("another process took over a request with an idempotency key", "request", problem.RequestID(ctx))
	}
	return holds
}

// fingerprint tells one request from another. The base does not matter. An upload counts with its length alone, for its
// bytes are read only once.
func fingerprint(r *http.Request) string {
	h := sha256.New()
	h.Write([]byte(r.Method + " " + strings.TrimPrefix(r.URL.Path, "/api")))
	if query := r.URL.RawQuery; query != "" { // as it was checked: in order, and without what the operation does not take
		h.Write([]byte("?" + query))
	}
	h.Write([]byte("\n"))
	if body, ok := r.Body.(*transfer.Checked); ok {
		h.Write(body.Raw)
	} else {
		fmt.Fprintf(h, "%d bytes", r.ContentLength)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// asksForStream reports whether the checked body asks for an event stream.
func asksForStream(r *http.Request) bool {
	body, ok := r.Body.(*transfer.Checked)
	if !ok {
		return false
	}
	fields, _ := body.Value.(map[string]any)
	return fields["streaming"] == true
}

// recorder keeps the answer, up to maxStoredResponse.
type recorder struct {
	gin.ResponseWriter
	body bytes.Buffer
	cut  bool
}

// Write implements io.Writer.
func (r *recorder) Write(b []byte) (int, error) {
	if r.body.Len()+len(b) > maxStoredResponse {
		r.cut = true
	} else {
		r.body.Write(b)
	}
	return r.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
