package catalog

import (
	"context"

	"github.com/sluice/sluice/pkg/domain"
)

// Replacement is new content for a datasource that exists. A nil field leaves what is there.
type Replacement struct {
	Name     *string
	Metadata *map[string]any
	CustomID *string
	FileName *string
	Original domain.Original // its type, size and hash go into the datasource's config
	Job      domain.Job      // of kind ingest; only ID and Force are taken, the rest follows from the datasource
	Priority Priority
}

// ReplaceContent gives the datasource new content: its job goes into the outbox, the status back to unsynched, and the
// original before is swept. What is active stays searchable until the job is done. The result is the datasource as it
// is then; its JobID is the new job's. A web_site has no content of its own and fails with domain.CodeInvalid.
func (c *Catalog) ReplaceContent(ctx context.Context, ws, id string, n Replacement) (domain.Datasource, error) {
	n.Job.Kind = domain.JobIngest
	var r record
	err := c.update(ctx, "replacing content", func(t *tx) error {
		return c.withRoom(ctx, t, ws, func() (err error) {
			r, err = c.reopenIn(ctx, t, ws, id, n.Job, n.Priority, func(t *tx, r *record) error { return c.replace(ctx, t, r, n) })
			return err
		})
	})
	return r.Datasource, err
}

// replace changes the record in memory and queues the sweep of the original before.
func (c *Catalog) replace(ctx context.Context, t *tx, r *record, n Replacement) error {
	if r.Type == domain.TypeWebSite {
		return domain.Invalid("id", "datasource %s is a web site, whose content is its pages", r.ID)
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
	r.Config.ETag, r.Config.LastModified = "", "" // they were those of what was fetched: the next fetch is to bring the page back
	r.UpdatedAt = fromMicros(c.stamp())
	if old == nil || old.Key == o.Key {
		return nil
	}
	return queueSweep(ctx, t, domain.Sweep{
		WorkspaceID: r.WorkspaceID, DatastoreID: r.DatastoreID, DatasourceID: r.ID, Originals: []string{old.Key},
	})
}

// Requeue puts another job for the datasource into the outbox, in place of one that waits there: for a resync. Of the
// job only ID, Kind, Crawl and Force are taken. The status goes back to unsynched while what is active stays searchable. An
// ingest job of a datasource without an original fails with domain.CodeConflict.
func (c *Catalog) Requeue(ctx context.Context, ws, id string, job domain.Job, p Priority) (domain.Datasource, error) {
	return c.reopen(ctx, "queueing a datasource again", ws, id, job, p, func(_ *tx, r *record) error {
		if job.Kind == domain.JobIngest && r.Original == nil {
			return domain.Errorf(domain.CodeConflict, "datasource %q has no stored content to read again; fetch or upload it", id)
		}
		return nil
	})
}

// Description is what a datasource is called. A nil field leaves what is there.
type Description struct {
	Name     *string
	Metadata *map[string]any
	CustomID *string
	Web      *domain.WebPatch // changes with it how the datasource is fetched, or nothing does: see UpdateWebConfig
}

// Describe changes what a datasource is called, and queues the ingest job that has the index say so, too; of the job only ID is taken. A
// datasource that has no content yet gets none: whatever brings the content will have the new description, as will a web_site's
// next crawl. One that is being fetched again fails with domain.CodeConflict.
func (c *Catalog) Describe(ctx context.Context, ws, id string, d Description, job domain.Job) (domain.Datasource, error) {
	job.Kind = domain.JobIngest
	var r record
	err := c.update(ctx, "describing a datasource", func(t *tx) error {
		var store domain.Datastore
		var err error
		if r, store, err = t.take(ctx, id); err != nil {
			return found(err, "datasource", id)
		}
		if r.WorkspaceID != ws {
			return domain.NotFound("datasource", id)
		}
		if d.Web != nil {
			if err := c.fetchBy(ctx, t, &r, *d.Web); err != nil {
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
		r.UpdatedAt = fromMicros(c.stamp())
		switch {
		case r.Original == nil:
			if err := r.store(ctx, t, micros(r.UpdatedAt)); err != nil || r.Type != domain.TypeWebSite {
				return err
			}
			_, err := c.settleSite(ctx, t, r.ID, r.UpdatedAt)
			return err
		case r.jobKind == domain.JobCrawl && !r.Status.Terminal():
			// Should it turn out not to have changed, nobody would write the description into the index.
			return domain.Errorf(domain.CodeConflict, "datasource %q is being fetched; change it when that is done", id)
		}
		return c.restart(ctx, t, &r, store, job, PriorityFresh)
	})
	return r.Datasource, err
}

func (c *Catalog) reopen(ctx context.Context, doing, ws, id string, job domain.Job, p Priority, change func(*tx, *record) error) (domain.Datasource, error) {
	var r record
	err := c.update(ctx, doing, func(t *tx) (err error) {
		r, err = c.reopenIn(ctx, t, ws, id, job, p, change)
		return err
	})
	return r.Datasource, err
}

func (c *Catalog) reopenIn(ctx context.Context, t *tx, ws, id string, job domain.Job, p Priority, change func(*tx, *record) error) (record, error) {
	r, store, err := t.take(ctx, id)
	if err != nil {
		return record{}, found(err, "datasource", id)
	}
	if r.WorkspaceID != ws {
		return record{}, domain.NotFound("datasource", id)
	}
	if err := change(t, &r); err != nil {
		return r, err
	}
	r.UpdatedAt = fromMicros(c.stamp())
	return r, c.restart(ctx, t, &r, store, job, p)
}

// restart makes the job the record's newest, stores the record and puts the job into the outbox.
func (c *Catalog) restart(ctx context.Context, t *tx, r *record, store domain.Datastore, job domain.Job, p Priority) error {
	job = r.accept(job, store)
	if err := c.begin(ctx, t, r, job); err != nil {
		return err
	}
	if err := r.store(ctx, t, micros(r.UpdatedAt)); err != nil {
		return err
	}
	if err := c.enqueue(ctx, t, job, p); err != nil {
		return err
	}
	_, err := c.settleSite(ctx, t, r.GroupID, r.UpdatedAt)
	return err
}

// accept makes the job the record's newest: what is there waits for it from now on. It returns the job as it is to be
// published: everything but its id, its kind, whether it is forced, what to fetch and for which move it is follows from
// the record and the datastore.
func (r *record) accept(asked domain.Job, store domain.Datastore) domain.Job {
	var job domain.Job
	switch {
	case asked.Kind == domain.JobCrawl:
		job = domain.NewCrawlJob(r.Datasource, store)
		if asked.Crawl != nil {
			job.Crawl = asked.Crawl
		}
		r.Resume = nil
	case asked.Move != "" && store.Move != nil && asked.Move == store.Move.ID:
		job = domain.NewMoveJob(r.Datasource, store)
		r.Runs++
	default:
		job = domain.NewIngestJob(r.Datasource, store)
		r.Resume = nil
		r.Runs++
	}
	job.ID, job.Force = asked.ID, asked.Force
	r.JobID, r.jobKind, r.place = job.ID, job.Kind, placeOutbox
	r.Status, r.Error, r.Progress = domain.StatusUnsynched, "", domain.Progress{}
	if job.Force {
		r.Inputs = "" // what is fetched is read, also when it has not changed
	}
	if job.Kind == domain.JobCrawl {
		r.queued = micros(r.UpdatedAt)
	}
	if r.Type == domain.TypeWebSite {
		r.runID, r.capped = job.ID, false
		r.BeginCrawl(r.UpdatedAt)
	}
	return job
}
