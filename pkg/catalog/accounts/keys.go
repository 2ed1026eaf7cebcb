package accounts

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/domain"
)

// EnsureWorkspace creates the workspace if it does not exist. An existing workspace keeps its name.
func (c *Accounts) EnsureWorkspace(ctx context.Context, id, name string) error {
	return c.db.Update(ctx, "creating a workspace", func(t *db.Tx) error {
		_, err := t.Exec(ctx, `INSERT INTO workspaces (id, name, created_at) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING`,
			id, name, c.db.Stamp())
		return err
	})
}

// WorkspaceName returns a workspace's name.
func (c *Accounts) WorkspaceName(ctx context.Context, id string) (name string, err error) {
	err = c.db.Read.QueryRow(ctx, `SELECT name FROM workspaces WHERE id = ?`, id).Scan(&name)
	return name, db.MapNotFound(err, "workspace", id)
}

// Workspaces returns the ids of all workspaces, sorted.
func (c *Accounts) Workspaces(ctx context.Context) ([]string, error) {
	scan := func(s db.Scanner) (id string, err error) {
		err = s.Scan(&id)
		return id, err
	}
	ids, err := db.Collect(ctx, c.db.Read, scan, `SELECT id FROM workspaces ORDER BY id`)
	if err != nil {
		return nil, fmt.Errorf("listing workspaces: %w", err)
	}
	return ids, nil
}

func keyRow(k *domain.APIKey) db.Row {
	return db.Row{
		db.Fixed("id", &k.ID),
		db.Fixed("workspace_id", &k.WorkspaceID),
		db.Fixed("name", &k.Name),
		db.Fixed("hash", &k.Hash),
		db.Fixed("hint", &k.Hint),
		db.Fixed("scopes", &k.Scopes),
		db.Fixed("agent_id", &k.AgentID),
		db.Fixed("created_at", &k.CreatedAt),
		db.Fixed("last_used_at", &k.LastUsedAt),
		db.Fixed("expires_at", &k.ExpiresAt),
	}
}

var (
	keyColumns    = keyRow(new(domain.APIKey)).Columns("")
	insertKeyText = keyRow(new(domain.APIKey)).InsertText("api_keys")
)

var scanKey = db.ScanRow(keyRow)

// CreateKey stores a key and returns it with CreatedAt set. It fails with domain.CodeConflict if the id or hash already
// exists, and with domain.NotFound if the workspace does not exist.
func (c *Accounts) CreateKey(ctx context.Context, k domain.APIKey) (domain.APIKey, error) {
	k.LastUsedAt, k.ExpiresAt = db.Stored(k.LastUsedAt), db.Stored(k.ExpiresAt)
	err := c.db.Update(ctx, "storing a key", func(t *db.Tx) error {
		k.CreatedAt = db.FromMicros(c.db.Stamp())
		if err := RequireWorkspace(ctx, t, k.WorkspaceID); err != nil {
			return err
		}
		n, err := t.Insert(ctx, insertKeyText, keyRow(&k))
		if err := db.MapConflict(n, err, "key", k.ID); err != nil {
			return err
		}
		return setLimits(ctx, t, domain.Account{WorkspaceID: k.WorkspaceID, KeyID: k.ID}, k.Limits)
	})
	return k, err
}

// Keys returns the workspace's keys, newest first, including expired ones.
func (c *Accounts) Keys(ctx context.Context, ws string) ([]domain.APIKey, error) {
	keys, err := db.Collect(ctx, c.db.Read, scanKey,
		`SELECT `+keyColumns+` FROM api_keys WHERE workspace_id = ? ORDER BY created_at DESC, id DESC`, ws)
	if err != nil {
		return nil, fmt.Errorf("listing keys: %w", err)
	}
	limits, err := db.Collect(ctx, c.db.Read, scanUse, `SELECT key_id, metric, value FROM limits WHERE workspace_id = ?`, ws)
	if err != nil {
		return nil, fmt.Errorf("reading the limits of API keys: %w", err)
	}
	for i := range keys {
		for _, u := range limits {
			if u.key != keys[i].ID {
				continue
			}
			if keys[i].Limits == nil {
				keys[i].Limits = domain.Limits{}
			}
			keys[i].Limits[u.metric] = u.value
		}
	}
	return keys, nil
}

