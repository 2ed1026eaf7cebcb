package catalog

import (
	"strings"

	"github.com/sluice/sluice/pkg/catalog/cursor"
	"github.com/sluice/sluice/pkg/domain"
)

// Page asks for one page of a list, newest first.
type Page struct {
	Limit  int    // 1 to MaxPageSize; 0 means DefaultPageSize
	Cursor string // the next cursor of the page before, "" for the first
}

// DefaultPageSize and MaxPageSize bound Page.Limit.
const (
	DefaultPageSize = 50
	MaxPageSize     = 200
)

// limit returns the number of items of a page.
func (p Page) limit() (int, error) {
	switch {
	case p.Limit == 0:
		return DefaultPageSize, nil
	case p.Limit < 0 || p.Limit > MaxPageSize:
		return 0, domain.Invalid("limit", "is %d; it must be 1 to %d", p.Limit, MaxPageSize)
	}
	return p.Limit, nil
}

// list builds a SELECT of one page. Conditions are constants of this package, so few texts come of them.
type list struct {
	name           cursor.List
	columns, table string
	where          []string
	args           []any
}

func (l *list) and(condition string, args ...any) {
	l.where = append(l.where, condition)
	l.args = append(l.args, args...)
}

// page finishes the SELECT: one row more than the page holds, to know whether another follows.
func (l *list) page(p Page) (text string, args []any, limit int, err error) {
	if limit, err = p.limit(); err != nil {
		return "", nil, 0, err
	}
	if p.Cursor != "" {
		at, err := cursor.Read(l.name, p.Cursor)
		if err != nil {
			return "", nil, 0, err
		}
		l.and(`(created_at, id) < (?, ?)`, at.At, at.ID)
	}
	text = `SELECT ` + l.columns + ` FROM ` + l.table + ` WHERE ` + strings.Join(l.where, ` AND `) +
		` ORDER BY created_at DESC, id DESC LIMIT ?`
	return text, append(l.args, limit+1), limit, nil
}

// cut drops the row too many and returns the list's cursor of the next page, "" after the last.
func cut[T any](l list, items []T, limit int, at func(T) cursor.Position) ([]T, string) {
	if len(items) <= limit {
		return items, ""
	}
	items = items[:limit]
	return items, cursor.Write(l.name, at(items[limit-1]))
}
