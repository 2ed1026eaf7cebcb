package resources

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/catalog/cursor"
	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/catalog/sites"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lists"
)

// NewDatasource is a datasource to create, with its first job. Only the job's ID, Kind, Crawl and Force are used.
type NewDatasource struct {
	Datasource domain.Datasource
	Job        domain.Job
	Priority   record.Priority
}

// DatasourceFilter selects datasources for a list. Empty fields match everything.
type DatasourceFilter struct {
	DatastoreID string
	Status      domain.Status
	Type        domain.DatasourceType
	GroupID     string
	CustomID    string
	Search      string // part of the name, address, file name or custom id; case-insensitive
}

// CreateDatasources stores datasources and queues their first jobs, all or nothing. The returned datasources have
// status unsynched and CreatedAt, UpdatedAt and JobID set. CreateDatasources fails with domain.NotFound if the
// workspace lacks a datastore, and with domain.CodeConflict if an id already exists or the datastore already has the
// same site.
func (c *Resources) CreateDatasources(ctx context.Context, in []NewDatasource) ([]domain.Datasource, error) {
	return c.createDatasources(ctx, in, nil, NewRecord)
}

// UpsertDatasources is like CreateDatasources, except that if the datastore already has a datasource with the same
// CustomID, it updates that one. The existing datasource keeps its id and gets the new name, metadata and content, as
// with ReplaceContent. UpsertDatasources fails with domain.CodeInvalid for a datasource without an original. If several
// datasources in one call have the same CustomID, only one datasource results. Results are in the order of the
// arguments.
func (c *Resources) UpsertDatasources(ctx context.Context, in []NewDatasource) ([]domain.Datasource, error) {
	return c.createDatasources(ctx, in, record.QueueUpserts, func(ctx context.Context, t *db.Tx, n NewDatasource, store domain.Datastore) (record.Record, error) {
		d := n.Datasource
		if d.Original == nil {
			return record.Record{}, missingContent(d)
		}
		n.Job.Kind = domain.JobIngest
		r, err := record.ReadByCustomID(ctx, t, t.Lock, d.WorkspaceID, d.DatastoreID, d.CustomID)
		if errors.Is(err, sql.ErrNoRows) {
			return NewRecord(ctx, t, n, store)
		}
		if err != nil {
			return r, fmt.Errorf("looking for custom id %q: %w", d.CustomID, err)
		}
		if r.Type == domain.TypeArchive {
			return r, domain.Invalid("custom_id", "%q belongs to archive %s, which a text cannot replace; delete the archive or use another id", d.CustomID, r.ID)
		}
		content := Replacement{Name: &d.Name, Metadata: &d.Metadata, Original: *d.Original, Job: n.Job, Priority: n.Priority}
		if d.Config.FileName != "" {
			content.FileName = &d.Config.FileName
		}
		if err := Replace(ctx, t, &r, content); err != nil {
			return r, err
		}
		return r, c.sites.Restart(ctx, t, &r, store, n.Job, n.Priority)
	})
}

// createDatasources stores one workspace's datasources in a single transaction. If begin is not nil, it first calls
// begin with each datastore's id, in order. Then it calls `one` to store each datasource.
func (c *Resources) createDatasources(ctx context.Context, in []NewDatasource, begin func(context.Context, *db.Tx, string) error, one func(context.Context, *db.Tx, NewDatasource, domain.Datastore) (record.Record, error)) ([]domain.Datasource, error) {
	var out []domain.Datasource
	if len(in) == 0 {
		return []domain.Datasource{}, nil
	}
	putAll := func(t *db.Tx) error {
		out = make([]domain.Datasource, 0, len(in))
		if err := lockDatastores(ctx, t, in, begin); err != nil {
			return err
		}
		for _, n := range in {
			d := n.Datasource
			if n.Job.Kind == domain.JobIngest && d.Original == nil {
				return missingContent(d)
			}
			store, err := record.ShareOwnDatastore(ctx, t, d.WorkspaceID, d.DatastoreID)
			if err != nil {
				return err
			}
			r, err := one(ctx, t, n, store)
			if err != nil {
				return err
			}
			out = append(out, r.Datasource)
		}
		return nil
	}
	err := c.db.Update(ctx, "storing datasources", func(t *db.Tx) error {
		return c.accounts.WithinStorage(ctx, t, in[0].Datasource.WorkspaceID, func() error { return putAll(t) })
	})
	return out, err
}

