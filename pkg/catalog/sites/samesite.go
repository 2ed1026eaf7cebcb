package sites

import (
	"context"
	"fmt"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/domain"
)

// CheckSameSite fails with domain.CodeConflict if another site in the datastore has the same pages, and names that site
// in the error. With two such sites, every page would be fetched twice and appear twice in search results.
func CheckSameSite(ctx context.Context, t *db.Tx, d domain.Datasource) error {
	if d.Type != domain.TypeWebSite {
		return nil
	}
	if err := t.LockCreation(ctx, "sites", d.DatastoreID); err != nil {
		return err
	}
	gone, err := record.IsDeleted(ctx, t, d)
	if err != nil {
		return err
	}
	if gone {
		return domain.Errorf(domain.CodeConflict, "site %q was deleted, and its pages are still being removed; try again in a few seconds", d.ID)
	}
	type site struct {
		id     string
		config domain.DatasourceConfig
	}
	sites, err := db.Collect(ctx, t, func(s db.Scanner) (v site, err error) {
		var config string
		if err := s.Scan(&v.id, &config); err != nil {
			return v, err
		}
		return v, db.FromJSON(config, &v.config)
	}, `SELECT id, config FROM datasources WHERE datastore_id = ? AND type = 'web_site'`, d.DatastoreID)
	if err != nil {
		return fmt.Errorf("looking for the same site: %w", err)
	}
	for _, other := range sites {
		if other.id != d.ID && other.config.SameSite(d.Config) {
			return domain.Errorf(domain.CodeConflict,
				"the datastore already has this site as datasource %q; refresh it with POST /datasources/%s/resync, or delete it first", other.id, other.id)
		}
	}
	return nil
}
