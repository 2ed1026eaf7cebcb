package db

import (
	"context"
	"time"
)

// ClockSkew is more than the clocks of processes that share a catalog may differ by. A time that was set less far ahead than
// it now lies, this and more, was set by a clock that has been set back since.
const ClockSkew = 10 * time.Second

// Lease takes the lease for the holder, or renews it, for the time from now on, and reports whether the holder has it:
// for what one of several processes is to do. It goes by the clock of the process, so let clocks differ by much less than
// the time, and renew it well before its end. A lease that lasts for longer than the time, because the clock has been set
// back, is nobody's.
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

// Release gives the lease back, if the holder has it.
func (d *DB) Release(ctx context.Context, name, holder string) error {
	return d.Update(ctx, "giving back a lease", func(t *Tx) error {
		_, err := t.Exec(ctx, `DELETE FROM leases WHERE name = ? AND holder = ?`, name, holder)
		return err
	})
}
