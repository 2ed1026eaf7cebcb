package accounts

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/domain"
)

// MonthOf returns the UTC month that t falls in, as stored.
func MonthOf(t time.Time) string { return t.UTC().Format("2006-01") }

// Count adds uses to the account's counters for the current month (UTC), all or nothing. Negative numbers undo uses
// that were counted in advance but did not happen. Concurrent calls share a transaction.
func (c *Accounts) Count(ctx context.Context, a domain.Account, uses map[domain.Metric]int64) error {
	uses = maps.Clone(uses)
	maps.DeleteFunc(uses, func(_ domain.Metric, n int64) bool { return n == 0 })
	if len(uses) == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("counting use: %w", err)
	}
	return c.queue.count(ctx, a, uses, c.storeUses)
}

func (c *Accounts) storeUses(ctx context.Context, sums []accountUses) error {
	return c.db.Update(ctx, "counting use", func(t *db.Tx) error {
		month := MonthOf(c.db.Now())
		for _, s := range sums {
			if err := Count(ctx, t, s.account, month, s.uses); err != nil {
				return err
			}
		}
		return nil
	})
}

// Count adds uses to the counters of a workspace and a key. All transactions lock the counters in the same order to
// avoid deadlocks.
func Count(ctx context.Context, t *db.Tx, a domain.Account, month string, uses map[domain.Metric]int64) error {
	metrics := slices.Sorted(maps.Keys(uses))
	for _, m := range metrics {
		err := t.Queue(ctx, db.Write{Action: "counting the usage of the workspace", Text: `INSERT INTO usage_counts (workspace_id, month, metric, value) VALUES (?, ?, ?, ?)
			ON CONFLICT (workspace_id, month, metric) DO UPDATE SET value = usage_counts.value + excluded.value`,
			Args: []any{a.WorkspaceID, month, m, uses[m]}})
		if err != nil {
			return err
		}
	}
	for _, m := range metrics {
		err := t.Queue(ctx, db.Write{Action: "counting the usage of the key", Text: `INSERT INTO key_usage (workspace_id, month, key_id, metric, value) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (workspace_id, month, key_id, metric) DO UPDATE SET value = key_usage.value + excluded.value`,
			Args: []any{a.WorkspaceID, month, a.KeyID, m, uses[m]}})
		if err != nil {
			return err
		}
	}
	return nil
}

// Admit counts one agent query. If the workspace or the key has reached its query or token limit, Admit counts nothing
// and fails with domain.CodeUsageLimit. It checks and counts in one step, so concurrent callers can't exceed the query
// limit. A query may exceed the token limit, because its tokens are unknown until it is answered.
func (c *Accounts) Admit(ctx context.Context, a domain.Account) error {
	return c.db.Update(ctx, "counting a query", func(t *db.Tx) error {
		month := MonthOf(c.db.Now())
		ofWorkspace, ofKey, err := c.accountLimits(ctx, t, a)
		if err != nil {
			return err
		}
		n, err := t.Exec(ctx, `INSERT INTO usage_counts (workspace_id, month, metric, value) VALUES (?, ?, ?, 1)
			ON CONFLICT (workspace_id, month, metric) DO UPDATE SET value = usage_counts.value + 1 WHERE usage_counts.value < ?`,
			a.WorkspaceID, month, domain.MetricQueries, orUnlimited(ofWorkspace[domain.MetricQueries]))
		if err != nil {
			return err
		}
		if n == 0 {
			return quotaExceeded("workspace", ofWorkspace, domain.MetricQueries)
		}
		n, err = t.Exec(ctx, `INSERT INTO key_usage (workspace_id, month, key_id, metric, value) VALUES (?, ?, ?, ?, 1)
			ON CONFLICT (workspace_id, month, key_id, metric) DO UPDATE SET value = key_usage.value + 1 WHERE key_usage.value < ?`,
			a.WorkspaceID, month, a.KeyID, domain.MetricQueries, orUnlimited(ofKey[domain.MetricQueries]))
		if err != nil {
			return err
		}
		if n == 0 {
			return quotaExceeded("key", ofKey, domain.MetricQueries)
		}
		return checkTokens(ctx, t, a, month, ofWorkspace, ofKey)
	})
}

