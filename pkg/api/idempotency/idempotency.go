// Package idempotency executes a request with an Idempotency-Key only once. If the request is repeated, the package
// replays the stored response. After a crash, the handler can find the resources created by the earlier run. The
// package does not depend on the API's operations; pkg/api may import it.
package idempotency

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/api/transfer"
	"github.com/sluice/sluice/pkg/catalog/accounts"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lazyregexp"
)

// Store stores responses by idempotency key.
type Store interface {
	// BeginIdempotent returns the response stored under the key or, if there is none, a claim. The claim's holder
	// executes the request, renews the claim with KeepIdempotent, and ends it with FinishIdempotent, ReleaseIdempotent
	// or AbandonIdempotent. BeginIdempotent returns domain.CodeConflict if a request with the key is still running, or
	// if the key was used for a different request.
	BeginIdempotent(ctx context.Context, ws, key, requestHash string) (*accounts.Claim, *accounts.StoredResponse, error)
	// KeepIdempotent renews the claim. It returns false if another run has taken over the request.
	KeepIdempotent(ctx context.Context, claim *accounts.Claim) (holds bool, err error)
	FinishIdempotent(ctx context.Context, claim *accounts.Claim, r accounts.StoredResponse) error
	// ReleaseIdempotent ends the claim of a request that may have done some of its work, so that it can be repeated.
	ReleaseIdempotent(ctx context.Context, claim *accounts.Claim) error
	// AbandonIdempotent frees the key of a request that had no effect.
	AbandonIdempotent(ctx context.Context, claim *accounts.Claim) error
}

const header = "Idempotency-Key"

// keyPattern matches valid keys, as in the OpenAPI document. An empty key is an error, because its sender expects
// idempotency but would not get it.
var keyPattern = lazyregexp.New(`^[ -~]{1,200}$`)

// replayedHeader marks a replayed response.
const replayedHeader = "Idempotent-Replayed"

// Maximum size of a stored response in bytes. Only query responses can exceed it. A larger response isn't stored, so
// repeating the query computes it again.
const maxStoredResponse = 1 << 20

// Responses stores and replays responses.
type Responses struct {
	Store       Store
	Heartbeat   time.Duration // how often a request renews its claim
	ReadTimeout time.Duration // value passed to transfer.ExpectBody, for error messages
	Log         *slog.Logger
}

// Serve replays the stored response if the Idempotency-Key was used before. Otherwise it serves the request and stores
// the response, unless it is secret. Only successful responses are stored, so failed requests can be retried. Requests
// without an Idempotency-Key, requests for streams, and requests without an API key are passed to the next handler.
// contentType returns the Content-Type for a replayed response's body.
func (k *Responses) Serve(c *gin.Context, caller access.Caller, secret bool, contentType func(body string) string) error {
	given := c.Request.Header.Values(header)
	if len(given) == 0 {
		return nil
	}
	key := given[0]
	if len(given) > 1 || !keyPattern().MatchString(key) {
		return domain.Invalid(header, "must be sent only once and be 1 to 200 printable ASCII characters long")
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
		if err := k.checkContent(c.Request, key, stored.Content); err != nil {
			return err
		}
		c.Header(replayedHeader, "true")
		c.Data(stored.Status, contentType(stored.Body), []byte(stored.Body))
		c.Abort()
		return nil
	}
	c.Request = c.Request.WithContext(accounts.WithClaim(context.WithValue(ctx, claimKey{}, claim), claim))
	k.serveOnce(c, claim, secret)
	return nil
}

// checkContent returns an error if a repeated upload differs from the first one. `content` is the first upload's
// digest. It is "" if the first request wasn't an upload or was stored by a version without digests; checkContent then
// returns nil.
func (k *Responses) checkContent(r *http.Request, key, content string) error {
	if content == "" {
		return nil
	}
	digest, err := transfer.ReadDigest(r)
	transfer.FinishUpload(r.Context(), err == nil)
	if err != nil {
		return transfer.ReadError(err, k.ReadTimeout)
	}
	if digest != content {
		return accounts.DifferentRequest(key)
	}
	return nil
}

// serveOnce serves the request under its claim and stores the response unless it is secret, even if the client has
// disconnected. If the request was rejected, serveOnce frees the key. If it may have had effects, for example before
// the handler panicked, the key stays bound to the request.
func (k *Responses) serveOnce(c *gin.Context, claim *accounts.Claim, secret bool) {
	recording := &recorder{ResponseWriter: c.Writer}
	c.Writer = recording
	release := k.renewClaim(c.Request.Context(), claim)
	served := false
	defer func() {
		release()
		c.Writer = recording.ResponseWriter
		ctx, cancel := context.WithTimeout(accounts.WithoutClaim(context.WithoutCancel(c.Request.Context())), claimTimeout)
		defer cancel()
		var err error
		switch status := recording.Status(); {
		case served && status >= 200 && status < 300 && !secret && !recording.cut:
			err = k.Store.FinishIdempotent(ctx, claim, accounts.StoredResponse{Status: status, Body: recording.body.String(), Content: transfer.Digest(ctx)})
		case served && status >= 400 && status < 500 && status != problem.StatusClientClosed:
			err = k.Store.AbandonIdempotent(ctx, claim)
		default:
			err = k.Store.ReleaseIdempotent(ctx, claim)
		}
		if err != nil {
			k.Log.Error("cannot store a response under its idempotency key", "request", problem.RequestID(ctx), "error", err)
		}
	}()
	c.Next()
	served = true
}

// Time-out for storing a change to a claim.
const claimTimeout = 5 * time.Second

// renewClaim renews the claim at intervals until `release` is called. `release` waits for any renewal in progress.
func (k *Responses) renewClaim(ctx context.Context, claim *accounts.Claim) (release func()) {
	// Keep renewing after the client has disconnected. A renewal must not depend on the claim it renews, so drop the
	// claim from the context.
	ctx, cancel := context.WithCancel(accounts.WithoutClaim(context.WithoutCancel(ctx)))
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

// renewOnce renews the claim and reports whether to keep renewing it. After an error it returns true, because the next
// attempt may succeed before the claim expires.
func (k *Responses) renewOnce(ctx context.Context, claim *accounts.Claim) bool {
	within, cancel := context.WithTimeout(ctx, claimTimeout)
	defer cancel()
	holds, err := k.Store.KeepIdempotent(within, claim)
	switch {
	case ctx.Err() != nil:
		return false
	case err != nil:
		k.Log.Warn("cannot renew the claim to an idempotency key", "request", problem.RequestID(ctx), "error", err)
		return true
	case !holds:
		k.Log.Warn("another process took over the request with this idempotency key", "request", problem.RequestID(ctx))
	}
	return holds
}

// fingerprint returns a hash that tells requests apart, ignoring the base path. For an upload, it includes only the
// length, because the bytes can be read only once; checkContent compares them before a response is replayed.
func fingerprint(r *http.Request) string {
	h := sha256.New()
	h.Write([]byte(r.Method + " " + strings.TrimPrefix(r.URL.Path, "/api")))
	if query := r.URL.RawQuery; query != "" { // validated: sorted and without unknown parameters
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

// asksForStream reports whether the checked body requests an event stream.
func asksForStream(r *http.Request) bool {
	body, ok := r.Body.(*transfer.Checked)
	if !ok {
		return false
	}
	fields, _ := body.Value.(map[string]any)
	return fields["streaming"] == true
}

// recorder records the response, up to maxStoredResponse bytes.
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
