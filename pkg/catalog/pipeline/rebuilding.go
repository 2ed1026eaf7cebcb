package pipeline

import (
	"context"
	"fmt"

	"github.com/sluice/sluice/pkg/catalog/record"
)

// Waiting says what is to be read again.
type Waiting struct {
	Any      bool  // there are datasources at all
	Queued   int64 // in the outbox, behind fresh content; at most maxWaiting
	InFlight int64 // in the job stream, whatever for
}

// maxWaiting bounds what is counted.
const maxWaiting = 100_000

// Rebuilding counts what waits behind fresh content, and what is being worked on.
func (c *Pipeline) Rebuilding(ctx context.Context) (w Waiting, err error) {
	var any int
	err = c.db.Read.QueryRow(ctx, `SELECT (SELECT COUNT(*) FROM (SELECT 1 FROM datasources LIMIT 1) AS s),
		(SELECT COUNT(*) FROM (SELECT 1 FROM outbox WHERE priority = ? LIMIT ?) AS q)`, record.PriorityReplay, maxWaiting).Scan(&any, &w.Queued)
	if err != nil {
		return w, fmt.Errorf("counting what is to be read again: %w", err)
	}
	w.Any = any > 0
	w.InFlight, err = c.InFlight(ctx)
	return w, err
}
