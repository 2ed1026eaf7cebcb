package catalog

import (
	"context"
	"strings"

	"github.com/sluice/sluice/pkg/catalog/db"
)

// Statements adds the statements used so far to the map.
func (c *Catalog) Statements(into map[string]bool) {
	for _, text := range c.db.Statements() {
		into[text] = true
	}
}

// Plan returns the engine's query plan for the statement, one string per step. On PostgreSQL, it first tells the
// planner to avoid table scans where possible.
func (c *Catalog) Plan(ctx context.Context, text string) (steps []string, err error) {
	args := strings.Count(text, "?")
	if !c.db.IsShared() {
		return db.Collect(ctx, c.db.Read, func(s db.Scanner) (string, error) {
			var id, parent, unused int
			var detail string
			err := s.Scan(&id, &parent, &unused, &detail)
			return detail, err
		}, "EXPLAIN QUERY PLAN "+text, make([]any, args)...)
	}
	err = c.db.Update(ctx, "explaining", func(t *db.Tx) error {
		for _, s := range []string{`SET LOCAL enable_seqscan = off`, `SET LOCAL plan_cache_mode = force_generic_plan`, `PREPARE planned AS ` + text} {
			if _, err := t.Exec(ctx, s); err != nil {
				return err
			}
		}
		ask := `EXPLAIN EXECUTE planned`
		if args > 0 {
			ask += `(NULL` + strings.Repeat(`, NULL`, args-1) + `)`
		}
		if steps, err = db.Collect(ctx, t, db.ScanString, ask); err != nil {
			return err
		}
		_, err = t.Exec(ctx, `DEALLOCATE planned`)
		return err
	})
	return steps, err
}

// Transact creates all the workspaces in one transaction and calls between after each of them.
func (c *Catalog) Transact(ctx context.Context, between func(stored int), ids ...string) error {
	return c.db.Update(ctx, "testing", func(t *db.Tx) error {
		for i, id := range ids {
			if _, err := t.Exec(ctx, `INSERT INTO workspaces (id, name, created_at) VALUES (?, ?, 0)`, id, id); err != nil {
				return err
			}
			between(i + 1)
		}
		return nil
	})
}
