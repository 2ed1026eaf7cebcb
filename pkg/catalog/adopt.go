package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/sluice/sluice/pkg/domain"
)

// Adopted says what Adopt has taken over.
type Adopted string

// What can be taken over.
const (
	NothingAdopted  Adopted = ""
	AdoptedContent  Adopted = "brought up to date"
	AdoptedUnknown  Adopted = "restored"
	recoveredPrefix         = "Recovered "
)

// Adopt takes over the last job of a datasource in the job log, its Generation set, when the catalog does not know that
// job: after an older copy of the database was put in place. A datasource that is unknown is created as far as the job
// tells, with its workspace and its datastore under a name that says so; one that is known takes over the name, the custom
// id, the metadata and the original. Either is queued again, behind fresh content. What the catalog knows of, what is
// being deleted, and what has been accepted since is left alone; so adopting again changes nothing.
func (c *Catalog) Adopt(ctx context.Context, job domain.Job) (Adopted, error) {
	what := NothingAdopted
	if job.Move != "" || job.Kind == domain.JobIngest && job.Original == nil || job.Kind == domain.JobCrawl && job.Crawl == nil {
		return what, nil // it carries nothing that an earlier job has not
	}
	// Mostly it is known, of a whole log that is gone through: without a transaction.
	r, err := scanRecord(c.db.read.queryRow(ctx, `SELECT `+recordColumns+` FROM datasources WHERE id = ?`, job.DatasourceID))
	switch {
	case err == nil && r.knows(job):
		return what, nil
	case err != nil && !errors.Is(err, sql.ErrNoRows):
		return what, fmt.Errorf("reading datasource %s: %w", job.DatasourceID, err)
	}
	err = c.update(ctx, "taking over a job of the job log", func(t *tx) error {
		what = NothingAdopted
		r, store, err := t.take(ctx, job.DatasourceID)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			what, err = c.adoptUnknown(ctx, t, job)
		case err != nil:
			return err
		case !r.knows(job):
			what, err = AdoptedContent, c.adoptContent(ctx, t, r, store, job)
		}
		if err != nil || what == NothingAdopted {
			return err
		}
		return c.raiseMark(ctx, t, job.Generation)
	})
	if err != nil {
		return NothingAdopted, err
	}
	if what != NothingAdopted {
		c.noteMark(job.Generation)
	}
	return what, nil
}

// knows reports whether the record is of the job, or of something later.
func (r *record) knows(job domain.Job) bool {
	if job.ID == r.JobID || job.Generation <= max(r.seen, r.ActiveGeneration, r.Fence) {
		return true
	}
	mine, theirs := sortable(r.JobID), sortable(job.ID)
	if mine && theirs {
		return r.JobID > job.ID // both tell when they were made
	}
	return r.place == placeOutbox // what was accepted and not published is in no log
}

// sortable reports whether the id tells the time at which it was made.
func sortable(id string) bool {
	u, err := uuid.Parse(id)
	return err == nil && u.Version() == 7
}

func (c *Catalog) adoptContent(ctx context.Context, t *tx, r record, store domain.Datastore, job domain.Job) error {
	if job.Kind == domain.JobIngest {
		err := c.replace(ctx, t, &r, Replacement{Name: &job.Name, Metadata: &job.Metadata, CustomID: &job.CustomID, Original: *job.Original})
		if err != nil {
			return err
		}
	}
	r.seen = max(r.seen, job.Generation)
	r.UpdatedAt = fromMicros(c.stamp())
	return c.restart(ctx, t, &r, store, again(job), PriorityReplay)
}

// again is a job that does what the one of the log did, under an id that no stream has seen. A page is fetched whole: what
// it had when the job of the log was made may be content that the catalog does not know.
func again(job domain.Job) domain.Job {
	next := domain.Job{ID: domain.NewID(), Kind: job.Kind}
	if job.Crawl != nil {
		spec := *job.Crawl
		spec.ETag, spec.LastModified = "", ""
		next.Crawl = &spec
	}
	return next
}

