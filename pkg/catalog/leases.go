package catalog

import (
	"context"
	"time"
)

// clockSkew is more than the clocks of processes that share a catalog may differ by. A time that was set less far ahead than
// it now lies, this and more, was set by a clock that has been set back since.
const clockSkew = 10 * time.Second

// Lease takes the lease for the holder, or renews it, for the time from now on, and reports whether the holder has it:
// for what one of several processes is to do. It goes by the clock of the process, so let clocks differ by much less than
// the time, and renew it well before its end. A lease that lasts for longer than the time, because the clock has been set
// back, is nobody's.
func (c *Catalog) Lease(ctx context.Context, name, holder string, ttl time.Duration) (held bool, err error) {
	err = c.update(ctx, "taking a lease", func(t *tx) error {
		now := c.now()
		n, err := t.exec(ctx, `INSERT INTO leases (name, holder, until) VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET
			holder = excluded.holder, until = excluded.until WHERE leases.holder = excluded.holder OR leases.until <= ? OR leases.until > ?`,
			name, holder, micros(now.Add(ttl)), micros(now), micros(now.Add(ttl+clockSkew)))
		held = n == 1
		return err
	})
	return held && err == nil, err
}

// Release gives the lease back, if the holder has it.
func (c *Catalog) Release(ctx context.Context, name, holder string) error {
	return c.update(ctx, "giving back a lease", func(t *tx) error {
		_, err := t.exec(ctx, `DELETE FROM leases WHERE name = ? AND holder = ?`, name, holder)
		return err
	})
}
