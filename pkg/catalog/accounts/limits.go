package accounts

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/domain"
)

// Limits returns the account's own limits as set with SetLimits: the key's if a.KeyID is set, otherwise the
// workspace's. Options.Limits are not included. The key doesn't have to exist.
func (c *Accounts) Limits(ctx context.Context, a domain.Account) (domain.Limits, error) {
	return readLimits(ctx, c.db.Read, a)
}

func readLimits(ctx context.Context, q db.Querier, a domain.Account) (domain.Limits, error) {
	uses, err := db.Collect(ctx, q, scanUse, `SELECT key_id, metric, value FROM limits WHERE workspace_id = ? AND key_id = ?`, a.WorkspaceID, a.KeyID)
	if err != nil {
		return nil, fmt.Errorf("reading limits: %w", err)
	}
	var out domain.Limits
	for _, u := range uses {
		if out == nil {
			out = domain.Limits{}
		}
		out[u.metric] = u.value
	}
	return out, nil
}

// SetLimits replaces the workspace's limits or, if a.KeyID is set, that key's limits. It fails with domain.NotFound if
// the workspace or key does not exist. Options.Limits still apply; the lower limit wins.
func (c *Accounts) SetLimits(ctx context.Context, a domain.Account, limits domain.Limits) error {
	return c.db.Update(ctx, "setting limits", func(t *db.Tx) error {
		if a.KeyID == "" {
			if err := RequireWorkspace(ctx, t, a.WorkspaceID); err != nil {
				return err
			}
		} else {
			var one int
			err := t.QueryRow(ctx, `SELECT 1 FROM api_keys WHERE workspace_id = ? AND id = ?`+t.Lock, a.WorkspaceID, a.KeyID).Scan(&one)
			if err := db.MapNotFound(err, "key", a.KeyID); err != nil {
				return err
			}
		}
		return setLimits(ctx, t, a, limits)
	})
}

func setLimits(ctx context.Context, t *db.Tx, a domain.Account, limits domain.Limits) error {
	if _, err := t.Exec(ctx, `DELETE FROM limits WHERE workspace_id = ? AND key_id = ?`, a.WorkspaceID, a.KeyID); err != nil {
		return err
	}
	for _, m := range slices.Sorted(maps.Keys(limits)) {
		if limits[m] <= 0 {
			continue
		}
		_, err := t.Exec(ctx, `INSERT INTO limits (workspace_id, key_id, metric, value) VALUES (?, ?, ?, ?)
			ON CONFLICT (workspace_id, key_id, metric) DO UPDATE SET value = excluded.value`, a.WorkspaceID, a.KeyID, m, limits[m])
		if err != nil {
			return err
		}
	}
	return nil
}

// accountLimits returns the workspace's limits, combined with Options.Limits, and the key's own limits.
func (c *Accounts) accountLimits(ctx context.Context, q db.Querier, a domain.Account) (ofWorkspace, ofKey domain.Limits, err error) {
	set, err := readLimits(ctx, q, domain.Account{WorkspaceID: a.WorkspaceID})
	if err != nil {
		return nil, nil, err
	}
	if a.KeyID != "" {
		if ofKey, err = readLimits(ctx, q, a); err != nil {
			return nil, nil, err
		}
	}
	return c.limits.Stricter(set), ofKey, nil
}

// LimitsInForce returns the workspace's effective limits: for each metric, the lower of Options.Limits and its own.
func (c *Accounts) LimitsInForce(ctx context.Context, ws string) (domain.Limits, error) {
	limits, _, err := c.accountLimits(ctx, c.db.Read, domain.Account{WorkspaceID: ws})
	return limits, err
}

// Stored returns the workspace's number of searchable chunks and the size of its content in bytes.
func (c *Accounts) Stored(ctx context.Context, ws string) (chunks, bytes int64, err error) {
	return readStored(ctx, c.db.Read, ws)
}

func readStored(ctx context.Context, q db.Querier, ws string) (chunks, bytes int64, err error) {
	err = q.QueryRow(ctx, `SELECT CAST(COALESCE(SUM(chunks), 0) AS BIGINT), CAST(COALESCE(SUM(original_bytes), 0) AS BIGINT)
		FROM datasources WHERE workspace_id = ?`, ws).Scan(&chunks, &bytes)
	if err != nil {
		return 0, 0, fmt.Errorf("measuring the stored content: %w", err)
	}
	var files, parts int64
	err = q.QueryRow(ctx, `SELECT CAST(COALESCE((SELECT SUM(original_bytes) FROM files WHERE workspace_id = ?), 0) AS BIGINT),
		CAST(COALESCE((SELECT SUM(original_bytes) FROM upload_parts WHERE workspace_id = ?), 0) AS BIGINT)`, ws, ws).Scan(&files, &parts)
	if err != nil {
		return 0, 0, fmt.Errorf("measuring the stored files: %w", err)
	}
	return chunks, bytes + files + parts, nil
}

// CheckStorage fails with domain.CodeUsageLimit if the workspace has reached a storage limit. Call it before a client
// uploads content that would only be rejected. WithinStorage checks again when the content is stored, because other
// uploads may have finished in the meantime.
func (c *Accounts) CheckStorage(ctx context.Context, ws string) error {
	limits, _, err := c.accountLimits(ctx, c.db.Read, domain.Account{WorkspaceID: ws})
	if err != nil || !limitsStorage(limits) {
		return err
	}
	chunks, bytes, err := readStored(ctx, c.db.Read, ws)
	if err != nil {
		return err
	}
	if limit := limits[domain.MetricStoredBytes]; limit > 0 && bytes >= limit {
		return limitReached("bytes", limit, bytes)
	}
	return checkChunks(limits, chunks)
}

func limitsStorage(limits domain.Limits) bool {
	return limits[domain.MetricStoredBytes] > 0 || limits[domain.MetricStoredChunks] > 0
}

// checkChunks fails if the workspace has reached its chunk limit. A single upload may take a workspace past the limit,
// because the number of chunks isn't known until the content has been read.
func checkChunks(limits domain.Limits, chunks int64) error {
	if limit := limits[domain.MetricStoredChunks]; limit > 0 && chunks >= limit {
		return limitReached("chunks", limit, chunks)
	}
	return nil
}

func limitReached(noun string, limit, has int64) error {
	return domain.Errorf(domain.CodeUsageLimit, "this would exceed the workspace's limit of %d %s (it has %d); delete datasources, or ask for a higher limit",
		limit, noun, has)
}

// WithinStorage runs f, which stores content in the workspace, and fails with domain.CodeUsageLimit if the workspace
// then exceeds a storage limit. It never rejects a call that adds no content. Calls for the same workspace are
// serialised, so concurrent uploads can't exceed the limit together. WithinStorage must be the first call in its
// transaction; see the lock order in record/locks.go.
func (c *Accounts) WithinStorage(ctx context.Context, t *db.Tx, ws string, f func() error) error {
	limits, _, err := c.accountLimits(ctx, t, domain.Account{WorkspaceID: ws})
	if err != nil {
		return err
	}
	if !limitsStorage(limits) {
		return f()
	}
	if err := t.LockCreation(ctx, "storage", ws); err != nil {
		return err
	}
	chunks, before, err := readStored(ctx, t, ws)
	if err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	_, after, err := readStored(ctx, t, ws)
	if err != nil || after <= before {
		return err
	}
	if limit := limits[domain.MetricStoredBytes]; limit > 0 && after > limit {
		return limitReached("bytes", limit, before)
	}
	return checkChunks(limits, chunks)
}
