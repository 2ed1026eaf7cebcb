package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// ClaimStore remembers the answers of requests by their idempotency keys.
type ClaimStore interface {
	// BeginIdempotent returns the answer stored under the key, or a claim: go on, Keep it, then Finish, Release or
	// Abandon. A key in use by a request that is under way, or used for another request, is domain.CodeConflict.
	BeginIdempotent(ctx context.Context, ws, key, requestHash string) (*catalog.Claim, *catalog.StoredResponse, error)
	// KeepIdempotent says that the request is being worked on, and reports whether no other request has taken it over.
	KeepIdempotent(ctx context.Context, claim *catalog.Claim) (holds bool, err error)
	FinishIdempotent(ctx context.Context, claim *catalog.Claim, r catalog.StoredResponse) error
	// ReleaseIdempotent lets a request be repeated that may have done something.
	ReleaseIdempotent(ctx context.Context, claim *catalog.Claim) error
	// AbandonIdempotent frees the key of a request that has done nothing.
	AbandonIdempotent(ctx context.Context, claim *catalog.Claim) error
}

const idempotencyHeader = "Idempotency-Key"

// anIdempotencyKey is what the document takes for one. An empty one is a client's mistake that it should hear of: it
// counts on what it would not get.
var anIdempotencyKey = regexp.MustCompile(`^[ -~]{1,200}$`)

// replayedHeader marks an answer that was given before.
const replayedHeader = "Idempotent-Replayed"

// maxKeptAnswer bounds the answers that are kept for replay. Larger ones, of queries, are worked out anew.
const maxKeptAnswer = 1 << 20

// idempotent answers a request whose Idempotency-Key was seen before with the answer that was given then. Only
// answers of success are kept: what failed may be tried again.
func (s *server) idempotent(c *gin.Context) {
	op := operationOf(c)
	if op == nil || !op.idempotent {
		return
	}
	given := c.Request.Header.Values(idempotencyHeader)
	if len(given) == 0 {
		return
	}
	key := given[0]
	if len(given) > 1 || !anIdempotencyKey.MatchString(key) {
		s.fail(c, domain.Invalid(idempotencyHeader, "must be given once, as 1 to 200 printable ASCII characters"))
		return
	}
	_, who := callerOf(c)
	if who.anonymous || asksForStream(c) {
		return
	}
	ctx := c.Request.Context()
	claim, stored, err := s.Claims.BeginIdempotent(ctx, who.workspace(), key, fingerprint(c))
	if err != nil {
		s.fail(c, err)
		return
	}
	if stored != nil {
		c.Header(replayedHeader, "true")
		kind := "application/json"
		if op.id == "QueryDatastore" {
			kind = fragmentsType(c, c.Request.URL.Query().Get("explain") == "true")
		}
		c.Data(stored.Status, kind, []byte(stored.Body))
		c.Abort()
		return
	}
	c.Request = c.Request.WithContext(context.WithValue(ctx, claimKey, claim))
	s.keepAnswer(c, claim, op.secret)
}

// keepAnswer serves the request under its claim, and stores the answer unless it is secret. What came to nothing is given
// back, even when the handler panics or the client has left. Where it is not certain that nothing was done, the key stays
// the request's own.
func (s *server) keepAnswer(c *gin.Context, claim *catalog.Claim, secret bool) {
	recording := &recorder{ResponseWriter: c.Writer}
	c.Writer = recording
	release := s.holdClaim(c.Request.Context(), claim)
	served := false
	defer func() {
		release()
		c.Writer = recording.ResponseWriter
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request.Context()), claimTimeout)
		defer cancel()
		var err error
		switch status := recording.Status(); {
		case served && status >= 200 && status < 300 && !secret && !recording.cut:
			err = s.Claims.FinishIdempotent(ctx, claim, catalog.StoredResponse{Status: status, Body: recording.body.String()})
		case served && status >= 400 && status < 500 && status != statusClientLeft:
			err = s.Claims.AbandonIdempotent(ctx, claim)
		default:
			err = s.Claims.ReleaseIdempotent(ctx, claim)
		}
		if err != nil {
			s.log.Error("keeping an answer for its idempotency key", "request", requestID(ctx), "error", err)
		}
	}()
	c.Next()
	served = true
}

// claimTimeout bounds each of the writes about a claim.
const claimTimeout = 5 * time.Second

// holdClaim keeps the claim until the returned function has been called, which waits for the end of that.
func (s *server) holdClaim(ctx context.Context, claim *catalog.Claim) (release func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // the client may leave before the work is done
	var keeping sync.WaitGroup
	keeping.Go(func() {
		beat := time.NewTicker(s.opts.ClaimBeat)
		defer beat.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-beat.C:
			}
			if !s.keepClaim(ctx, claim) {
				return
			}
		}
	})
	return func() {
		cancel()
		keeping.Wait()
	}
}

// keepClaim reports whether it makes sense to go on keeping the claim. A failure to keep it may pass before it is lost.
func (s *server) keepClaim(ctx context.Context, claim *catalog.Claim) bool {
	within, cancel := context.WithTimeout(ctx, claimTimeout)
	defer cancel()
	holds, err := s.Claims.KeepIdempotent(within, claim)
	switch {
	case ctx.Err() != nil:
		return false
	case err != nil:
		s.log.Warn("keeping an idempotency key", "request", requestID(ctx), "error", err)
		return true
	case !holds:
		s.log.Warn("a request with an idempotency key was taken over while it was being worked on", "request", requestID(ctx))
	}
	return holds
}

// fingerprint tells one request from another. The base does not matter. An upload counts with its length alone, for its
// bytes are read only once.
func fingerprint(c *gin.Context) string {
	h := sha256.New()
	h.Write([]byte(c.Request.Method + " " + strings.TrimPrefix(c.Request.URL.Path, "/api")))
	if query := c.Request.URL.RawQuery; query != "" { // as it was checked: in order, and without what the operation does not take
		h.Write([]byte("?" + query))
	}
	h.Write([]byte("\n"))
	if body, ok := c.Request.Body.(*checkedBody); ok {
		h.Write(body.raw)
	} else {
		fmt.Fprintf(h, "%d bytes", c.Request.ContentLength)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// asksForStream reports whether the checked body asks for an event stream.
func asksForStream(c *gin.Context) bool {
	body, ok := c.Request.Body.(*checkedBody)
	if !ok {
		return false
	}
	fields, _ := body.value.(map[string]any)
	return fields["streaming"] == true
}

// recorder keeps what is written, up to maxKeptAnswer.
type recorder struct {
	gin.ResponseWriter
	body bytes.Buffer
	cut  bool
}

// Write implements io.Writer.
func (r *recorder) Write(b []byte) (int, error) {
	if r.body.Len()+len(b) > maxKeptAnswer {
		r.cut = true
	} else {
		r.body.Write(b)
	}
	return r.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
