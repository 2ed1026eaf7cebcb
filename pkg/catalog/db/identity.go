package db

import (
	"context"
	"math"

	"github.com/sluice/sluice/pkg/domain"
)

// IdentityLease is a lease that never expires; its holder is the catalog's id.
const IdentityLease = "catalog"

// ID returns the catalog's id, creating it on the first call. The id shows whether a job stream belongs to this
// catalog. A copy of the database has the same id.
func (d *DB) ID(ctx context.Context) (id string, err error) {
	err = d.Update(ctx, "reading the catalog's id", func(t *Tx) error {
		if _, err := t.Exec(ctx, `INSERT INTO leases (name, holder, until) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`,
			IdentityLease, domain.NewID(), int64(math.MaxInt64)); err != nil {
			return err
		}
		id, err = ScanString(t.QueryRow(ctx, `SELECT holder FROM leases WHERE name = ?`, IdentityLease))
		return err
	})
	return id, err
}
