package catalog

import (
	"context"
	"errors"
	"strings"
)

// Statements adds the statements asked so far.
func (c *Catalog) Statements(into map[string]bool) {
	for _, p := range []*pool{c.db.read, c.db.writer} {
		p.texts.Range(func(text, _ any) bool {
			into[text.(string)] = true
			return true
		})
	}
}

// Plan returns how the engine would run the statement whatever its arguments are, a step a line. PostgreSQL is asked to
// walk no table if there is another way.
func (c *Catalog) Plan(ctx context.Context, text string) ([]string, error) {
	if c.db.dialect.shared {
		return c.planPostgres(ctx, rebind(c.db.dialect, text), strings.Count(text, "?"))
	}
	return collect(ctx, c.db.read, func(s scanner) (string, error) {
		var id, parent, unused int
		var detail string
		err := s.Scan(&id, &parent, &unused, &detail)
		return detail, err
	}, "EXPLAIN QUERY PLAN "+text, make([]any, strings.Count(text, "?"))...)
}

func (c *Catalog) planPostgres(ctx context.Context, text string, args int) (steps []string, err error) {
	conn, err := c.db.write.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	for _, s := range []string{`SET enable_seqscan = off`, `SET plan_cache_mode = force_generic_plan`, `PREPARE planned AS ` + text} {
		if _, err := conn.ExecContext(ctx, s); err != nil {
			return nil, err
		}
	}
	ask := `EXPLAIN EXECUTE planned`
	if args > 0 {
		ask += `(NULL` + strings.Repeat(`, NULL`, args-1) + `)`
	}
	rows, err := conn.QueryContext(ctx, ask)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var step string
		if err := rows.Scan(&step); err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	if err := rows.Err(); err != nil { // all are read, and with the last one they were closed
		return nil, err
	}
	_, err = conn.ExecContext(ctx, `DEALLOCATE planned`)
	return steps, err
}

// Rebind is rebind for an engine with numbered placeholders.
func Rebind(text string) string { return rebind(dialect{numbered: true}, text) }

// CheckServer is checkServer.
var CheckServer = checkServer

// Transact runs a transaction that creates a workspace for each id, calling between with the number of those stored,
// before the next one.
func (c *Catalog) Transact(ctx context.Context, between func(stored int), ids ...string) error {
	return c.update(ctx, "testing", func(t *tx) error {
		for i, id := range ids {
			if _, err := t.exec(ctx, `INSERT INTO workspaces (id, name, created_at) VALUES (?, ?, 0)`, id, id); err != nil {
				return err
			}
			between(i + 1)
		}
		return nil
	})
}

// MigrateTo brings an empty database to a version of the schema.
func MigrateTo(ctx context.Context, o Options, version int64) error {
	d, err := openDatabase(ctx, o)
	if err != nil {
		return err
	}
	p, _, err := migrator(ctx, d.dialect.goose, d.write)
	if err == nil {
		_, err = p.UpTo(ctx, version)
	}
	return errors.Join(err, d.close())
}
