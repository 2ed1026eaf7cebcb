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

// StoredResponse is the answer kept for an idempotency key.
type StoredResponse struct {
	Status int
	Body   string
}

const (
	// idempotencyExpiry is how long an answer is kept to be given again.
	idempotencyExpiry = 24 * time.Hour
	// IdempotencyLease is how long after its last KeepIdempotent a request counts as lost, with the process that had it.
	// Clocks of processes that share a catalog may differ by much less than it.
	IdempotencyLease = 10 * time.Second
	// idempotencyRetry is what the client of a request that is being worked on is told to wait.
	idempotencyRetry = 2 * time.Second
)

// Claim is the right to carry out the request with an idempotency key. Whoever loses it, because it was not kept, may go
// on: what the request makes carries ids that follow from the request, so that two runs of it make it once.
type Claim struct {
	// Repeated says that the request has been begun before and came to no answer: all of it may have been done, or
	// nothing.
	Repeated bool
	// Begun is when it was begun first.
	Begun time.Time

	ws, key, requestHash string
	expires              int64  // microseconds; with the above it tells this request from all others with its key
	holder               string // who may keep, release or abandon the claim
}

// ID is the id of what the request makes that the parts name: the same in every run of it, and no other request's.
func (c *Claim) ID(parts ...string) string {
	return domain.DerivedID(append([]string{"idempotent", c.ws, c.key, c.requestHash, strconv.FormatInt(c.expires, 10)}, parts...)...)
}

// BeginIdempotent claims an idempotency key for a request, given by a hash of what makes it the same request. Either
// there is a claim: go on, call KeepIdempotent well within IdempotencyLease, again and again, and in the end
// FinishIdempotent, ReleaseIdempotent or AbandonIdempotent. Or there is the response that the same request was answered
// within 24 hours of its beginning. It fails with domain.CodeConflict when the key came with another request, or when the
// same request is being worked on.
func (c *Accounts) BeginIdempotent(ctx context.Context, ws, key, requestHash string) (*Claim, *StoredResponse, error) {
	var claim *Claim
	var have *StoredResponse
	err := c.db.Update(ctx, "claiming an idempotency key", func(t *db.Tx) (err error) {
		if _, err := t.Exec(ctx, `DELETE FROM idempotency_keys WHERE expires_at <= ?`, db.Micros(c.db.Aged())); err != nil {
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
		have, err = answered(ctx, t, ws, key, requestHash)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return claim, have, nil
}

// take makes the claim, if the key is free or its request lost. Each statement looks and claims, so that of two requests
// at once, in any processes, one does. As long as the status is 0, body names the holder. A request that was kept at a time
// that is still to come is lost, too, for all that can be known: the clock has been set back.
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

// answered returns the answer of a request that cannot be claimed, or says why there is none.
func answered(ctx context.Context, t *db.Tx, ws, key, requestHash string) (*StoredResponse, error) {
	var hash string
	var r StoredResponse
	err := t.QueryRow(ctx, `SELECT request_hash, status, body FROM idempotency_keys WHERE workspace_id = ? AND key = ?`,
		ws, key).Scan(&hash, &r.Status, &r.Body)
	switch {
	case errors.Is(err, sql.ErrNoRows): // given back in between
	case err != nil:
		return nil, err
	case hash != requestHash:
		return nil, domain.Errorf(domain.CodeConflict, "the Idempotency-Key %q has been used with another request; use a new one", key)
	case r.Status != 0:
		return &r, nil
	}
	busy := domain.Errorf(domain.CodeConflict, "the request with Idempotency-Key %q is still being worked on; ask again shortly", key)
	busy.RetryAfter = idempotencyRetry
	return nil, busy
}

// held is the condition of a claim's row as long as nobody else has taken it.
const held = `workspace_id = ? AND key = ? AND status = 0 AND body = ?`

// KeepIdempotent says that the request is being worked on, and reports whether the claim still holds. When it does not,
// another process has taken the request for lost.
func (c *Accounts) KeepIdempotent(ctx context.Context, claim *Claim) (holds bool, err error) {
	err = c.db.Update(ctx, "keeping an idempotency key", func(t *db.Tx) error {
		n, err := t.Exec(ctx, `UPDATE idempotency_keys SET begun_at = ? WHERE `+held, db.Micros(c.db.Now()), claim.ws, claim.key, claim.holder)
		holds = n == 1
		return err
	})
	return holds && err == nil, err
}

// FinishIdempotent keeps the answer of the request, for 24 hours from its beginning. Of several runs of a request the
// first to finish decides the answer, whoever holds the claim.
func (c *Accounts) FinishIdempotent(ctx context.Context, claim *Claim, r StoredResponse) error {
	return c.db.Update(ctx, "keeping an answer", func(t *db.Tx) error {
		_, err := t.Exec(ctx, `UPDATE idempotency_keys SET status = ?, body = ? WHERE workspace_id = ? AND key = ? AND status = 0
			AND request_hash = ? AND expires_at = ?`, r.Status, r.Body, claim.ws, claim.key, claim.requestHash, claim.expires)
		return err
	})
}

// ReleaseIdempotent lets go of a request that has no answer to keep, though it may have done something: it may be
// repeated at once, as Repeated, and the key stays its own.
func (c *Accounts) ReleaseIdempotent(ctx context.Context, claim *Claim) error {
	return c.db.Update(ctx, "releasing an idempotency key", func(t *db.Tx) error {
		_, err := t.Exec(ctx, `UPDATE idempotency_keys SET begun_at = 0, body = '' WHERE `+held, claim.ws, claim.key, claim.holder)
		return err
	})
}

// AbandonIdempotent gives the key back when the request has done nothing, so that it can be used anew. If an earlier run
// of the request may have done something, it only releases it.
func (c *Accounts) AbandonIdempotent(ctx context.Context, claim *Claim) error {
	if claim.Repeated {
		return c.ReleaseIdempotent(ctx, claim)
	}
	return c.db.Update(ctx, "giving back an idempotency key", func(t *db.Tx) error {
		_, err := t.Exec(ctx, `DELETE FROM idempotency_keys WHERE `+held, claim.ws, claim.key, claim.holder)
		return err
	})
}
