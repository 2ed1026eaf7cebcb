package pipeline

import (
	"context"
	"fmt"

	"github.com/sluice/sluice/pkg/catalog/record"
)

// Waiting counts content that has yet to be processed again, for example after the index was lost.
type Waiting struct {
	Any      bool  // whether the catalog contains any datasources
	Queued   int64 // in the outbox with PriorityReplay; not counted beyond maxWaiting
	InFlight int64 // in the job stream for any reason
}

// maxWaiting is the maximum value of Waiting.Queued.
const maxWaiting = 100_000

// Rebuilding counts queued jobs with PriorityReplay and all jobs in flight.
func (c *Pipeline) Rebuilding(ctx context.Context) (w Waiting, err error) {
	var any int
	err = c.db.Read.QueryRow(ctx, `SELECT (SELECT COUNT(*) FROM (SELECT 1 FROM datasources LIMIT 1) AS s),
		(SELECT COUNT(*) FROM (SELECT 1 FROM outbox WHERE priority = ? LIMIT ?) AS q)`, record.PriorityReplay, maxWaiting).Scan(&any, &w.Queued)
	if err != nil {
		return w, fmt.Errorf("counting documents to re-index: %w", err)
	}
	w.Any = any > 0
	w.InFlight, err = c.InFlight(ctx)
	return w, err
}
