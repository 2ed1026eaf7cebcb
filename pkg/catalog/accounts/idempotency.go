package accounts

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"time"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/domain"
)

// StoredResponse is the response kept for an idempotency key.
type StoredResponse struct {
	Status  int
	Body    string
	Content string // digest of the uploaded content, or ""; the request's hash contains only its length
}

const (
	// How long a response is kept.
	idempotencyExpiry = 24 * time.Hour
	// IdempotencyLease is how long a claim lasts without a call to KeepIdempotent. After that, the claim's holder is
	// assumed dead, and another process may execute the request. Clocks of processes that share a catalog must agree to
	// within a fraction of this time.
	IdempotencyLease = 10 * time.Second
	// Retry-After value for a repeated request while the request's first execution is still running.
	idempotencyRetry = 2 * time.Second
)

// Claim is the right to execute the request with an idempotency key. If its holder does not renew it in time, another
// process may take over. Running a request twice doesn't create duplicates, because the ids of new objects are derived
// from the request. But a holder that was merely paused and then resumed could undo a later request by replacing newer
// content or recreating deleted objects. So an execution that has lost its claim can't commit anything (see WithClaim).
type Claim struct {
	// Repeated is true if an earlier execution ended without a response. It may have done all, some or none of the
	// work.
	Repeated bool
	// Begun is when the first execution started.
	Begun time.Time

	ws, key, requestHash string
	expires              int64  // in microseconds since 1970; identifies the request together with ws, key and requestHash
	holder               string // the execution that may renew, release or abandon the claim
}

// ID derives the id of an object created by the request. A request that creates several objects must pass different
// parts for each of them. A retry of the same request gets the same ids; no other request does.
func (c *Claim) ID(parts ...string) string {
	return domain.DerivedID(append([]string{"idempotent", c.ws, c.key, c.requestHash, strconv.FormatInt(c.expires, 10)}, parts...)...)
}

// WithClaim returns a context whose transactions commit only while the claim is held. They fail with
// domain.CodeConflict if another execution of the request has taken over. The claim's row is locked from the check
// until the commit, so no other process can take over between the two.
func WithClaim(ctx context.Context, claim *Claim) context.Context {
	return db.WithFence(ctx, func(ctx context.Context, t *db.Tx) error {
		var holder string
		err := t.QueryRow(ctx, `SELECT body FROM idempotency_keys WHERE `+claimedByHolder+t.Lock, claim.ws, claim.key, claim.holder).Scan(&holder)
		if errors.Is(err, sql.ErrNoRows) {
			taken := domain.Errorf(domain.CodeConflict, "another attempt of the request with Idempotency-Key %q has taken over; try again shortly", claim.key)
			taken.RetryAfter = idempotencyRetry
			return taken
		}
		return err
	})
}

// WithoutClaim returns a context whose transactions commit whether or not a claim is held.
func WithoutClaim(ctx context.Context) context.Context { return db.WithFence(ctx, nil) }

