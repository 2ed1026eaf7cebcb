package resources

import (
	"context"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/domain"
)

// Replacement is new content for an existing datasource. Nil fields keep the old value.
type Replacement struct {
	Type     domain.DatasourceType // the datasource's type, for which the content was checked; "" skips the comparison
	Name     *string
	Metadata *map[string]any
	CustomID *string
	FileName *string
	Original domain.Original // its type, size and hash are copied to the datasource's config
	Job      domain.Job      // an ingest job; only ID and Force are used, everything else comes from the datasource
	Priority record.Priority
}

// ReplaceContent replaces the datasource's content: it queues an ingest job and a sweep for the old original, and sets
// the status to unsynched. Active content stays searchable until the job is done. ReplaceContent returns the updated
// datasource, including the new JobID. It fails with domain.CodeInvalid for a web_site, which has no content of its
// own, and with domain.CodeConflict if the datasource no longer has the expected type.
func (c *Resources) ReplaceContent(ctx context.Context, ws, id string, n Replacement) (domain.Datasource, error) {
	n.Job.Kind = domain.JobIngest
	var r record.Record
	err := c.db.Update(ctx, "replacing content", func(t *db.Tx) error {
		return c.accounts.WithinStorage(ctx, t, ws, func() (err error) {
			r, err = c.reopenIn(ctx, t, ws, id, n.Job, n.Priority, func(t *db.Tx, r *record.Record) error { return Replace(ctx, t, r, n) })
			return err
		})
	})
	return r.Datasource, err
}

// Replace applies the new content to the record and queues a sweep for the old original. It does not store the record.
func Replace(ctx context.Context, t *db.Tx, r *record.Record, n Replacement) error {
	if r.Type == domain.TypeWebSite {
		return domain.Invalid("id", "datasource %s is a web site, which has no content of its own; update one of its pages", r.ID)
	}
	if n.Type != "" && n.Type != r.Type {
		return domain.Errorf(domain.CodeConflict, "datasource %q now has the type %s instead of %s; read it again before replacing its content", r.ID, r.Type, n.Type)
	}
	if n.Name != nil {
		r.Name, r.Config.NamedByDocument = *n.Name, false
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
	old, o := r.Original, n.Original
	r.Original = &o
	r.Config.MIMEType, r.Config.FileSize, r.Config.SHA256 = o.MIMEType, o.Size, o.SHA256
	r.Config.ETag, r.Config.LastModified = "", "" // they belong to the fetched content, and the next fetch must return the whole page
	r.UpdatedAt = db.FromMicros(t.Stamp())
	r.Config.ChangedAt = r.UpdatedAt
	if old == nil || old.Key == o.Key {
		return nil
	}
	return record.QueueSweep(ctx, t, domain.Sweep{
		WorkspaceID: r.WorkspaceID, DatastoreID: r.DatastoreID, DatasourceID: r.ID, Originals: []string{old.Key},
	})
}

// Requeue queues another job for the datasource, replacing any that is waiting in the outbox. It uses only the job's
// ID, Kind, Crawl and Force. The status becomes unsynched, but active content stays searchable. Requeue fails with
// domain.CodeConflict for an ingest job if the datasource has no original.
func (c *Resources) Requeue(ctx context.Context, ws, id string, job domain.Job, p record.Priority) (domain.Datasource, error) {
	return c.reopen(ctx, "queueing a datasource again", ws, id, job, p, func(_ *db.Tx, r *record.Record) error {
		if job.Kind == domain.JobIngest && r.Original == nil {
			return domain.Errorf(domain.CodeConflict, "datasource %q has no stored content to re-index; fetch or upload it", id)
		}
		return nil
	})
}

// Description changes a datasource's name, metadata, custom id or fetch settings. Nil fields keep the old value.
type Description struct {
	Name     *string
	Metadata *map[string]any
	CustomID *string
	Web      *domain.WebPatch // fetch settings, changed in the same transaction; see UpdateWebConfig
}

// Describe changes a datasource's description and queues an ingest job that updates the index. It uses only the ID from
// `job`. Some datasources get no job: a datasource without content is described when it is first ingested, and sites
// and archives only pass the description on to pages and files added later. Describe fails with domain.CodeConflict
// while the datasource is being fetched again.
func (c *Resources) Describe(ctx context.Context, ws, id string, d Description, job domain.Job) (domain.Datasource, error) {
	job.Kind = domain.JobIngest
	var r record.Record
	err := c.db.Update(ctx, "describing a datasource", func(t *db.Tx) error {
		var store domain.Datastore
		var err error
		if r, store, err = record.LockDatasourceOf(ctx, t, ws, id); err != nil {
			return err
		}
		if d.Web != nil {
			if err := c.sites.FetchBy(ctx, t, &r, *d.Web); err != nil {
				return err
			}
		}
		if d.Name != nil {
			r.Name, r.Config.NamedByDocument = *d.Name, false
		}
		if d.Metadata != nil {
			r.Metadata = *d.Metadata
		}
		if d.CustomID != nil {
			r.CustomID, r.Config.CustomID = *d.CustomID, *d.CustomID
		}
		r.UpdatedAt = db.FromMicros(c.db.Stamp())
		if d.Name != nil || d.Metadata != nil || d.CustomID != nil {
			r.Config.ChangedAt = r.UpdatedAt
		}
		switch {
		case r.Original == nil || r.Type.IsGroup():
			if err := r.Store(ctx, t, db.Micros(r.UpdatedAt)); err != nil || !r.Type.IsGroup() {
				return err
			}
			_, err := c.sites.SettleSite(ctx, t, r.ID, r.UpdatedAt)
			return err
		case r.JobKind == domain.JobCrawl && !r.Status.Terminal():
			// If the fetch then finds that the content is unchanged, no job will write the new description to the
			// index.
			return domain.Errorf(domain.CodeConflict, "datasource %q is being fetched; change it when the fetch has finished", id)
		}
		return c.sites.Restart(ctx, t, &r, store, job, record.PriorityFresh)
	})
	return r.Datasource, err
}

func (c *Resources) reopen(ctx context.Context, action, ws, id string, job domain.Job, p record.Priority, change func(*db.Tx, *record.Record) error) (domain.Datasource, error) {
	var r record.Record
	err := c.db.Update(ctx, action, func(t *db.Tx) (err error) {
		r, err = c.reopenIn(ctx, t, ws, id, job, p, change)
		return err
	})
	return r.Datasource, err
}

func (c *Resources) reopenIn(ctx context.Context, t *db.Tx, ws, id string, job domain.Job, p record.Priority, change func(*db.Tx, *record.Record) error) (record.Record, error) {
	r, store, err := record.LockDatasourceOf(ctx, t, ws, id)
	if err != nil {
		return record.Record{}, err
	}
	if err := change(t, &r); err != nil {
		return r, err
	}
	r.UpdatedAt = db.FromMicros(t.Stamp())
	return r, c.sites.Restart(ctx, t, &r, store, job, p)
}
