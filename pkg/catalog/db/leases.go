package db

import (
	"context"
	"time"
)

// ClockSkew is the maximum difference between the clocks of processes that share a catalog. If a stored time is further
// in the future than this allows, a clock has been set back.
const ClockSkew = 10 * time.Second

// Lease acquires or renews a lease and reports whether the holder has it. Leases are for work that only one process
// should do. A lease expires after ttl unless it is renewed. Lease uses the process's clock, so ttl must be much longer
// than the difference between the processes' clocks. If another holder's lease expires later than ttl plus ClockSkew
// from now, a clock was set back, and the lease counts as free.
func (d *DB) Lease(ctx context.Context, name, holder string, ttl time.Duration) (held bool, err error) {
	err = d.Update(ctx, "taking a lease", func(t *Tx) error {
		now := d.Now()
		n, err := t.Exec(ctx, `INSERT INTO leases (name, holder, until) VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET
			holder = excluded.holder, until = excluded.until WHERE leases.holder = excluded.holder OR leases.until <= ? OR leases.until > ?`,
			name, holder, Micros(now.Add(ttl)), Micros(now), Micros(now.Add(ttl+ClockSkew)))
		held = n == 1
		return err
	})
	return held && err == nil, err
}

// Release gives up the lease if the holder has it.
func (d *DB) Release(ctx context.Context, name, holder string) error {
	return d.Update(ctx, "releasing a lease", func(t *Tx) error {
		_, err := t.Exec(ctx, `DELETE FROM leases WHERE name = ? AND holder = ?`, name, holder)
		return err
	})
}
