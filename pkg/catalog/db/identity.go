package db

import (
	"context"
	"math"

	"github.com/sluice/sluice/pkg/domain"
)

// IdentityLease is the lease under which the catalog's own id is kept for ever.
const IdentityLease = "catalog"

// ID is the catalog's own id, made when it is first asked for: job streams that belong to another catalog are told by it.
// A copy of the database has the id of the original.
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
