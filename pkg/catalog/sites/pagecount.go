package sites

import (
	"context"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
)

// Begin must be called before a datasource gets a new job. It prepares a site for a new crawl, or an archive for
// unpacking, and discards work left over from earlier crawls or unpackings.
func Begin(ctx context.Context, t *db.Tx, r *record.Record) error {
	if !r.Type.IsGroup() {
		return nil
	}
	for _, w := range []db.Write{
		{Text: `DELETE FROM site_work WHERE site_id = ? AND kind IN (?, ?)`, Args: []any{r.ID, workStop, workRest}},
		{Text: `DELETE FROM left_pages WHERE site_id = ?`, Args: []any{r.ID}},
	} {
		w.Action = "beginning a crawl of site " + r.ID
		if err := t.Queue(ctx, w); err != nil {
			return err
		}
	}
	return recount(ctx, t, r.ID)
}

// CountPage adds n to a site's page count. Unknown sites are ignored.
func CountPage(ctx context.Context, t *db.Tx, siteID string, n int) error {
	return t.Queue(ctx, db.Write{
		Action: "counting pages of site " + siteID,
		Text:   `UPDATE datasources SET pages = pages + ? WHERE id = ?`,
		Args:   []any{n, siteID},
	})
}

// recount corrects a site's stored page count.
func recount(ctx context.Context, t *db.Tx, siteID string) error {
	return t.Queue(ctx, db.Write{
		Action: "counting the pages of site " + siteID,
		Text:   `UPDATE datasources SET pages = (SELECT COUNT(*) FROM datasources p WHERE p.group_id = ? AND p.group_id <> '') WHERE id = ?`,
		Args:   []any{siteID, siteID},
	})
}

// AdoptedPages updates a site's page count after a page or the site itself was adopted. The page may be adopted before
// the site.
func AdoptedPages(ctx context.Context, t *db.Tx, r record.Record) error {
	switch {
	case r.GroupID != "":
		return CountPage(ctx, t, r.GroupID, 1)
	case r.Type.IsGroup():
		return recount(ctx, t, r.ID)
	default:
		return nil
	}
}
