package db

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// key returns the key for a PostgreSQL advisory lock. A collision is harmless: the transactions just wait for each
// other.
func (d *DB) key(kind, name string) int64 {
	sum := sha256.Sum256([]byte(strings.Join([]string{"sluice", d.scope, kind, name}, "\x1f")))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}

// LockShared takes a shared lock on each name until the transaction ends. It waits for exclusive holders and blocks new
// exclusive holders. On SQLite it does nothing, because write transactions never overlap.
func (t *Tx) LockShared(ctx context.Context, kind string, names ...string) error {
	return t.gates(ctx, `SELECT pg_advisory_xact_lock_shared(k) FROM unnest(CAST(? AS BIGINT[])) AS k`, kind, names)
}

// LockExclusive takes an exclusive lock on the name until the transaction ends. It waits for all shared holders and
// blocks new holders of either kind.
func (t *Tx) LockExclusive(ctx context.Context, kind, name string) error {
	return t.gates(ctx, `SELECT pg_advisory_xact_lock(k) FROM unnest(CAST(? AS BIGINT[])) AS k`, kind, []string{name})
}

func (t *Tx) gates(ctx context.Context, text, kind string, names []string) error {
	if !t.IsShared() {
		return nil
	}
	var keys []int64
	for _, name := range names {
		if k := t.db.key(kind, name); !t.locks[k] {
			t.locks[k] = true
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	slices.Sort(keys)
	if _, err := t.Exec(ctx, text, keys); err != nil {
		return fmt.Errorf("waiting for a %s: %w", kind, err)
	}
	return nil
}

// LockCreation serialises transactions that pass the same kind and name. Use it in a transaction that looks for rows
// and then creates those that don't exist.
func (t *Tx) LockCreation(ctx context.Context, kind, name string) error {
	if !t.IsShared() {
		return nil
	}
	if _, err := t.Exec(ctx, `SELECT pg_advisory_xact_lock(?)`, t.db.key(kind, name)); err != nil {
		return fmt.Errorf("waiting for other %s: %w", kind, err)
	}
	return nil
}
