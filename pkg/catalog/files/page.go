package files

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/domain"
)

// Page requests one page of a list that is ordered by creation time, newest first unless Ascending is set. If After is
// set, the page follows the object with that id. If Before is set, the page precedes the object with that id.
type Page struct {
	Limit         int
	Ascending     bool
	After, Before string
}

// position is an object's position in a list ordered by creation time.
type position struct {
	at int64
	id string
}

// list reads a page. more reports whether there are further objects in the direction of reading, which is backwards if
// p.Before is set. find returns the position of the object whose id is p.After or p.Before.
func list[T any](ctx context.Context, q db.Querier, l db.List, p Page, scan func(db.Scanner) (T, error), find func(id string) (position, error)) (page []T, more bool, err error) {
	return listBy(ctx, q, l, `created_at, id`, p, scan, find)
}

// listBy is like list, but the objects are ordered by the given columns.
func listBy[T any](ctx context.Context, q db.Querier, l db.List, columns string, p Page, scan func(db.Scanner) (T, error), find func(id string) (position, error)) (page []T, more bool, err error) {
	field, id := "after", p.After
	ascending := p.Ascending
	if p.Before != "" { // read backwards from the object
		field, id, ascending = "before", p.Before, !p.Ascending
	}
	if id != "" {
		at, err := find(id)
		if domain.CodeOf(err) == domain.CodeNotFound {
			return nil, false, domain.Invalid(field, "is not the id of an object in this list; it may have been deleted, so list again from the beginning")
		}
		if err != nil {
			return nil, false, err
		}
		sign := `<`
		if ascending {
			sign = `>`
		}
		l.And(`(`+columns+`) `+sign+` (?, ?)`, at.at, at.id)
	}
	order := columns
	if !ascending {
		order = strings.Join(strings.Split(columns, `, `), ` DESC, `) + ` DESC`
	}
	text := `SELECT ` + l.Columns + ` FROM ` + l.Table + ` WHERE ` + strings.Join(l.Where, ` AND `) + ` ORDER BY ` + order + ` LIMIT ?`
	page, err = db.Collect(ctx, q, scan, text, append(l.Args, p.Limit+1)...)
	if err != nil {
		return nil, false, fmt.Errorf("listing %s: %w", l.Table, err)
	}
	if more = len(page) > p.Limit; more {
		page = page[:p.Limit]
	}
	if p.Before != "" {
		slices.Reverse(page)
	}
	return page, more, nil
}
