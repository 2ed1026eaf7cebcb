package catalog

import (
	"context"

	"github.com/sluice/sluice/pkg/domain"
)

// begin clears the way for a new crawl of the site that the record is, if the job is one: what an older crawl was to do
// is not done any more.
func (c *Catalog) begin(ctx context.Context, t *tx, r *record, job domain.Job) error {
	if r.Type != domain.TypeWebSite || job.Kind != domain.JobCrawl {
		return nil
	}
	for _, w := range []write{
		{text: `DELETE FROM site_work WHERE site_id = ? AND kind IN (?, ?)`, args: []any{r.ID, workStop, workRest}},
		{text: `DELETE FROM left_pages WHERE site_id = ?`, args: []any{r.ID}},
	} {
		w.doing = "beginning a crawl of site " + r.ID
		if err := t.later(ctx, w); err != nil {
			return err
		}
	}
	return recount(ctx, t, r.ID)
}

// countPage adds to the number of pages that a site has; sites that are unknown do not matter.
func countPage(ctx context.Context, t *tx, siteID string, n int) error {
	return t.later(ctx, write{
		doing: "counting pages of site " + siteID,
		text:  `UPDATE datasources SET pages = pages + ? WHERE id = ?`,
		args:  []any{n, siteID},
	})
}

// recount counts the pages that a site has.
func recount(ctx context.Context, t *tx, siteID string) error {
	return t.later(ctx, write{
		doing: "counting the pages of site " + siteID,
		text:  `UPDATE datasources SET pages = (SELECT COUNT(*) FROM datasources p WHERE p.group_id = ? AND p.group_id <> '') WHERE id = ?`,
		args:  []any{siteID, siteID},
	})
}

// adoptedPages counts what was taken over: a page, or the pages of a site, which may have come before it.
func adoptedPages(ctx context.Context, t *tx, r record) error {
	switch {
	case r.GroupID != "":
		return countPage(ctx, t, r.GroupID, 1)
	case r.Type == domain.TypeWebSite:
		return recount(ctx, t, r.ID)
	default:
		return nil
	}
}
