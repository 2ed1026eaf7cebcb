package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/catalog/cursor"
	"github.com/sluice/sluice/pkg/domain"
)

// NewDatasource is a datasource to be created together with its first job. Of the job only ID, Kind, Crawl and
// Force are taken; the rest follows from the datasource.
type NewDatasource struct {
	Datasource domain.Datasource
	Job        domain.Job
	Priority   Priority
}

// DatasourceFilter narrows a list of datasources; empty fields do not filter.
type DatasourceFilter struct {
	DatastoreID string
	Status      domain.Status
	Type        domain.DatasourceType
	GroupID     string
	Search      string // a part of the name, the address, the file name or the custom id, in any case
}

// CreateDatasources stores datasources and puts their first jobs into the outbox, all of them or none, and returns them
// as stored: status unsynched, both times and JobID set here. It fails with domain.NotFound when a datastore does not
// exist in the datasource's workspace, and with domain.CodeConflict when an id is taken, or a
// site is in its datastore already.
func (c *Catalog) CreateDatasources(ctx context.Context, in []NewDatasource) ([]domain.Datasource, error) {
	return c.put(ctx, in, nil, c.create)
}

// UpsertDatasources is CreateDatasources, but for a datasource whose CustomID another one of its datastore carries: that
// one gets the name, the metadata and the content of the new one and keeps its id, as by
// ReplaceContent. A datasource without an original fails with domain.CodeInvalid. Several in one
// call with the same CustomID are one in the end. The result is in the order of in.
func (c *Catalog) UpsertDatasources(ctx context.Context, in []NewDatasource) ([]domain.Datasource, error) {
	return c.put(ctx, in, (*tx).upsertsAlone, func(ctx context.Context, t *tx, n NewDatasource, store domain.Datastore) (record, error) {
		d := n.Datasource
		if d.Original == nil {
			return record{}, missingContent(d)
		}
		n.Job.Kind = domain.JobIngest
		r, err := readByCustomID(ctx, t, t.lock, d.WorkspaceID, d.DatastoreID, d.CustomID)
		if errors.Is(err, sql.ErrNoRows) {
			return c.create(ctx, t, n, store)
		}
		if err != nil {
			return r, fmt.Errorf("looking for custom id %q: %w", d.CustomID, err)
		}
		content := Replacement{Name: &d.Name, Metadata: &d.Metadata, Original: *d.Original, Job: n.Job, Priority: n.Priority}
		if d.Config.FileName != "" {
			content.FileName = &d.Config.FileName
		}
		if err := c.replace(ctx, t, &r, content); err != nil {
			return r, err
		}
		return r, c.restart(ctx, t, &r, store, n.Job, n.Priority)
	})
}

// put stores datasources of one workspace one by one in one transaction, after each of their datastores, in order, was begun.
func (c *Catalog) put(ctx context.Context, in []NewDatasource, begin func(*tx, context.Context, string) error, one func(context.Context, *tx, NewDatasource, domain.Datastore) (record, error)) ([]domain.Datasource, error) {
	var out []domain.Datasource
	if len(in) == 0 {
		return []domain.Datasource{}, nil
	}
	putAll := func(t *tx) error {
		out = make([]domain.Datasource, 0, len(in))
		if err := t.enter(ctx, in, begin); err != nil {
			return err
		}
		for _, n := range in {
			d := n.Datasource
			if n.Job.Kind == domain.JobIngest && d.Original == nil {
				return missingContent(d)
			}
			store, err := t.own(ctx, d.WorkspaceID, d.DatastoreID)
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
	err := c.update(ctx, "storing datasources", func(t *tx) error {
		return c.withRoom(ctx, t, in[0].Datasource.WorkspaceID, func() error { return putAll(t) })
	})
	return out, err
}

// enter takes the locks of the datastores that new datasources go to.
func (t *tx) enter(ctx context.Context, in []NewDatasource, begin func(*tx, context.Context, string) error) error {
	var stores []string
	for _, n := range in {
		stores = append(stores, n.Datasource.DatastoreID)
	}
	if err := t.share(ctx, stores...); err != nil || begin == nil {
		return err
	}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(stores))) {
		if err := begin(t, ctx, id); err != nil {
			return err
		}
	}
	return nil
}