// lockDatastores locks the new datasources' datastores and then, if begin is not nil, calls it with each id in order.
func lockDatastores(ctx context.Context, t *db.Tx, in []NewDatasource, begin func(context.Context, *db.Tx, string) error) error {
	var stores []string
	for _, n := range in {
		stores = append(stores, n.Datasource.DatastoreID)
	}
	if err := record.ShareDatastores(ctx, t, stores...); err != nil || begin == nil {
		return err
	}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(stores))) {
		if err := begin(ctx, t, id); err != nil {
			return err
		}
	}
	return nil
}

func missingContent(d domain.Datasource) error {
	return domain.Invalid("original", "is missing: datasource %s has no content to read", d.ID)
}

// NewRecord stores a new datasource and queues its first job. The transaction must have locked the datastore with
// record.ShareDatastore.
func NewRecord(ctx context.Context, t *db.Tx, n NewDatasource, store domain.Datastore) (record.Record, error) {
	r := record.Record{Datasource: n.Datasource}
	if err := sites.CheckSameSite(ctx, t, r.Datasource); err != nil {
		return r, err
	}
	r.CreatedAt = db.FromMicros(t.Stamp())
	r.UpdatedAt = r.CreatedAt
	job := r.Accept(n.Job, store)
	err := r.Insert(ctx, t, domain.Errorf(domain.CodeConflict, "there is already a datasource with id %q", r.ID))
	if err != nil {
		return r, err
	}
	return r, record.Enqueue(ctx, t, job, n.Priority)
}

// Datasource returns one of the workspace's datasources. A site's progress counts its pages.
func (c *Resources) Datasource(ctx context.Context, ws, id string) (domain.Datasource, error) {
	return record.Datasource(ctx, c.db.Read, ws, id)
}

// DatasourceByCustomID returns the datastore's datasource with this custom id, or the newest one if there are several.
func (c *Resources) DatasourceByCustomID(ctx context.Context, ws, datastoreID, customID string) (domain.Datasource, error) {
	r, err := record.ReadByCustomID(ctx, c.db.Read, "", ws, datastoreID, customID)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Datasource{}, domain.Errorf(domain.CodeNotFound, "no datasource with custom id %q", customID)
	}
	return r.Datasource, db.MapNotFound(err, "datasource", customID)
}

// Datasources returns a page of the workspace's datasources, filtered by f, newest first. It also returns the next
// page's cursor, or "" after the last page. A site's progress counts its pages.
func (c *Resources) Datasources(ctx context.Context, ws string, f DatasourceFilter, p db.Page) ([]domain.Datasource, string, error) {
	l := db.List{Name: cursor.Datasources, Columns: record.Columns, Table: `datasources`}
	if f.DatastoreID == "" && f.GroupID == "" {
		l.And(`workspace_id = ?`, ws)
	} else {
		// Use an expression, so that the database doesn't use the workspace index: the datastore or site index may
		// select far fewer rows.
		l.And(`workspace_id || '' = ?`, ws)
	}
	if f.DatastoreID != "" {
		l.And(`datastore_id = ?`, f.DatastoreID)
	}
	l.And(record.NotDeleted)
	if f.GroupID != "" {
		l.And(`group_id = ? AND group_id <> ''`, f.GroupID)
	}
	if f.CustomID != "" {
		l.And(`custom_id = ? AND custom_id <> ''`, f.CustomID)
	}
	if f.Status != "" {
		l.And(`status = ?`, f.Status)
	}
	if f.Type != "" {
		l.And(`type = ?`, f.Type)
	}
	if f.Search != "" {
		l.And(`search_text LIKE ? ESCAPE '!'`, "%"+db.LikeLiteral.Replace(strings.ToLower(f.Search))+"%")
	}
	text, args, limit, err := l.Page(p)
	if err != nil {
		return nil, "", err
	}
	records, err := db.Collect(ctx, c.db.Read, record.Scan, text, args...)
	if err != nil {
		return nil, "", fmt.Errorf("listing datasources: %w", err)
	}
	records, next := db.CutPage(l, records, limit, func(r record.Record) cursor.Position { return cursor.Position{At: db.Micros(r.CreatedAt), ID: r.ID} })
	out := lists.Map(records, func(r record.Record) domain.Datasource { return r.Datasource })
	return out, next, record.CountPages(ctx, c.db.Read, out)
}
