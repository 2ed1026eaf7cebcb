package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// Refresh is the schedule of a datasource that is fetched again by itself.
type Refresh struct {
	WorkspaceID  string
	DatastoreID  string
	DatasourceID string
	Schedule     string // see domain.DatasourceConfig.Refresh
}

// Refreshes returns up to limit schedules of all workspaces, in the order of datasource ids, after the cursor, which is ""
// for the first; next is the cursor to go on with, "" after the last.
func (c *Catalog) Refreshes(ctx context.Context, cursor string, limit int) (out []Refresh, next string, err error) {
	out, err = collect(ctx, c.db.read, func(s scanner) (r Refresh, err error) {
		err = s.Scan(&r.WorkspaceID, &r.DatastoreID, &r.DatasourceID, &r.Schedule)
		return r, err
	}, `SELECT workspace_id, datastore_id, id, refresh FROM datasources WHERE refresh <> '' AND id > ? AND `+alive+` ORDER BY id LIMIT ?`, cursor, limit)
	if err != nil {
		return nil, "", fmt.Errorf("listing refresh schedules: %w", err)
	}
	if len(out) == limit && limit > 0 {
		next = out[limit-1].DatasourceID
	}
	return out, next, nil
}

// RefreshDue has a datasource fetched again whose schedule has come round at the given time, behind fresh content, and
// reports whether it was queued. It is not when it is gone, has no schedule any more, still waits for something, or has
// been queued since; so asking again is harmless.
func (c *Catalog) RefreshDue(ctx context.Context, id string, at time.Time) (queued bool, err error) {
	err = c.update(ctx, "queueing a refresh", func(t *tx) error {
		queued = false
		r, store, err := t.take(ctx, id)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		if r.Config.Refresh == "" || r.GroupID != "" || !r.Status.Terminal() || r.queued >= micros(at) {
			return nil
		}
		job := domain.NewCrawlJob(r.Datasource, store)
		r.UpdatedAt = fromMicros(c.stamp())
		queued = true
		return c.restart(ctx, t, &r, store, job, PriorityReplay)
	})
	return queued && err == nil, err
}

// UpdateWebConfig changes the fetch settings of web content, from its next fetch on, and returns the datasource. A change of
// a site's scope is applied at once: pages outside the new scope are left out, and known links inside it are fetched. It
// fails with domain.CodeInvalid for a datasource that has no such setting: one that is not fetched, a page of a site, whose
// settings are its site's, and for what only a site has, a page.
func (c *Catalog) UpdateWebConfig(ctx context.Context, ws, id string, patch domain.WebPatch) (domain.Datasource, error) {
	err := c.update(ctx, "changing how a datasource is fetched", func(t *tx) error {
		r, _, err := t.take(ctx, id)
		if err != nil {
			return found(err, "datasource", id)
		}
		if r.WorkspaceID != ws {
			return domain.NotFound("datasource", id)
		}
		if err := c.fetchBy(ctx, t, &r, patch); err != nil {
			return err
		}
		r.UpdatedAt = fromMicros(c.stamp())
		if err := r.store(ctx, t, micros(r.UpdatedAt)); err != nil {
			return err
		}
		_, err = c.settleSite(ctx, t, r.ID, r.UpdatedAt)
		return err
	})
	if err != nil {
		return domain.Datasource{}, err
	}
	return c.Datasource(ctx, ws, id)
}

// fetchBy changes the fetch settings in memory. For a site, it queues the work that applies them to the pages.
func (c *Catalog) fetchBy(ctx context.Context, t *tx, r *record, patch domain.WebPatch) error {
	switch {
	case r.Type != domain.TypeWebPage && r.Type != domain.TypeWebSite:
		return domain.Invalid("config", "of datasource %s cannot be changed: it is no web page and no web site", r.ID)
	case r.GroupID != "":
		return domain.Invalid("config", "of page %s is that of its site; change datasource %s instead", r.ID, r.GroupID)
	case r.Type == domain.TypeWebPage && patch.OfSites():
		return domain.Invalid("config", "of page %s has no patterns and limits: those are of sites", r.ID)
	}
	before := r.Config
	patch.Apply(&r.Config)
	return c.rescope(ctx, t, before, r)
}
