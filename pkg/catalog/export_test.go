package catalog

import (
	"context"
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
