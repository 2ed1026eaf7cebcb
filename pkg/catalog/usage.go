package catalog

import (
	"context"
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
