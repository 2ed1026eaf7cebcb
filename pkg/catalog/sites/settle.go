package sites

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/domain"
)

// SettleSite updates a site's status based on its pages. The status becomes synched once discovery is complete and no
// page is waiting, and running if a page is waiting again. SettleSite returns the site if it has changed, and nil
// otherwise.
func (c *Sites) SettleSite(ctx context.Context, t *db.Tx, siteID string, at time.Time) (*domain.Datasource, error) {
	if siteID == "" {
		return nil, nil
	}
	// Read only a few columns first, because usually the site is running and has waiting pages.
	var status domain.Status
	var done int
	var where record.Location
	err := t.QueryRow(ctx, `SELECT status, discovery_done, place FROM datasources WHERE id = ?`+t.Lock, siteID).Scan(&status, &done, &where)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading site %s: %w", siteID, err)
	}
	if done == 0 || where != record.NoJob {
		return nil, nil
	}
	waiting, err := hasWaiting(ctx, t, siteID)
	if err == nil && !waiting {
		waiting, err = hasWork(ctx, t, siteID)
	}
	if err != nil || waiting && !status.Terminal() {
		return nil, err
	}
	site, err := record.Read(ctx, t, siteID)
	if err != nil {
		return nil, fmt.Errorf("reading site %s: %w", siteID, err)
	}
	if waiting {
		site.Status, site.Error, site.Progress.Stage = domain.StatusRunning, "", site.WaitingStage()
		return storeSite(ctx, t, site, at)
	}
	changed, err := c.settlePages(ctx, t, &site, at)
	if err != nil || !changed {
		return nil, err
	}
	return storeSite(ctx, t, site, at)
}

// hasWaiting reports whether any of the site's pages is waiting for a job other than a move job.
func hasWaiting(ctx context.Context, t *db.Tx, siteID string) (bool, error) {
	var waiting int
	if err := t.QueryRow(ctx, `SELECT COUNT(*) FROM (SELECT 1 AS one FROM datasources
		WHERE group_id = ? AND group_id <> '' AND `+record.Live+` AND resume_status = '' LIMIT 1) AS waiting`, siteID).Scan(&waiting); err != nil {
		return false, fmt.Errorf("looking for waiting pages of site %s: %w", siteID, err)
	}
	return waiting > 0, nil
}

func storeSite(ctx context.Context, t *db.Tx, site record.Record, at time.Time) (*domain.Datasource, error) {
	site.UpdatedAt = at
	if err := site.Store(ctx, t, t.Stamp()); err != nil {
		return nil, err
	}
	return &site.Datasource, nil
}

// cappedAt is the beginning of the warning shown if a site has more pages than its limit.
const cappedAt = "The site has more pages than its limit of "

// settlePages sets the site's status based on the outcome for each of its pages.
func (c *Sites) settlePages(ctx context.Context, t *db.Tx, site *record.Record, at time.Time) (changed bool, err error) {
	var pages domain.SiteProgress
	var cause, reason string
	err = t.QueryRow(ctx, `SELECT COUNT(*), COALESCE(SUM(CASE WHEN `+record.OwnStatus+` = 'error' THEN 1 ELSE 0 END), 0),
		COALESCE(SUM(CASE WHEN `+record.OwnStatus+` = 'skipped' THEN 1 ELSE 0 END), 0),
		COALESCE(MAX(CASE WHEN `+record.OwnStatus+` = 'error' THEN error ELSE '' END), ''),
		COALESCE(MAX(CASE WHEN `+record.OwnStatus+` = 'skipped' THEN error ELSE '' END), '')
		FROM datasources WHERE group_id = ? AND group_id <> ''`, site.ID).Scan(&pages.Discovered, &pages.Failed, &pages.Skipped, &cause, &reason)
	if err != nil {
		return false, fmt.Errorf("counting the pages of site %s: %w", site.ID, err)
	}
	cause = cmp.Or(cause, reason)
	before := slices.Clone(site.Warnings)
	site.Warnings = slices.DeleteFunc(site.Warnings, func(w string) bool { return strings.HasPrefix(w, cappedAt) })
	changed = site.SettlePages(pages, cause, at)
	if site.Capped {
		site.Warnings = append(site.Warnings, fmt.Sprintf(cappedAt+"%d; the rest were skipped.", c.pageLimit(*site)))
	}
	return changed || !slices.Equal(before, site.Warnings), nil
}
