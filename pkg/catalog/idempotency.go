package catalog

import (
	"context"
	"database/sql"
	"errors"
	"time"

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
	// idempotencyLease is how long a request may take before it counts as lost, with the process that had it.
	idempotencyLease = 5 * time.Minute
)

// BeginIdempotent claims an idempotency key for a request, given by a hash of what makes it the same request. A nil
// response means: go on, then FinishIdempotent, or AbandonIdempotent if nothing was done. Otherwise the response is what
// the same request was answered within the last 24 hours. It fails with domain.CodeConflict when the key came with
// another request, or when the same request is being worked on.
func (c *Catalog) BeginIdempotent(ctx context.Context, ws, key, requestHash string) (*StoredResponse, error) {
	var have *StoredResponse
	err := c.update(ctx, "claiming an idempotency key", func(t *tx) error {
		have = nil
		now := c.now()
		if _, err := t.exec(ctx, `DELETE FROM idempotency_keys WHERE expires_at <= ?`, micros(now)); err != nil {
			return err
		}
		// One statement looks and claims, so that of two requests at once, in any processes, one does.
		claimed, err := t.exec(ctx, `INSERT INTO idempotency_keys (workspace_id, key, request_hash, status, body, begun_at, expires_at)
			VALUES (?, ?, ?, 0, '', ?, ?) ON CONFLICT (workspace_id, key) DO UPDATE SET begun_at = excluded.begun_at,
			expires_at = excluded.expires_at WHERE idempotency_keys.request_hash = excluded.request_hash
			AND idempotency_keys.status = 0 AND idempotency_keys.begun_at <= ?`,
			ws, key, requestHash, micros(now), micros(now.Add(idempotencyExpiry)), micros(now.Add(-idempotencyLease)))
		if err != nil || claimed == 1 {
			return err
		}
		var hash string
		var r StoredResponse
		err = t.queryRow(ctx, `SELECT request_hash, status, body FROM idempotency_keys WHERE workspace_id = ? AND key = ?`,
			ws, key).Scan(&hash, &r.Status, &r.Body)
		switch {
		case errors.Is(err, sql.ErrNoRows): // given back in between
		case err != nil:
			return err
		case hash != requestHash:
			return domain.Errorf(domain.CodeConflict, "the Idempotency-Key %q has been used with another request; use a new one", key)
		case r.Status != 0:
			have = &r
			return nil
		}
		return domain.Errorf(domain.CodeConflict, "the request with Idempotency-Key %q is still being worked on; ask again shortly", key)
	})
	return have, err
}

// FinishIdempotent keeps the answer of the request that claimed the key, for 24 hours from its beginning.
func (c *Catalog) FinishIdempotent(ctx context.Context, ws, key string, r StoredResponse) error {
	return c.update(ctx, "keeping an answer", func(t *tx) error {
		_, err := t.exec(ctx, `UPDATE idempotency_keys SET status = ?, body = ? WHERE workspace_id = ? AND key = ? AND status = 0`,
			r.Status, r.Body, ws, key)
		return err
	})
}

// AbandonIdempotent gives the key back when the request came to nothing, so that it can be tried again.
func (c *Catalog) AbandonIdempotent(ctx context.Context, ws, key string) error {
	return c.update(ctx, "giving back an idempotency key", func(t *tx) error {
		_, err := t.exec(ctx, `DELETE FROM idempotency_keys WHERE workspace_id = ? AND key = ? AND status = 0`, ws, key)
		return err
	})
}
