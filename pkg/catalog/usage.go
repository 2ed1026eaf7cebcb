package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

func monthOf(t time.Time) string { return t.UTC().Format("2006-01") }

// Count adds n to the workspace's counter of the current month (UTC).
func (c *Catalog) Count(ctx context.Context, ws string, m domain.Metric, n int64) error {
	return c.update(ctx, "counting use", func(t *tx) error {
		_, err := t.exec(ctx, `INSERT INTO usage_counts (workspace_id, month, metric, value) VALUES (?, ?, ?, ?)
			ON CONFLICT (workspace_id, month, metric) DO UPDATE SET value = usage_counts.value + excluded.value`,
			ws, monthOf(c.now()), m, n)
		return err
	})
}

// Consume adds n to the workspace's counter of the current month (UTC) if it then is at most limit, and reports whether
// it did; a limit of 0 never refuses. Checking and adding are one step: however many ask at once, no more pass.
func (c *Catalog) Consume(ctx context.Context, ws string, m domain.Metric, n, limit int64) (bool, error) {
	if limit <= 0 {
		return true, c.Count(ctx, ws, m, n)
	}
	if n > limit {
		return false, nil
	}
	passed := false
	err := c.update(ctx, "counting use", func(t *tx) error {
		rows, err := t.exec(ctx, `INSERT INTO usage_counts (workspace_id, month, metric, value) VALUES (?, ?, ?, ?)
			ON CONFLICT (workspace_id, month, metric) DO UPDATE SET value = usage_counts.value + excluded.value
			WHERE usage_counts.value + excluded.value <= ?`, ws, monthOf(c.now()), m, n, limit)
		passed = rows == 1
		return err
	})
	return passed && err == nil, err
}

// Usage returns the workspace's counters of the month (UTC) that the time lies in. What was never counted is absent.
func (c *Catalog) Usage(ctx context.Context, ws string, month time.Time) (map[domain.Metric]int64, error) {
	type count struct {
		metric domain.Metric
		value  int64
	}
	counts, err := collect(ctx, c.db.read, func(s scanner) (n count, err error) {
		err = s.Scan(&n.metric, &n.value)
		return n, err
	}, `SELECT metric, value FROM usage_counts WHERE workspace_id = ? AND month = ?`, ws, monthOf(month))
	if err != nil {
		return nil, fmt.Errorf("reading use: %w", err)
	}
	out := make(map[domain.Metric]int64, len(counts))
	for _, n := range counts {
		out[n.metric] = n.value
	}
	return out, nil
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
		now := c.now()
		if _, err := t.exec(ctx, `DELETE FROM idempotency_keys WHERE expires_at <= ?`, micros(now)); err != nil {
			return err
		}
		var hash string
		var r StoredResponse
		var begunAt int64
		err := t.queryRow(ctx, `SELECT request_hash, status, body, begun_at FROM idempotency_keys WHERE workspace_id = ? AND key = ?`+t.lock,
			ws, key).Scan(&hash, &r.Status, &r.Body, &begunAt)
		switch {
		case errors.Is(err, sql.ErrNoRows):
		case err != nil:
			return err
		case hash != requestHash:
			return domain.Errorf(domain.CodeConflict, "the Idempotency-Key %q has been used with another request; use a new one", key)
		case r.Status != 0:
			have = &r
			return nil
		case now.Before(fromMicros(begunAt).Add(idempotencyLease)):
			return domain.Errorf(domain.CodeConflict, "the request with Idempotency-Key %q is still being worked on; ask again shortly", key)
		}
		_, err = t.exec(ctx, `INSERT INTO idempotency_keys (workspace_id, key, request_hash, status, body, begun_at, expires_at)
			VALUES (?, ?, ?, 0, '', ?, ?) ON CONFLICT (workspace_id, key) DO UPDATE SET begun_at = excluded.begun_at,
			expires_at = excluded.expires_at`, ws, key, requestHash, micros(now), micros(now.Add(idempotencyExpiry)))
		return err
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
