package db

import (
	"context"
	"strings"
)

// Statements returns the texts of the statements that were asked so far, before placeholders are numbered.
func (d *DB) Statements() []string {
	var out []string
	for _, p := range []*Pool{d.Read, d.writer} {
		p.texts.Range(func(text, _ any) bool {
			out = append(out, text.(string))
			return true
		})
	}
	return out
}

// Explain returns how the engine would run a statement whatever its arguments are, a step a line. PostgreSQL is asked to
// walk no table if there is another way.
func (d *DB) Explain(ctx context.Context, text string) ([]string, error) {
	args := strings.Count(text, "?")
	if d.IsShared() {
		return d.explainPostgres(ctx, rebind(d.dialect, text), args)
	}
	return Collect(ctx, d.Read, func(s Scanner) (string, error) {
		var id, parent, unused int
		var detail string
		err := s.Scan(&id, &parent, &unused, &detail)
		return detail, err
	}, "EXPLAIN QUERY PLAN "+text, make([]any, args)...)
}

func (d *DB) explainPostgres(ctx context.Context, text string, args int) (steps []string, err error) {
	conn, err := d.write.Conn(ctx)
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
