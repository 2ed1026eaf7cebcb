package maintenance

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/sluice/sluice/pkg/bounded"
	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/domain"
)

// RepairRequest is an operator's request for an api process to run a repair; see control.Repairer.
type RepairRequest struct {
	ID          string
	Prune       bool // delete datasources that have lost both their rows and their original
	RequestedAt time.Time
}

// requestRow returns a repair request's columns.
func requestRow(r *RepairRequest) db.Row {
	return db.Row{db.ReadOnly("id", &r.ID), db.ReadOnly("prune", &r.Prune), db.ReadOnly("requested_at", &r.RequestedAt)}
}

// RepairState is a repair's state.
type RepairState struct {
	RepairRequest
	Holder     string // last process that worked on the repair; "" if there was none
	FinishedAt *time.Time
	Error      string   // what failed; "" if nothing failed or the repair is not finished
	Lines      []string // the report, in chronological order
}

const (
	// If a repair's holder does not call AddRepairLines for this long, another process may take over.
	repairTimeout = time.Minute
	// How long finished repairs are kept.
	repairRetention = 30 * 24 * time.Hour
	// Limits on a repair's report. If lines are dropped, an extra line says so.
	maxRepairLines = 2000
	maxRepairLine  = 2000 // bytes
)

// RequestRepair stores a request for a repair and returns its id.
func (c *Maintenance) RequestRepair(ctx context.Context, prune bool) (id string, err error) {
	id = domain.NewID()
	err = c.db.Update(ctx, "requesting a repair", func(t *db.Tx) error {
		now := c.db.Now()
		_, err := t.Exec(ctx, `INSERT INTO repairs (id, prune, requested_at, holder, beat_at, error) VALUES (?, ?, ?, '', 0, '')`,
			id, db.Flag(prune), db.Micros(now))
		if err != nil {
			return err
		}
		_, err = t.Exec(ctx, `DELETE FROM repairs WHERE finished_at IS NOT NULL AND finished_at < ?`, db.Micros(now.Add(-repairRetention)))
		return err
	})
	return id, err
}

// ClaimRepair assigns the oldest unfinished request to the holder. It returns nil if there is none or if another repair
// is in progress. A holder that does not call AddRepairLines for a minute loses its repair.
func (c *Maintenance) ClaimRepair(ctx context.Context, holder string) (*RepairRequest, error) {
	if r, err := c.openRepair(ctx, c.db.Read); err != nil || r == nil {
		return nil, err // this is called often and usually finds none, so check first without a transaction
	}
	var claimed *RepairRequest
	err := c.db.Update(ctx, "claiming a repair", func(t *db.Tx) error {
		claimed = nil
		if err := t.LockCreation(ctx, "repairs", ""); err != nil {
			return err
		}
		r, err := c.openRepair(ctx, t)
		if err != nil || r == nil {
			return err
		}
		claimed = r
		_, err = t.Exec(ctx, `UPDATE repairs SET holder = ?, beat_at = ? WHERE id = ?`, holder, db.Micros(c.db.Now()), r.ID)
		return err
	})
	if err != nil {
		return nil, err
	}
	return claimed, nil
}

// openRepair returns the oldest unfinished repair. It returns nil if there is none or if a repair is in progress.
func (c *Maintenance) openRepair(ctx context.Context, q db.Querier) (*RepairRequest, error) {
	type item struct {
		RepairRequest
		beatAt int64
	}
	row := func(v *item) db.Row { return append(requestRow(&v.RepairRequest), db.ReadOnly("beat_at", &v.beatAt)) }
	open, err := db.Collect(ctx, q, func(s db.Scanner) (v item, err error) {
		err = row(&v).Scan(s)
		return v, err
	}, `SELECT `+row(new(item)).Columns("")+` FROM repairs WHERE finished_at IS NULL ORDER BY requested_at, id`)
	if err != nil {
		return nil, fmt.Errorf("looking for repairs: %w", err)
	}
	now := c.db.Now()
	since, until := db.Micros(now.Add(-repairTimeout)), db.Micros(now.Add(db.ClockSkew))
	for _, v := range open {
		if v.beatAt > since && v.beatAt <= until {
			return nil, nil
		}
	}
	if len(open) == 0 {
		return nil, nil
	}
	return &open[0].RepairRequest, nil
}

// AddRepairLines adds lines to the repair's report and renews its claim. It fails with domain.NotFound if the repair
// does not exist or is finished.
func (c *Maintenance) AddRepairLines(ctx context.Context, id string, lines ...string) error {
	return c.db.Update(ctx, "storing the results of a repair", func(t *db.Tx) error {
		n, err := t.Exec(ctx, `UPDATE repairs SET beat_at = ? WHERE id = ? AND finished_at IS NULL`, db.Micros(c.db.Now()), id)
		if err != nil {
			return err
		}
		if n == 0 {
			return domain.NotFound("unfinished repair", id)
		}
		if len(lines) == 0 {
			return nil
		}
		var have int
		if err := t.QueryRow(ctx, `SELECT COUNT(*) FROM repair_notes WHERE repair_id = ?`, id).Scan(&have); err != nil {
			return err
		}
		for _, line := range lines {
			switch {
			case have > maxRepairLines:
				return nil
			case have == maxRepairLines:
				line = "See the log for the remaining results."
			}
			if _, err := t.Exec(ctx, `INSERT INTO repair_notes (repair_id, seq, line) VALUES (?, ?, ?)`, id, have, shorten(line)); err != nil {
				return err
			}
			have++
		}
		return nil
	})
}

func shorten(line string) string {
	if len(line) <= maxRepairLine {
		return line
	}
	return bounded.Prefix(line, maxRepairLine) + "…"
}

// FinishRepair ends a repair. failure is the error, or "" on success. A finished repair does not change.
func (c *Maintenance) FinishRepair(ctx context.Context, id, failure string) error {
	return c.db.Update(ctx, "finishing a repair", func(t *db.Tx) error {
		_, err := t.Exec(ctx, `UPDATE repairs SET finished_at = ?, error = ? WHERE id = ? AND finished_at IS NULL`,
			db.Micros(c.db.Now()), failure, id)
		return err
	})
}

// Repair returns a repair's state.
func (c *Maintenance) Repair(ctx context.Context, id string) (RepairState, error) {
	s := RepairState{RepairRequest: RepairRequest{ID: id}}
	row := append(requestRow(&s.RepairRequest), db.ReadOnly("holder", &s.Holder), db.ReadOnly("finished_at", &s.FinishedAt), db.ReadOnly("error", &s.Error))
	err := row.Scan(c.db.Read.QueryRow(ctx, `SELECT `+row.Columns("")+` FROM repairs WHERE id = ?`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return RepairState{}, domain.NotFound("repair", id)
	}
	if err != nil {
		return RepairState{}, fmt.Errorf("reading a repair: %w", err)
	}
	s.Lines, err = db.Collect(ctx, c.db.Read, db.ScanString, `SELECT line FROM repair_notes WHERE repair_id = ? ORDER BY seq`, id)
	if err != nil {
		return RepairState{}, fmt.Errorf("reading the results of a repair: %w", err)
	}
	return s, nil
}