func (c *Catalog) adoptUnknown(ctx context.Context, t *tx, job domain.Job) (Adopted, error) {
	store, err := c.adoptStore(ctx, t, job)
	if err != nil || store == nil {
		return NothingAdopted, err
	}
	r := record{Datasource: recovered(job), seen: job.Generation}
	r.CreatedAt = fromMicros(c.stamp())
	r.UpdatedAt = r.CreatedAt
	next := r.accept(again(job), *store)
	if job.GroupID != "" {
		r.runID = job.GroupID // of no crawl of its site: the next one asks for it
	}
	if err := r.insert(ctx, t, domain.Errorf(domain.CodeConflict, "datasource %q has just come back", r.ID)); err != nil {
		return NothingAdopted, err
	}
	if err := adoptedPages(ctx, t, r); err != nil {
		return NothingAdopted, err
	}
	return AdoptedUnknown, c.enqueue(ctx, t, next, PriorityReplay)
}

// adoptStore returns the datastore of a job whose datasource is unknown, made if need be; nil when it, or the datasource,
// has been deleted and the log has not been told yet, or belongs to another workspace.
func (c *Catalog) adoptStore(ctx context.Context, t *tx, job domain.Job) (*domain.Datastore, error) {
	var one int
	err := t.queryRow(ctx, `SELECT 1 FROM sweeps WHERE datastore_id = ? AND datasource_id IN ('', ?) AND jobs = 1 LIMIT 1`,
		job.DatastoreID, job.DatasourceID).Scan(&one)
	if !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	store, err := t.datastore(ctx, job.DatastoreID)
	if err == nil && store.WorkspaceID == job.WorkspaceID {
		return &store, nil
	}
	if err == nil || !errors.Is(err, sql.ErrNoRows) || len(job.Places) == 0 {
		return nil, err
	}
	at := c.stamp()
	if _, err := t.exec(ctx, `INSERT INTO workspaces (id, name, created_at) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING`,
		job.WorkspaceID, recoveredPrefix+"workspace", at); err != nil {
		return nil, fmt.Errorf("restoring the workspace: %w", err)
	}
	store = domain.Datastore{
		ID: job.DatastoreID, WorkspaceID: job.WorkspaceID, Name: recoveredPrefix + "datastore", Type: job.Places[0].Engine,
		EmbeddingModel: job.Places[0].Model, Visibility: domain.Private, Chunking: job.Chunking,
	}
	n, err := insertDatastore(ctx, t, store, at)
	if err != nil {
		return nil, fmt.Errorf("restoring the datastore: %w", err)
	}
	if n == 0 { // its id is that of one which is being deleted
		return nil, nil
	}
	return &store, nil
}

// recovered is a datasource as far as a job tells.
func recovered(job domain.Job) domain.Datasource {
	d := domain.Datasource{
		ID: job.DatasourceID, WorkspaceID: job.WorkspaceID, DatastoreID: job.DatastoreID, GroupID: job.GroupID, Type: job.Type,
		Name: job.Name, CustomID: job.CustomID, Metadata: job.Metadata, Original: job.Original,
		Config: domain.DatasourceConfig{CustomID: job.CustomID},
		Runs:   1, // which may have left rows that nobody refers to: the next run sweeps them
	}
	if o := job.Original; o != nil {
		d.Config.MIMEType, d.Config.FileSize, d.Config.SHA256 = o.MIMEType, o.Size, o.SHA256
		if job.Type == domain.TypeWebPage {
			d.Config.SourceURL = o.Name
		} else {
			d.Config.FileName = o.Name
		}
	}
	if spec := job.Crawl; spec != nil {
		d.Config.SourceURL, d.Config.Sitemap, d.Config.Depth = spec.URL, spec.Sitemap, spec.Depth
		if job.GroupID == "" {
			d.Config.Access = spec.Access
		}
		if job.Type == domain.TypeWebSite && spec.Site != nil {
			d.Config.Include, d.Config.Exclude, d.Config.MaxDepth = spec.Site.Include, spec.Site.Exclude, spec.Site.MaxDepth
		}
	}
	return d
}
