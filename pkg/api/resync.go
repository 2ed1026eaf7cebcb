package api

import (
	"context"

	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/idempotency"
	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// JobQueue queues jobs for existing datasources.
type JobQueue interface {
	// NewJob returns a job for the datasource, to pass to Requeue.
	NewJob(ctx context.Context, d domain.Datasource, kind domain.JobKind) (domain.Job, error)
	Requeue(ctx context.Context, ws, id string, job domain.Job, p catalog.Priority) (domain.Datasource, error)
	// Replay queues a batch of the datasources selected by the filter, at a lower priority than new content. It returns
	// the batch's size and the next batch's cursor, or "" after the last batch.
	Replay(ctx context.Context, f catalog.ReplayFilter, cursor string) (queued int64, next string, err error)
}

// ResyncDatasource implements StrictServerInterface.
func (s *server) ResyncDatasource(ctx context.Context, r ResyncDatasourceRequestObject) (ResyncDatasourceResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	d, err := s.datasource(ctx, caller, r.Id)
	if err != nil {
		return nil, err
	}
	fetch := fetches(r.Body)
	if d.Type == domain.TypeWebSite && !fetch {
		queued, err := s.replay(ctx, catalog.ReplayFilter{WorkspaceID: caller.Workspace(), GroupID: d.ID, Force: true})
		if err != nil {
			return nil, err
		}
		return ResyncDatasource200JSONResponse{Queued: queued}, nil
	}
	kind := domain.JobIngest
	if fetch && isWeb(d) {
		kind = domain.JobCrawl
	}
	if kind == domain.JobIngest && d.Original == nil {
		return nil, domain.Errorf(domain.CodeConflict, `datasource %q has no stored content to re-index; use {"mode": "refresh"} to fetch it`, d.ID)
	}
	if err := s.requeue(ctx, d, kind, catalog.PriorityFresh); err != nil {
		return nil, err
	}
	return ResyncDatasource200JSONResponse{Queued: 1}, nil
}

// ResyncDatastore implements StrictServerInterface.
func (s *server) ResyncDatastore(ctx context.Context, r ResyncDatastoreRequestObject) (ResyncDatastoreResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	store, err := s.datastore(ctx, caller, r.Id)
	if err != nil {
		return nil, err
	}
	queued, err := s.replay(ctx, catalog.ReplayFilter{
		WorkspaceID: caller.Workspace(), DatastoreID: store.ID, Fetch: fetches(r.Body), Force: true,
	})
	return ResyncDatastore200JSONResponse{Queued: queued}, err
}

func fetches(r *Resync) bool { return r != nil && r.Mode != nil && *r.Mode == ResyncModeRefresh }

func isWeb(d domain.Datasource) bool {
	return d.Type == domain.TypeWebPage || d.Type == domain.TypeWebSite
}

// replay queues all datasources selected by the filter, at a lower priority than new content, and returns how many it
// queued.
func (s *server) replay(ctx context.Context, f catalog.ReplayFilter) (queued int64, err error) {
	f.ReplayID, f.Priority = idempotency.ID(ctx, s.NewID, "replay"), catalog.PriorityReplay
	for cursor := ""; ; {
		n, next, err := s.Jobs.Replay(ctx, f, cursor)
		queued += n
		if err != nil || next == "" {
			return queued, err
		}
		cursor = next
	}
}

// requeue queues a datasource again. Its content is processed even if it is unchanged, because the caller asked for it.
func (s *server) requeue(ctx context.Context, d domain.Datasource, kind domain.JobKind, p catalog.Priority) error {
	job, err := s.Jobs.NewJob(ctx, d, kind)
	if err != nil {
		return err
	}
	job.Force = true
	if _, err = s.Jobs.Requeue(ctx, d.WorkspaceID, d.ID, job, p); err != nil {
		return err
	}
	s.Watcher.Changed(d.DatastoreID, d.ID)
	return nil
}
