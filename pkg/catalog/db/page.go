package db

import (
	"strings"

	"github.com/sluice/sluice/pkg/catalog/cursor"
	"github.com/sluice/sluice/pkg/domain"
)

// LikeLiteral escapes LIKE wildcards. The escape character is "!".
var LikeLiteral = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")

// Page requests one page of a list, newest first.
type Page struct {
	Limit  int    // 1 to MaxPageSize; 0 means DefaultPageSize
	Cursor string // cursor returned with the previous page; "" for the first page
}

// Default and maximum for Page.Limit.
const (
	DefaultPageSize = 50
	MaxPageSize     = 200
)

func (p Page) limit() (int, error) {
	switch {
	case p.Limit == 0:
		return DefaultPageSize, nil
	case p.Limit < 0 || p.Limit > MaxPageSize:
		return 0, domain.Invalid("limit", "is %d; it must be between 1 and %d", p.Limit, MaxPageSize)
	}
	return p.Limit, nil
}

// List builds a SELECT for one page of a list. Conditions must be constant SQL with placeholders for values, to keep
// the number of prepared statements small.
type List struct {
	Name           cursor.List
	Columns, Table string
	Where          []string
	Args           []any
}

// And adds a condition and its arguments.
func (l *List) And(condition string, args ...any) {
	l.Where = append(l.Where, condition)
	l.Args = append(l.Args, args...)
}

// Page completes the SELECT. It asks for one extra row, which shows whether another page follows.
func (l *List) Page(p Page) (text string, args []any, limit int, err error) {
	if limit, err = p.limit(); err != nil {
		return "", nil, 0, err
	}
	if p.Cursor != "" {
		at, err := cursor.Read(l.Name, p.Cursor)
		if err != nil {
			return "", nil, 0, err
		}
		l.And(`(created_at, id) < (?, ?)`, at.At, at.ID)
	}
	text = `SELECT ` + l.Columns + ` FROM ` + l.Table + ` WHERE ` + strings.Join(l.Where, ` AND `) +
		` ORDER BY created_at DESC, id DESC LIMIT ?`
	return text, append(l.Args, limit+1), limit, nil
}

// CutPage drops Page's extra row and returns the next page's cursor, or "" after the last page.
func CutPage[T any](l List, items []T, limit int, at func(T) cursor.Position) ([]T, string) {
	if len(items) <= limit {
		return items, ""
	}
	items = items[:limit]
	return items, cursor.Write(l.Name, at(items[limit-1]))
}
