package sites

import (
	"context"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/domain"
)

// Begin clears the way for a new crawl of the site that the record is, if the job is one: what an older crawl was to do
// is not done any more.
func Begin(ctx context.Context, t *db.Tx, r *record.Record, job domain.Job) error {
	if r.Type != domain.TypeWebSite || job.Kind != domain.JobCrawl {
		return nil
	}
	for _, w := range []db.Write{
		{Text: `DELETE FROM site_work WHERE site_id = ? AND kind IN (?, ?)`, Args: []any{r.ID, workStop, workRest}},
		{Text: `DELETE FROM left_pages WHERE site_id = ?`, Args: []any{r.ID}},
	} {
		w.Doing = "beginning a crawl of site " + r.ID
		if err := t.Later(ctx, w); err != nil {
			return err
		}
	}
	return recount(ctx, t, r.ID)
}

// CountPage adds to the number of pages that a site has; sites that are unknown do not matter.
func CountPage(ctx context.Context, t *db.Tx, siteID string, n int) error {
	return t.Later(ctx, db.Write{
		Doing: "counting pages of site " + siteID,
		Text:  `UPDATE datasources SET pages = pages + ? WHERE id = ?`,
		Args:  []any{n, siteID},
	})
}

// recount counts the pages that a site has.
func recount(ctx context.Context, t *db.Tx, siteID string) error {
	return t.Later(ctx, db.Write{
		Doing: "counting the pages of site " + siteID,
		Text:  `UPDATE datasources SET pages = (SELECT COUNT(*) FROM datasources p WHERE p.group_id = ? AND p.group_id <> '') WHERE id = ?`,
		Args:  []any{siteID, siteID},
	})
}

// AdoptedPages counts what was taken over: a page, or the pages of a site, which may have come before it.
func AdoptedPages(ctx context.Context, t *db.Tx, r record.Record) error {
	switch {
	case r.GroupID != "":
		return CountPage(ctx, t, r.GroupID, 1)
	case r.Type == domain.TypeWebSite:
		return recount(ctx, t, r.ID)
	default:
		return nil
	}
}