// checkTokens fails if the workspace or the key has used up its tokens for the month.
func checkTokens(ctx context.Context, t *db.Tx, a domain.Account, month string, ofWorkspace, ofKey domain.Limits) error {
	var used int64
	if limit := ofWorkspace[domain.MetricTokens]; limit > 0 {
		err := t.QueryRow(ctx, `SELECT COALESCE(SUM(value), 0) FROM usage_counts WHERE workspace_id = ? AND month = ? AND metric = ?`,
			a.WorkspaceID, month, domain.MetricTokens).Scan(&used)
		if err != nil {
			return fmt.Errorf("reading the workspace's token usage: %w", err)
		}
		if used >= limit {
			return quotaExceeded("workspace", ofWorkspace, domain.MetricTokens)
		}
	}
	if limit := ofKey[domain.MetricTokens]; limit > 0 {
		err := t.QueryRow(ctx, `SELECT COALESCE(SUM(value), 0) FROM key_usage WHERE workspace_id = ? AND month = ? AND key_id = ? AND metric = ?`,
			a.WorkspaceID, month, a.KeyID, domain.MetricTokens).Scan(&used)
		if err != nil {
			return fmt.Errorf("reading the key's token usage: %w", err)
		}
		if used >= limit {
			return quotaExceeded("key", ofKey, domain.MetricTokens)
		}
	}
	return nil
}

func orUnlimited(limit int64) int64 {
	if limit <= 0 {
		return 1<<63 - 1
	}
	return limit
}

// limitNames maps metrics with monthly limits to their names in error messages.
var limitNames = map[domain.Metric]string{domain.MetricQueries: "agent queries", domain.MetricTokens: "model tokens"}

func quotaExceeded(owner string, limits domain.Limits, m domain.Metric) error {
	return domain.Errorf(domain.CodeUsageLimit, "the %s has reached its limit of %d %s for this month; the count resets next month (UTC)",
		owner, limits[m], limitNames[m])
}

// counter is one metric's usage or limit for a key, or for the whole workspace if key is "".
type counter struct {
	key    string
	metric domain.Metric
	value  int64
}

var scanUse = db.Scan(func(u *counter) []any { return []any{&u.key, &u.metric, &u.value} })

// Usage returns the workspace's counters for the month (UTC) that contains the given time. Metrics with no uses are
// absent.
func (c *Accounts) Usage(ctx context.Context, ws string, month time.Time) (map[domain.Metric]int64, error) {
	if err := c.flushDeferred(ctx); err != nil {
		return nil, fmt.Errorf("reading use: %w", err)
	}
	uses, err := db.Collect(ctx, c.db.Read, scanUse, `SELECT '', metric, value FROM usage_counts WHERE workspace_id = ? AND month = ?`, ws, MonthOf(month))
	if err != nil {
		return nil, fmt.Errorf("reading use: %w", err)
	}
	out := make(map[domain.Metric]int64, len(uses))
	for _, u := range uses {
		out[u.metric] = u.value
	}
	return out, nil
}

// KeyUsage is like Usage but returns counters per key id, including revoked keys. The id "" is for uses without a key.
func (c *Accounts) KeyUsage(ctx context.Context, ws string, month time.Time) (map[string]map[domain.Metric]int64, error) {
	if err := c.flushDeferred(ctx); err != nil {
		return nil, fmt.Errorf("reading use by key: %w", err)
	}
	uses, err := db.Collect(ctx, c.db.Read, scanUse, `SELECT key_id, metric, value FROM key_usage WHERE workspace_id = ? AND month = ?`, ws, MonthOf(month))
	if err != nil {
		return nil, fmt.Errorf("reading use by key: %w", err)
	}
	out := map[string]map[domain.Metric]int64{}
	for _, u := range uses {
		if out[u.key] == nil {
			out[u.key] = map[domain.Metric]int64{}
		}
		out[u.key][u.metric] = u.value
	}
	return out, nil
}
