package store

import (
	"context"
	"database/sql"
	"fmt"
	"math"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/bitmap"
)

// rowsPerDeletion is how many deleted rows end a commit: those who write wait for it.
const rowsPerDeletion = 10_000

// DeleteGenerations deletes what is named, in one commit or several.
func (s *Space) DeleteGenerations(ctx context.Context, which []index.Generations) error {
	var rest []deletion
	for _, g := range which {
		rest = append(rest, deletionOf(g))
	}
	for len(rest) > 0 {
		var err error
		if rest, err = s.deleteRows(ctx, rest); err != nil {
			return err
		}
	}
	return nil
}

// deletion names rows to be deleted: of a datasource, or of all when it is empty, from a stored generation to another, both
// included.
type deletion struct {
	datasource  string
	first, last int64
}

func deletionOf(g index.Generations) deletion {
	d := deletion{datasource: g.DatasourceID, first: storedGeneration(g.From), last: storedGeneration(g.Below - 1)}
	if g.Below == math.MaxUint64 {
		d.last = math.MaxInt64
	}
	return d
}

func (d deletion) where() (condition string, args []any) {
	if d.datasource == "" {
		return `generation BETWEEN ? AND ?`, []any{d.first, d.last}
	}
	return `datasource = ? AND generation BETWEEN ? AND ?`, []any{d.datasource, d.first, d.last}
}

// deleteRows deletes in one commit, and returns those of which rows are left for the next.
func (s *Space) deleteRows(ctx context.Context, which []deletion) (rest []deletion, err error) {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	if which, err = s.withRows(ctx, which); err != nil || len(which) == 0 {
		return nil, err
	}
	err = s.commit(ctx, func(tx *sql.Tx, next *Snapshot) error {
		rest = which
		live, rows := next.Live.Edit(), next.Rows
		for len(rest) > 0 && rows-next.Rows < rowsPerDeletion {
			if err := next.deleteFrom(ctx, tx, rest[0], live); err != nil {
				return fmt.Errorf("deleting rows: %w", err)
			}
			rest = rest[1:]
		}
		next.Live = live.Done()
		return storeChunks(ctx, tx, "live", live)
	})
	return rest, err
}

// withRows drops those from the front of a list that no row belongs to: so a list of none makes no commit.
func (s *Space) withRows(ctx context.Context, which []deletion) ([]deletion, error) {
	for ; len(which) > 0; which = which[1:] {
		condition, args := which[0].where()
		var some bool
		if err := s.writes.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM rows WHERE `+condition+`)`, args...).Scan(&some); err != nil {
			return nil, fmt.Errorf("looking for rows: %w", corrupt(err))
		}
		if some {
			break
		}
	}
	return which, nil
}

func (s *Snapshot) deleteFrom(ctx context.Context, tx *sql.Tx, which deletion, live *bitmap.Edit) error {
	condition, args := which.where()
	rows, err := tx.QueryContext(ctx, `DELETE FROM rows WHERE `+condition+` RETURNING slot, length, lang`, args...)
	if err != nil {
		return err
	}
	return s.bury(rows, live)
}
