package sites

import (
	"context"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/domain"
)

// UpdateWebConfig changes how web content is fetched and returns the datasource. Most changes take effect with the next
// fetch, but a change to a site's scope applies immediately: pages outside the new scope are skipped, and known links
// inside it are fetched.
//
// UpdateWebConfig fails with domain.CodeInvalid for a datasource that is not fetched, for a site's page (because it
// uses the site's settings), and for a single page if the patch changes settings that only sites have.
func (c *Sites) UpdateWebConfig(ctx context.Context, ws, id string, patch domain.WebPatch) (domain.Datasource, error) {
	err := c.db.Update(ctx, "changing how a datasource is fetched", func(t *db.Tx) error {
		r, _, err := record.LockDatasourceOf(ctx, t, ws, id)
		if err != nil {
			return err
		}
		if err := c.FetchBy(ctx, t, &r, patch); err != nil {
			return err
		}
		r.UpdatedAt = db.FromMicros(c.db.Stamp())
		if err := r.Store(ctx, t, db.Micros(r.UpdatedAt)); err != nil {
			return err
		}
		_, err = c.SettleSite(ctx, t, r.ID, r.UpdatedAt)
		return err
	})
	if err != nil {
		return domain.Datasource{}, err
	}
	return record.Datasource(ctx, c.db.Read, ws, id)
}

// FetchBy changes a record's fetch settings without storing the record. For a site, it queues work that applies the new
// settings to the pages.
func (c *Sites) FetchBy(ctx context.Context, t *db.Tx, r *record.Record, patch domain.WebPatch) error {
	switch {
	case r.Type != domain.TypeWebPage && r.Type != domain.TypeWebSite:
		return domain.Invalid("config", "cannot be changed, because datasource %s is neither a web page nor a web site", r.ID)
	case r.GroupID != "":
		return domain.Invalid("config", "cannot be changed, because page %s belongs to a site; change the site, datasource %s, instead", r.ID, r.GroupID)
	case r.Type == domain.TypeWebPage && patch.ChangesSite():
		return domain.Invalid("config", "must not contain patterns or limits, because datasource %s is a single page and only sites have them", r.ID)
	}
	before := r.Config
	patch.Apply(&r.Config)
	return c.rescope(ctx, t, before, r)
}
