package sites

import (
	"context"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/domain"
)

// RemoveGone removes a page reported as gone. The current crawl does not request it again.
func RemoveGone(ctx context.Context, t *db.Tx, r record.Record, ev domain.Event) error {
	site, exists, err := record.Find(ctx, t, r.GroupID)
	if err != nil {
		return err
	}
	if !exists {
		return record.DeleteDatasources(ctx, t, []record.Record{r}, ev.Generation)
	}
	if err := BlockReturn(ctx, t, r); err != nil {
		return err
	}
	if err := removePages(ctx, t, site, []record.Record{r}, ev.Generation); err != nil {
		return err
	}
	return QueueRelease(ctx, t, r.Datasource, domain.PageLost)
}

// BlockReturn keeps the site's current crawl from adding a removed page again, even if other pages link to it.
func BlockReturn(ctx context.Context, t *db.Tx, page record.Record) error {
	return t.Queue(ctx, db.Write{
		Action: "recording that page " + page.ID + " was removed",
		Text: `INSERT INTO left_pages (site_id, page_id) SELECT id, CAST(? AS TEXT) FROM datasources WHERE id = ?
			ON CONFLICT DO NOTHING`,
		Args: []any{page.ID, page.GroupID},
	})
}

// removePages removes pages that the site's newest crawl did not find.
func removePages(ctx context.Context, t *db.Tx, site record.Record, pages []record.Record, generation uint64) error {
	if len(pages) == 0 {
		return nil
	}
	if err := record.DeleteDatasources(ctx, t, pages, generation); err != nil {
		return err
	}
	if err := CountPage(ctx, t, site.ID, -len(pages)); err != nil {
		return err
	}
	site.Removed(int64(len(pages)))
	return site.Store(ctx, t, t.Stamp())
}
