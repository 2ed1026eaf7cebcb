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
func (x *Index) DeleteGenerations(ctx context.Context, id index.Space, datasourceID string, from, below uint64) error {
	if from >= below {
		return nil
	}
	which := doomed{datasource: datasourceID, first: storedGeneration(from), last: storedGeneration(below - 1)}
	if below == math.MaxUint64 {
		which.last = math.MaxInt64
	}
	err := x.use(ctx, id, false, func(s *space) error {
		if err := s.deleteRows(ctx, which); err != nil {
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

// doomed names rows to be deleted: of a datasource, or of all when it is empty, from a stored generation to another, both
// included.
type doomed struct {
	datasource  string
	first, last int64
}

func (d doomed) where() (condition string, args []any) {
	if d.datasource == "" {
		return `generation BETWEEN ? AND ?`, []any{d.first, d.last}
	}
	return `datasource = ? AND generation BETWEEN ? AND ?`, []any{d.datasource, d.first, d.last}
}

func (s *space) deleteRows(ctx context.Context, which doomed) error {
	condition, args := which.where()
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	var some bool
	if err := s.writes.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM rows WHERE `+condition+`)`, args...).Scan(&some); err != nil {
		return fmt.Errorf("looking for rows: %w", corrupt(err))
	}
	if !some {
		return nil
	}
	return s.commit(ctx, func(tx *sql.Tx, next *snapshot) error {
		rows, err := tx.QueryContext(ctx, `DELETE FROM rows WHERE `+condition+` RETURNING slot, length, lang`, args...)
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
