package catalog

import (
	"context"

	"github.com/sluice/sluice/pkg/catalog/db"
)

// Statements adds the statements asked so far.
func (c *Catalog) Statements(into map[string]bool) {
	for _, text := range c.db.Statements() {
		into[text] = true
	}
}

// Plan returns how the engine would run the statement: see db.DB.Explain.
func (c *Catalog) Plan(ctx context.Context, text string) ([]string, error) {
	return c.db.Explain(ctx, text)
}

// Transact runs a transaction that creates a workspace for each id, calling between with the number of those stored,
// before the next one.
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
