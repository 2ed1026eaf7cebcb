package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
)

// NewDatasource is a datasource to be created together with its first job. Of the job only ID, Kind and Crawl are
// taken; the rest follows from the datasource.
type NewDatasource struct {
	Datasource domain.Datasource
	Job        domain.Job
	Priority   Priority
}

// Replacement is new content for a datasource that exists. A nil field leaves what is there.
type Replacement struct {
	Name     *string
	Metadata *map[string]any
	CustomID *string
	FileName *string
	Original domain.Original // its type, size and hash go into the datasource's config
	Job      domain.Job      // of kind ingest; only ID is taken, the rest follows from the datasource
	Priority Priority
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
// exist in the datasource's workspace, and with domain.CodeConflict when an id is taken.
func (c *Catalog) CreateDatasources(ctx context.Context, in []NewDatasource) ([]domain.Datasource, error) {
	var out []domain.Datasource
	err := c.update(ctx, "storing datasources", func(t *tx) error {
		models := map[string]string{}
		out = make([]domain.Datasource, 0, len(in))
		for _, n := range in {
			d := n.Datasource
			if _, ok := models[d.DatastoreID]; !ok {
				store, err := readDatastore(ctx, t, d.WorkspaceID, d.DatastoreID)
				if err != nil {
					return err
				}
				models[d.DatastoreID] = store.EmbeddingModel
			}
			at := c.stamp()
			d.CreatedAt, d.UpdatedAt = fromMicros(at), fromMicros(at)
			r := record{Datasource: d}
			job := r.accept(n.Job, models[d.DatastoreID])
			fresh, err := r.insert(ctx, t)
			if err != nil {
				return err
			}
			if !fresh {
				return domain.Errorf(domain.CodeConflict, "there is already a datasource with id %q", d.ID)
			}
			if err := c.enqueue(ctx, t, job, n.Priority); err != nil {
				return err
			}
			out = append(out, r.Datasource)
		}
		return nil
	})
	return out, err
}

// accept makes the job the record's newest: what is there waits for it from now on. It returns the job as it is to be
// published: everything but its id, kind and what to fetch follows from the record.
func (r *record) accept(job domain.Job, model string) domain.Job {
	job.WorkspaceID, job.DatastoreID, job.DatasourceID = r.WorkspaceID, r.DatastoreID, r.ID
	job.Type, job.Name, job.CustomID, job.Metadata, job.Model = r.Type, r.Name, r.CustomID, r.Metadata, model
	if job.Kind == domain.JobIngest {
		job.Original = r.Original
		r.Runs++
	}
	r.JobID, r.jobKind, r.place = job.ID, job.Kind, placeOutbox
	r.Status, r.Error, r.Progress = domain.StatusUnsynched, "", domain.Progress{}
	if r.Type == domain.TypeWebSite {
		r.runID, r.DiscoveryDone, r.capped = job.ID, false, false
	}
	return job
}

// Datasource returns one datasource of the workspace. The progress of a site counts its pages.
func (c *Catalog) Datasource(ctx context.Context, ws, id string) (domain.Datasource, error) {
	r, err := scanRecord(c.db.read.queryRow(ctx, `SELECT `+recordColumns+` FROM datasources WHERE workspace_id = ? AND id = ?`, ws, id))
	if err != nil {
		return domain.Datasource{}, found(err, "datasource", id)
	}
	one := []domain.Datasource{r.Datasource}
	err = c.countPages(ctx, one)
	return one[0], err
}

// DatasourceByCustomID returns the newest datasource of the datastore that carries the caller-chosen id.
func (c *Catalog) DatasourceByCustomID(ctx context.Context, ws, datastoreID, customID string) (domain.Datasource, error) {
	if customID == "" {
		return domain.Datasource{}, domain.Errorf(domain.CodeNotFound, "no datasource with an empty custom id")
	}
	r, err := scanRecord(c.db.read.queryRow(ctx, `SELECT `+recordColumns+` FROM datasources
		WHERE workspace_id = ? AND datastore_id = ? AND custom_id = ? AND custom_id <> '' ORDER BY created_at DESC, id DESC LIMIT 1`,
		ws, datastoreID, customID))
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Datasource{}, domain.Errorf(domain.CodeNotFound, "no datasource with custom id %q", customID)
	}
	return r.Datasource, found(err, "datasource", customID)
}

// Datasources returns a page of the workspace's datasources that pass the filter, newest first, and the cursor of the
// next page, "" after the last. The progress of a site counts its pages.
func (c *Catalog) Datasources(ctx context.Context, ws string, f DatasourceFilter, p Page) ([]domain.Datasource, string, error) {
	l := list{columns: recordColumns, table: `datasources`}
	l.and(`workspace_id = ?`, ws)
	if f.DatastoreID != "" {
		l.and(`datastore_id = ?`, f.DatastoreID)
	}
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
	records, next := cut(records, limit, func(r record) position { return position{micros(r.CreatedAt), r.ID} })
	out := make([]domain.Datasource, len(records))
	for i, r := range records {
		out[i] = r.Datasource
	}
	return out, next, c.countPages(ctx, out)
}

// likeLiteral takes the special meaning from what the caller searches for.
var likeLiteral = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")

