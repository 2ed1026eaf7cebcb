package record

import (
	"context"
	"fmt"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/domain"
)

// GroupCount is the number of datasources with a given status in a group, such as a datastore or a site's pages.
type GroupCount struct {
	Group  string
	Status domain.Status
	N      int64
}

var scanGroupCount = db.Scan(func(g *GroupCount) []any { return []any{&g.Group, &g.Status, &g.N} })

// CountByStatus counts datasources per status. text is a query that takes only an id and selects GroupCount's columns.
func CountByStatus(ctx context.Context, q db.Querier, text, id string) (map[domain.Status]int64, error) {
	groups, err := db.Collect(ctx, q, scanGroupCount, text, id)
	if err != nil {
		return nil, fmt.Errorf("counting datasources: %w", err)
	}
	out := make(map[domain.Status]int64, len(groups))
	for _, g := range groups {
		out[g.Status] = g.N
	}
	return out, nil
}

// CountPages fills in the progress of sites and archives: how many pages or files they have, and how many are
// completed. It counts them on every read, so the progress is always correct.
func CountPages(ctx context.Context, q db.Querier, ds []domain.Datasource) error {
	var ids []string
	sites := map[string]*domain.Datasource{}
	for i := range ds {
		if ds[i].Type.IsGroup() {
			ids, sites[ds[i].ID] = append(ids, ds[i].ID), &ds[i]
			ds[i].Progress.Done, ds[i].Progress.Total = 0, 0
		}
	}
	return db.InLists(q, ids, func(in string, args []any) error {
		groups, err := db.Collect(ctx, q, scanGroupCount, `SELECT group_id, status, COUNT(*) FROM datasources
			WHERE group_id `+in+` AND group_id <> '' GROUP BY group_id, status`, args...)
		if err != nil {
			return fmt.Errorf("counting pages: %w", err)
		}
		for _, g := range groups {
			p := &sites[g.Group].Progress
			p.Total += g.N
			if g.Status.Terminal() {
				p.Done += g.N
			}
		}
		return nil
	})
}

// Datasource returns one of the workspace's datasources as users see it. A site's progress counts its pages.
func Datasource(ctx context.Context, q db.Querier, ws, id string) (domain.Datasource, error) {
	r, err := Scan(q.QueryRow(ctx, `SELECT `+Columns+` FROM datasources WHERE workspace_id || '' = ? AND id = ? AND `+NotDeleted, ws, id))
	if err != nil {
		return domain.Datasource{}, db.MapNotFound(err, "datasource", id)
	}
	one := []domain.Datasource{r.Datasource}
	err = CountPages(ctx, q, one)
	return one[0], err
}
