package sites

import (
	"context"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/domain"
)

// Restart queues the job as the datasource's newest one and stores the record.
func (c *Sites) Restart(ctx context.Context, t *db.Tx, r *record.Record, store domain.Datastore, job domain.Job, p record.Priority) error {
	job = r.Accept(job, store)
	if err := Begin(ctx, t, r); err != nil {
		return err
	}
	if err := r.Store(ctx, t, db.Micros(r.UpdatedAt)); err != nil {
		return err
	}
	if err := record.Enqueue(ctx, t, job, p); err != nil {
		return err
	}
	_, err := c.SettleSite(ctx, t, r.GroupID, r.UpdatedAt)
	return err
}
