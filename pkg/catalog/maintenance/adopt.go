package maintenance

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/catalog/resources"
	"github.com/sluice/sluice/pkg/catalog/sites"
	"github.com/sluice/sluice/pkg/domain"
)

// Adopted says what Adopt did.
type Adopted string

// Values of Adopted, and the prefix for the names of recovered workspaces and datastores.
const (
	NothingAdopted  Adopted = ""
	AdoptedContent  Adopted = "brought up to date"
	AdoptedUnknown  Adopted = "restored"
	recoveredPrefix         = "Recovered "
)

// Adopt adopts a datasource's last job from the job log if the catalog doesn't know the job. This can happen after the
// database was replaced with an older copy. The job's Generation must be set.
//
// If the datasource is unknown, Adopt creates it from the job. If necessary, it also creates the workspace and the
// datastore, with names that say they were recovered. A known datasource gets the job's name, custom id, metadata and
// original. In both cases, the datasource is queued again with the priority of replays.
//
// If the datasource is up to date, was deleted, or has changed since the job was published, Adopt changes nothing, so
// calling it twice is harmless.
func (c *Maintenance) Adopt(ctx context.Context, job domain.Job) (Adopted, error) {
	what := NothingAdopted
	if job.Move != "" || job.Kind.Ingests() && job.Original == nil || job.Kind == domain.JobCrawl && job.Crawl == nil {
		return what, nil // such a job adds nothing to earlier jobs
	}
	// Check without a transaction first: this runs for every job in the log, and most datasources are known.
	r, err := record.Scan(c.db.Read.QueryRow(ctx, `SELECT `+record.Columns+` FROM datasources WHERE id = ?`, job.DatasourceID))
	switch {
	case err == nil && includesJob(&r, job):
		return what, nil
	case err != nil && !errors.Is(err, sql.ErrNoRows):
		return what, fmt.Errorf("reading datasource %s: %w", job.DatasourceID, err)
	}
	err = c.db.Update(ctx, "importing a job from the job log", func(t *db.Tx) error {
		what = NothingAdopted
		r, store, err := record.LockDatasource(ctx, t, job.DatasourceID)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			what, err = adoptUnknown(ctx, t, job)
		case err != nil:
			return err
		case !includesJob(&r, job):
			what, err = AdoptedContent, c.adoptContent(ctx, t, r, store, job)
		}
		if err != nil || what == NothingAdopted {
			return err
		}
		return c.pipeline.RaiseMark(ctx, t, job.Generation)
	})
	if err != nil {
		return NothingAdopted, err
	}
	if what != NothingAdopted {
		c.pipeline.MarkStored(job.Generation)
	}
	return what, nil
}

// includesJob reports whether the record already reflects this job or a later one.
func includesJob(r *record.Record, job domain.Job) bool {
	if job.ID == r.JobID || job.Generation <= max(r.Seen, r.ActiveGeneration, r.Fence) {
		return true
	}
	mine, theirs := isTimeOrdered(r.JobID), isTimeOrdered(job.ID)
	if mine && theirs {
		return r.JobID > job.ID // both ids contain their creation time
	}
	return r.Location == record.InOutbox // the record's job has not been published yet, so the log lacks it
}

// isTimeOrdered reports whether the id is a UUIDv7, which starts with its creation time.
func isTimeOrdered(id string) bool {
	u, err := uuid.Parse(id)
	return err == nil && u.Version() == 7
}

func (c *Maintenance) adoptContent(ctx context.Context, t *db.Tx, r record.Record, store domain.Datastore, job domain.Job) error {
	if job.Kind.Ingests() {
		err := resources.Replace(ctx, t, &r, resources.Replacement{Name: &job.Name, Metadata: &job.Metadata, CustomID: &job.CustomID, Original: *job.Original})
		if err != nil {
			return err
		}
	}
	r.Seen = max(r.Seen, job.Generation)
	r.UpdatedAt = db.FromMicros(t.Stamp())
	return c.sites.Restart(ctx, t, &r, store, newJobFor(job), record.PriorityReplay)
}

// newJobFor returns a copy of the job with a new id, because the stream drops jobs with known ids. The copy of a page's
// job makes an unconditional request, because the catalog may lack the content that the job's cache validators refer
// to.
func newJobFor(job domain.Job) domain.Job {
	next := domain.Job{ID: domain.NewID(), Kind: job.Kind}
	if job.Crawl != nil {
		spec := *job.Crawl
		spec.ETag, spec.LastModified = "", ""
		next.Crawl = &spec
	}
	return next
}