// BeginIdempotent claims an idempotency key for the request with the given hash. If it returns a claim, the caller
// executes the request, calls KeepIdempotent at intervals well below IdempotencyLease, and finally calls
// FinishIdempotent, ReleaseIdempotent or AbandonIdempotent. Otherwise, it returns the response stored for the same
// request. Responses are kept for 24 hours from the start of the request. BeginIdempotent fails with
// domain.CodeConflict if the key was used for a different request or if the request is still in progress.
func (c *Accounts) BeginIdempotent(ctx context.Context, ws, key, requestHash string) (*Claim, *StoredResponse, error) {
	var claim *Claim
	var have *StoredResponse
	err := c.db.Update(ctx, "claiming an idempotency key", func(t *db.Tx) (err error) {
		if _, err := t.Exec(ctx, `DELETE FROM idempotency_keys WHERE expires_at <= ?`, db.Micros(c.db.GuardedNow())); err != nil {
			return err
		}
		claim = &Claim{
			ws: ws, key: key, requestHash: requestHash, expires: c.db.Stamp() + idempotencyExpiry.Microseconds(), holder: domain.NewID(),
		}
		claimed, err := claim.take(ctx, t, c.db.Now())
		if err != nil || claimed {
			have = nil
			return err
		}
		claim = nil
		have, err = storedResponse(ctx, t, ws, key, requestHash)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return claim, have, nil
}

// take claims the key if it is free or its claim has expired. A claim whose renewal time is in the future counts as
// expired, because such a time means that the clock has been set back. Each of the two statements checks and claims in
// a single step, so only one of several concurrent requests succeeds, even across processes. While status is 0 (no
// response yet), body contains the claim's holder.
func (c *Claim) take(ctx context.Context, t *db.Tx, now time.Time) (bool, error) {
	fresh, err := t.Exec(ctx, `INSERT INTO idempotency_keys (workspace_id, key, request_hash, status, body, begun_at, expires_at)
		VALUES (?, ?, ?, 0, ?, ?, ?) ON CONFLICT DO NOTHING`, c.ws, c.key, c.requestHash, c.holder, db.Micros(now), c.expires)
	if err != nil {
		return false, err
	}
	if fresh == 0 {
		err = t.QueryRow(ctx, `UPDATE idempotency_keys SET begun_at = ?, body = ? WHERE workspace_id = ? AND key = ?
			AND request_hash = ? AND status = 0 AND (begun_at <= ? OR begun_at > ?) RETURNING expires_at`,
			db.Micros(now), c.holder, c.ws, c.key, c.requestHash, db.Micros(now.Add(-IdempotencyLease)), db.Micros(now.Add(db.ClockSkew))).Scan(&c.expires)
		if errors.Is(err, sql.ErrNoRows) {
			return false, nil
		}
		c.Repeated = true
	}
	c.Begun = db.FromMicros(c.expires - idempotencyExpiry.Microseconds())
	return err == nil, err
}

// storedResponse returns the stored response for a request that could not claim its key, or an error that explains why
// there is none.
func storedResponse(ctx context.Context, t *db.Tx, ws, key, requestHash string) (*StoredResponse, error) {
	var hash string
	var r StoredResponse
	err := t.QueryRow(ctx, `SELECT request_hash, status, body, content FROM idempotency_keys WHERE workspace_id = ? AND key = ?`,
		ws, key).Scan(&hash, &r.Status, &r.Body, &r.Content)
	switch {
	case errors.Is(err, sql.ErrNoRows): // the key was released in between
	case err != nil:
		return nil, err
	case hash != requestHash:
		return nil, DifferentRequest(key)
	case r.Status != 0:
		return &r, nil
	}
	busy := domain.Errorf(domain.CodeConflict, "the request with Idempotency-Key %q is still in progress; try again shortly", key)
	busy.RetryAfter = idempotencyRetry
	return nil, busy
}

// DifferentRequest returns the error for a key that was already used for a different request.
func DifferentRequest(key string) error {
	return domain.Errorf(domain.CodeConflict, "the Idempotency-Key %q was already used for a different request; use a new one", key)
}

// claimedByHolder selects a claim's row, provided its holder still has the claim.
const claimedByHolder = `workspace_id = ? AND key = ? AND status = 0 AND body = ?`

// KeepIdempotent renews the claim and reports whether the caller still has it. If not, another process may already be
// executing the request.
func (c *Accounts) KeepIdempotent(ctx context.Context, claim *Claim) (holds bool, err error) {
	err = c.db.Update(ctx, "renewing the claim to an idempotency key", func(t *db.Tx) error {
		n, err := t.Exec(ctx, `UPDATE idempotency_keys SET begun_at = ? WHERE `+claimedByHolder, db.Micros(c.db.Now()), claim.ws, claim.key, claim.holder)
		holds = n == 1
		return err
	})
	return holds && err == nil, err
}

// FinishIdempotent stores the request's response until 24 hours after the request began. If the request was executed
// several times, the first execution to finish wins, even if it has lost its claim.
func (c *Accounts) FinishIdempotent(ctx context.Context, claim *Claim, r StoredResponse) error {
	return c.db.Update(ctx, "storing the response to an idempotent request", func(t *db.Tx) error {
		_, err := t.Exec(ctx, `UPDATE idempotency_keys SET status = ?, body = ?, content = ? WHERE workspace_id = ? AND key = ? AND status = 0
			AND request_hash = ? AND expires_at = ?`, r.Status, r.Body, r.Content, claim.ws, claim.key, claim.requestHash, claim.expires)
		return err
	})
}

// ReleaseIdempotent ends an execution that has no response to store but may have changed something. The key stays
// reserved for the same request, which can be retried immediately and then gets a claim with Repeated set.
func (c *Accounts) ReleaseIdempotent(ctx context.Context, claim *Claim) error {
	return c.db.Update(ctx, "releasing the claim to an idempotency key", func(t *db.Tx) error {
		_, err := t.Exec(ctx, `UPDATE idempotency_keys SET begun_at = 0, body = '' WHERE `+claimedByHolder, claim.ws, claim.key, claim.holder)
		return err
	})
}

// AbandonIdempotent ends an execution that changed nothing and frees the key. If claim.Repeated is set, it only
// releases the claim, because an earlier execution may have changed something.
func (c *Accounts) AbandonIdempotent(ctx context.Context, claim *Claim) error {
	if claim.Repeated {
		return c.ReleaseIdempotent(ctx, claim)
	}
	return c.db.Update(ctx, "abandoning the claim to an idempotency key", func(t *db.Tx) error {
		_, err := t.Exec(ctx, `DELETE FROM idempotency_keys WHERE `+claimedByHolder, claim.ws, claim.key, claim.holder)
		return err
	})
}
