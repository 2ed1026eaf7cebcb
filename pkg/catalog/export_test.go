package catalog

import (
	"context"
	"errors"
	"maps"
	"strings"
)

// Statements adds the statements prepared so far.
func (c *Catalog) Statements(into map[string]bool) {
	for _, p := range []*pool{c.db.read, c.db.writer} {
		p.mu.Lock()
		for text := range maps.Keys(p.stmts) {
			into[text] = true
		}
		p.mu.Unlock()
	}
}

// Plan returns how SQLite would run the statement, a step a line.
func (c *Catalog) Plan(ctx context.Context, text string) ([]string, error) {
	return collect(ctx, c.db.read, func(s scanner) (string, error) {
		var id, parent, unused int
		var detail string
		err := s.Scan(&id, &parent, &unused, &detail)
		return detail, err
	}, c.db.dialect.plan+text, make([]any, strings.Count(text, "?"))...)
}

// Rebind is rebind for an engine with numbered placeholders.
func Rebind(text string) string { return rebind(dialect{numbered: true}, text) }

// CursorAgain reads a cursor and writes it again; an error when it is none.
func CursorAgain(s string) (string, error) {
	p, err := parseCursor(s)
	return p.cursor(), err
}

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