func missingContent(d domain.Datasource) error {
	return domain.Invalid("original", "is missing: datasource %s is to be read and has no content", d.ID)
}

func (c *Catalog) create(ctx context.Context, t *tx, n NewDatasource, store domain.Datastore) (record, error) {
	r := record{Datasource: n.Datasource}
	if err := unlikeOthers(ctx, t, r.Datasource); err != nil {
		return r, err
	}
	r.CreatedAt = fromMicros(c.stamp())
	r.UpdatedAt = r.CreatedAt
	job := r.accept(n.Job, store)
	err := r.insert(ctx, t, domain.Errorf(domain.CodeConflict, "there is already a datasource with id %q", r.ID))
	if err != nil {
		return r, err
	}
	return r, c.enqueue(ctx, t, job, n.Priority)
}

// Datasource returns one datasource of the workspace. The progress of a site counts its pages.
func (c *Catalog) Datasource(ctx context.Context, ws, id string) (domain.Datasource, error) {
	r, err := scanRecord(c.db.read.queryRow(ctx, `SELECT `+recordColumns+` FROM datasources WHERE workspace_id || '' = ? AND id = ? AND `+alive, ws, id))
	if err != nil {
		return domain.Datasource{}, found(err, "datasource", id)
	}
	one := []domain.Datasource{r.Datasource}
	err = c.countPages(ctx, one)
	return one[0], err
}

// DatasourceByCustomID returns the newest datasource of the datastore that carries the caller-chosen id.
func (c *Catalog) DatasourceByCustomID(ctx context.Context, ws, datastoreID, customID string) (domain.Datasource, error) {
	r, err := readByCustomID(ctx, c.db.read, "", ws, datastoreID, customID)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Datasource{}, domain.Errorf(domain.CodeNotFound, "no datasource with custom id %q", customID)
	}
	return r.Datasource, found(err, "datasource", customID)
}

func readByCustomID(ctx context.Context, q querier, lock, ws, datastoreID, customID string) (record, error) {
	return scanRecord(q.queryRow(ctx, `SELECT `+recordColumns+` FROM datasources
		WHERE workspace_id || '' = ? AND datastore_id = ? AND custom_id = ? AND custom_id <> '' AND `+alive+`
		ORDER BY created_at DESC, id DESC LIMIT 1`+lock, ws, datastoreID, customID))
}

// Datasources returns a page of the workspace's datasources that pass the filter, newest first, and the cursor of the
// next page, "" after the last. The progress of a site counts its pages.
func (c *Catalog) Datasources(ctx context.Context, ws string, f DatasourceFilter, p Page) ([]domain.Datasource, string, error) {
	l := list{name: cursor.Datasources, columns: recordColumns, table: `datasources`}
	if f.DatastoreID == "" && f.GroupID == "" {
		l.and(`workspace_id = ?`, ws)
	} else {
		// Not the plain column: the index to use is the one of the datastore or site, which may be a small part.
		l.and(`workspace_id || '' = ?`, ws)
	}
	if f.DatastoreID != "" {
		l.and(`datastore_id = ?`, f.DatastoreID)
	}
	l.and(alive)
	if f.GroupID != "" {
		l.and(`group_id = ? AND group_id <> ''`, f.GroupID)
	}
	if f.Status != "" {
		l.and(`status = ?`, f.Status)
	}
	if f.Type != "" {
		l.and(`type = ?`, f.Type)
	}
	if f.Search != "" {
		l.and(`search_text LIKE ? ESCAPE '!'`, "%"+likeLiteral.Replace(strings.ToLower(f.Search))+"%")
	}
	text, args, limit, err := l.page(p)
	if err != nil {
		return nil, "", err
	}
	records, err := collect(ctx, c.db.read, scanRecord, text, args...)
	if err != nil {
		return nil, "", fmt.Errorf("listing datasources: %w", err)
	}
	records, next := cut(l, records, limit, func(r record) cursor.Position { return cursor.Position{At: micros(r.CreatedAt), ID: r.ID} })
	out := make([]domain.Datasource, len(records))
	for i, r := range records {
		out[i] = r.Datasource
	}
	return out, next, c.countPages(ctx, out)
}

// likeLiteral takes the special meaning from what the caller searches for.
var likeLiteral = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")