// keyAndLimits selects a key joined with its limits, one row per limit, because every request needs both.
var keyAndLimits = `SELECT ` + keyRow(new(domain.APIKey)).Columns("k.") + `, COALESCE(l.metric, ''), COALESCE(l.value, 0)
	FROM api_keys k LEFT JOIN limits l ON l.workspace_id = k.workspace_id AND l.key_id = k.id WHERE k.hash = ?`

// KeyByHash returns the key whose secret has this hash (see domain.HashKey) unless it has expired. The result is
// shared, so callers must not modify its scopes or limits.
func (c *Accounts) KeyByHash(ctx context.Context, hash string) (domain.APIKey, error) {
	version, cacheable := c.db.Version(ctx)
	k, cached := domain.APIKey{}, false
	if cacheable {
		k, cached = c.keys.get(version, hash)
	}
	if !cached {
		var err error
		if k, err = c.readKey(ctx, hash); err != nil {
			return domain.APIKey{}, err
		}
		if cacheable {
			c.keys.put(version, hash, k)
		}
	}
	if k.ExpiresAt != nil && !k.ExpiresAt.After(c.db.Now()) {
		return domain.APIKey{}, noSuchKey()
	}
	return k, nil
}

func noSuchKey() error { return domain.Errorf(domain.CodeNotFound, "there is no such key") }

// readKey reads the key whose secret has this hash, even if it has expired.
func (c *Accounts) readKey(ctx context.Context, hash string) (domain.APIKey, error) {
	var limits domain.Limits
	rows, err := db.Collect(ctx, c.db.Read, func(s db.Scanner) (domain.APIKey, error) {
		var metric domain.Metric
		var limit int64
		var k domain.APIKey
		err := keyRow(&k).Scan(s, &metric, &limit)
		if metric != "" {
			if limits == nil {
				limits = domain.Limits{}
			}
			limits[metric] = limit
		}
		return k, err
	}, keyAndLimits, hash)
	if err != nil {
		return domain.APIKey{}, fmt.Errorf("looking up a key: %w", err)
	}
	if len(rows) == 0 {
		return domain.APIKey{}, noSuchKey()
	}
	k := rows[0]
	k.Limits = limits
	return k, nil
}

// RevokeKey deletes the key and returns it.
func (c *Accounts) RevokeKey(ctx context.Context, ws, id string) (domain.APIKey, error) {
	var k domain.APIKey
	err := c.db.Update(ctx, "revoking a key", func(t *db.Tx) (err error) {
		k, err = scanKey(t.QueryRow(ctx, `DELETE FROM api_keys WHERE workspace_id = ? AND id = ? RETURNING `+keyColumns, ws, id))
		if err != nil {
			return db.MapNotFound(err, "key", id)
		}
		a := domain.Account{WorkspaceID: ws, KeyID: id}
		if k.Limits, err = readLimits(ctx, t, a); err != nil {
			return err
		}
		return setLimits(ctx, t, a, nil)
	})
	c.lastUses.Delete(id)
	return k, err
}

// Precision of a key's last-used time. Storing every use would cost more than the request itself.
const touchInterval = time.Minute

// TouchKey stores when the key was last used, to the minute. Unknown keys are ignored.
func (c *Accounts) TouchKey(ctx context.Context, id string, at time.Time) error {
	if last, ok := c.lastUses.Load(id); ok && at.Before(last.(time.Time).Add(touchInterval)) {
		return nil
	}
	c.lastUses.Store(id, at)
	return c.db.Update(ctx, "recording the use of an API key", func(t *db.Tx) error {
		_, err := t.Exec(ctx, `UPDATE api_keys SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at < ?)`,
			db.Micros(at), id, db.Micros(at))
		return err
	})
}

// CountKeys counts the keys in all workspaces, including expired ones.
func (c *Accounts) CountKeys(ctx context.Context) (int64, error) {
	var n int64
	if err := c.db.Read.QueryRow(ctx, `SELECT COUNT(*) FROM api_keys`).Scan(&n); err != nil {
		return 0, fmt.Errorf("counting keys: %w", err)
	}
	return n, nil
}

// RequireWorkspace fails with domain.NotFound if the workspace does not exist.
func RequireWorkspace(ctx context.Context, q db.Querier, id string) error {
	var one int
	return db.MapNotFound(q.QueryRow(ctx, `SELECT 1 FROM workspaces WHERE id = ?`, id).Scan(&one), "workspace", id)
}