// ReplaceContent gives the datasource new content: its job goes into the outbox, the status back to unsynched, and the
// original before is swept. What is active stays searchable until the job is done. The result is the datasource as it
// is then; its JobID is the new job's. A web_site has no content of its own and fails with domain.CodeInvalid.
func (c *Catalog) ReplaceContent(ctx context.Context, ws, id string, n Replacement) (domain.Datasource, error) {
	n.Job.Kind = domain.JobIngest
	return c.reopen(ctx, "replacing content", ws, id, n.Job, n.Priority, func(t *tx, r *record) error {
		if r.Type == domain.TypeWebSite {
			return domain.Invalid("id", "datasource %s is a web site, whose content is its pages", id)
		}
		if n.Name != nil {
			r.Name = *n.Name
		}
		if n.Metadata != nil {
			r.Metadata = *n.Metadata
		}
		if n.CustomID != nil {
			r.CustomID, r.Config.CustomID = *n.CustomID, *n.CustomID
		}
		if n.FileName != nil {
			r.Config.FileName = *n.FileName
		}
		o := n.Original
		r.Config.MIMEType, r.Config.FileSize, r.Config.SHA256 = o.MIMEType, o.Size, o.SHA256
		old := r.Original
		r.Original = &o
		if old == nil || old.Key == o.Key {
			return nil
		}
		return queueSweep(ctx, t, domain.Sweep{
			WorkspaceID: ws, DatastoreID: r.DatastoreID, DatasourceID: id, Originals: []string{old.Key},
		})
	})
}

// Requeue puts another job for the datasource into the outbox, in place of one that waits there: for a resync. Of the
// job only ID, Kind and Crawl are taken. The status goes back to unsynched while what is active stays searchable. An
// ingest job of a datasource without an original fails with domain.CodeConflict.
func (c *Catalog) Requeue(ctx context.Context, ws, id string, job domain.Job, p Priority) (domain.Datasource, error) {
	return c.reopen(ctx, "queueing a datasource again", ws, id, job, p, func(_ *tx, r *record) error {
		if job.Kind == domain.JobIngest && r.Original == nil {
			return domain.Errorf(domain.CodeConflict, "datasource %q has no stored content to read again; fetch or upload it", id)
		}
		return nil
	})
}

func (c *Catalog) reopen(ctx context.Context, doing, ws, id string, job domain.Job, p Priority, change func(*tx, *record) error) (domain.Datasource, error) {
	var r record
	err := c.update(ctx, doing, func(t *tx) (err error) {
		if r, err = readOwn(ctx, t, ws, id); err != nil {
			return err
		}
		if err := change(t, &r); err != nil {
			return err
		}
		r.UpdatedAt = fromMicros(c.stamp())
		return c.restart(ctx, t, &r, job, p)
	})
	return r.Datasource, err
}

// restart makes the job the record's newest, stores the record and puts the job into the outbox.
func (c *Catalog) restart(ctx context.Context, t *tx, r *record, job domain.Job, p Priority) error {
	m, err := model(ctx, t, r.DatastoreID)
	if err != nil {
		return found(err, "datastore", r.DatastoreID)
	}
	job = r.accept(job, m)
	if err := r.store(ctx, t, micros(r.UpdatedAt)); err != nil {
		return err
	}
	if err := c.enqueue(ctx, t, job, p); err != nil {
		return err
	}
	_, err = c.settleSite(ctx, t, r.GroupID, r.UpdatedAt)
	return err
}

// DeleteDatasource deletes the datasource, and the pages of a site with it, and returns it. From the commit on nothing of
// it is active; its rows, originals and messages are swept.
func (c *Catalog) DeleteDatasource(ctx context.Context, ws, id string) (domain.Datasource, error) {
	var r record
	err := c.update(ctx, "deleting a datasource", func(t *tx) (err error) {
		if r, err = readOwn(ctx, t, ws, id); err != nil {
			return err
		}
		doomed := []record{r}
		if r.Type == domain.TypeWebSite {
			pages, err := collect(ctx, t, scanRecord,
				`SELECT `+recordColumns+` FROM datasources WHERE group_id = ? AND group_id <> ''`, id)
			if err != nil {
				return fmt.Errorf("listing pages: %w", err)
			}
			doomed = append(doomed, pages...)
			if _, err := t.exec(ctx, `DELETE FROM datasources WHERE group_id = ? AND group_id <> ''`, id); err != nil {
				return err
			}
		}
		if _, err := t.exec(ctx, `DELETE FROM datasources WHERE id = ?`, id); err != nil {
			return err
		}
		for _, d := range doomed {
			if err := c.sweepDeleted(ctx, t, d, r.GroupID != ""); err != nil {
				return err
			}
		}
		_, err = c.settleSite(ctx, t, r.GroupID, fromMicros(c.stamp()))
		return err
	})
	return r.Datasource, err
}

// sweepDeleted queues the sweep of everything that a deleted datasource has left.
func (c *Catalog) sweepDeleted(ctx context.Context, t *tx, r record, mayReturn bool) error {
	s := domain.Sweep{WorkspaceID: r.WorkspaceID, DatastoreID: r.DatastoreID, DatasourceID: r.ID, Below: domain.AllGenerations, Jobs: true}
	if r.Original != nil {
		s.Originals = []string{r.Original.Key}
	}
	if mayReturn {
		// The id of a page follows from its address: the next crawl of the site may make it again, and the sweep must
		// not take what that writes. Every generation of the deleted page is at most the highest one known, or ends in
		// an event that has its rows swept.
		mark, err := readMark(ctx, t)
		if err != nil {
			return err
		}
		s.Below = mark + 1
	}
	return queueSweep(ctx, t, s)
}
