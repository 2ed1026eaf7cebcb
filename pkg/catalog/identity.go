package catalog

import (
	"context"
	"math"

	"github.com/sluice/sluice/pkg/domain"
)

// identity is the lease under which the catalog's own id is kept for ever.
const identity = "catalog"

// ID is the catalog's own id, made when it is first asked for: job streams that belong to another catalog are told by it.
// A copy of the database has the id of the original.
func (c *Catalog) ID(ctx context.Context) (id string, err error) {
	err = c.update(ctx, "reading the catalog's id", func(t *tx) error {
		if _, err := t.exec(ctx, `INSERT INTO leases (name, holder, until) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`,
			identity, domain.NewID(), int64(math.MaxInt64)); err != nil {
			return err
		}
		id, err = scanString(t.queryRow(ctx, `SELECT holder FROM leases WHERE name = ?`, identity))
		return err
	})
	return id, err
}