func adoptUnknown(ctx context.Context, t *db.Tx, job domain.Job) (Adopted, error) {
	deleted, err := isDeleted(ctx, t, job)
	if err != nil || deleted {
		return NothingAdopted, err
	}
	store, err := adoptStore(ctx, t, job)
	if err != nil || store == nil {
		return NothingAdopted, err
	}
	r := record.Record{Datasource: datasourceFromJob(job), Seen: job.Generation}
	r.CreatedAt = db.FromMicros(t.Stamp())
	r.UpdatedAt = r.CreatedAt
	next := r.Accept(newJobFor(job), *store)
	if job.GroupID != "" {
		r.RunID = job.GroupID // not a crawl's id, so that the site's next crawl fetches the page
	}
	if err := r.Insert(ctx, t, domain.Errorf(domain.CodeConflict, "datasource %q was just restored", r.ID)); err != nil {
		return NothingAdopted, err
	}
	if err := sites.AdoptedPages(ctx, t, r); err != nil {
		return NothingAdopted, err
	}
	return AdoptedUnknown, record.Enqueue(ctx, t, next, record.PriorityReplay)
}

// isDeleted reports whether the datastore or datasource of a job was deleted. It is called for datasources that the
// catalog doesn't contain.
//
// The log may contain a job for a datasource whose data has already been swept. When a job replaces an earlier one for
// the same datasource, NATS removes the earlier job without recording that on disk. If the datasource is then deleted,
// NATS records only the removal of the last job. After a crash, the earlier job is back in the log, so isDeleted queues
// another sweep.
//
// Such a job's generation doesn't exceed the catalog's highest generation, and that is how isDeleted recognises it. If
// no other process writes to the catalog, this check is enough, because at startup the service adopts newer jobs before
// it publishes any.
func isDeleted(ctx context.Context, t *db.Tx, job domain.Job) (bool, error) {
	sweeping, err := db.Exists(ctx, t, `SELECT 1 FROM sweeps WHERE datastore_id = ? AND datasource_id IN ('', ?) AND jobs = 1 LIMIT 1`,
		job.DatastoreID, job.DatasourceID)
	if err != nil || sweeping || t.IsShared() {
		return sweeping, err
	}
	mark, err := record.ReadMark(ctx, t)
	if err != nil || job.Generation > mark {
		return false, err
	}
	return true, record.QueueSweep(ctx, t, domain.Sweep{
		WorkspaceID: job.WorkspaceID, DatastoreID: job.DatastoreID, DatasourceID: job.DatasourceID, Below: job.Generation + 1, Jobs: true,
	})
}

// adoptStore returns the datastore for a job whose datasource is unknown, creating it if necessary. It returns nil if
// the datastore is being deleted or belongs to another workspace.
func adoptStore(ctx context.Context, t *db.Tx, job domain.Job) (*domain.Datastore, error) {
	store, err := record.ShareDatastore(ctx, t, job.DatastoreID)
	if err == nil && store.WorkspaceID == job.WorkspaceID {
		return &store, nil
	}
	if err == nil || !errors.Is(err, sql.ErrNoRows) || len(job.Places) == 0 {
		return nil, err
	}
	at := t.Stamp()
	if _, err := t.Exec(ctx, `INSERT INTO workspaces (id, name, created_at) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING`,
		job.WorkspaceID, recoveredPrefix+"workspace", at); err != nil {
		return nil, fmt.Errorf("restoring the workspace: %w", err)
	}
	store = domain.Datastore{
		ID: job.DatastoreID, WorkspaceID: job.WorkspaceID, Name: recoveredPrefix + "datastore", Type: job.Places[0].Engine,
		EmbeddingModel: job.Places[0].Model, Visibility: domain.Private, Chunking: job.Chunking, CreatedAt: db.FromMicros(at), UpdatedAt: db.FromMicros(at),
	}
	n, err := record.InsertDatastore(ctx, t, store)
	if err != nil {
		return nil, fmt.Errorf("restoring the datastore: %w", err)
	}
	if n == 0 { // a datastore with this id is being deleted
		return nil, nil
	}
	return &store, nil
}

// datasourceFromJob recreates a datasource from the data in its job.
func datasourceFromJob(job domain.Job) domain.Datasource {
	d := domain.Datasource{
		ID: job.DatasourceID, WorkspaceID: job.WorkspaceID, DatastoreID: job.DatastoreID, GroupID: job.GroupID, Type: job.Type,
		Name: job.Name, CustomID: job.CustomID, Metadata: job.Metadata, Original: job.Original,
		Config:     domain.DatasourceConfig{CustomID: job.CustomID},
		Processing: domain.Processing{Runs: 1}, // the job may have left inactive rows, which the next run sweeps
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
