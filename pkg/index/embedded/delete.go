package embedded

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"

	"github.com/sluice/sluice/pkg/index"
)

// DeleteGenerations implements index.Index.
func (x *Index) DeleteGenerations(ctx context.Context, id index.Space, datasourceID string, below uint64) error {
	last := storedGeneration(below - 1) // what is kept begins after it
	if below == math.MaxUint64 {
		last = math.MaxInt64
	}
	if below == 0 {
		return nil
	}
	err := x.use(ctx, id, false, func(s *space) error {
		if err := s.deleteUpTo(ctx, datasourceID, last); err != nil {
			return err
		}
		x.mergeLater(s, id)
		return nil
	})
	if err != nil && !errors.Is(err, errNoSpace) {
		return fmt.Errorf("deleting generations of datasource %q: %w", datasourceID, err)
	}
	return nil
}

// deleteUpTo removes a datasource's rows up to a stored generation.
func (s *space) deleteUpTo(ctx context.Context, datasourceID string, last int64) error {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	var some bool
	if err := s.writes.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM rows WHERE datasource = ? AND generation <= ?)`,
		datasourceID, last).Scan(&some); err != nil {
		return fmt.Errorf("looking for rows: %w", corrupt(err))
	}
	if !some {
		return nil
	}
	return s.commit(ctx, func(tx *sql.Tx, next *snapshot) error {
		rows, err := tx.QueryContext(ctx, `DELETE FROM rows WHERE datasource = ? AND generation <= ? RETURNING slot, length, lang`,
			datasourceID, last)
		if err != nil {
			return fmt.Errorf("deleting rows: %w", err)
		}
		live := next.live.edit()
		if err := next.bury(rows, live); err != nil {
			return fmt.Errorf("deleting rows: %w", err)
		}
		next.live = live.done()
		return storeLive(ctx, tx, live)
	})
}
