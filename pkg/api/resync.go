package api

import (
	"context"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// ResyncDatasource implements StrictServerInterface.
func (s *server) ResyncDatasource(ctx context.Context, r ResyncDatasourceRequestObject) (ResyncDatasourceResponseObject, error) {
	ctx, who := callerOf(ctx)
	d, err := s.datasource(ctx, who, r.Id)
	if err != nil {
		return nil, err
	}
	fetch := fetches(r.Body)
	if d.Type == domain.TypeWebSite && !fetch {
		queued, err := s.resyncAll(ctx, who.workspace(), catalog.DatasourceFilter{GroupID: d.ID}, false)
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
		return nil, domain.Errorf(domain.CodeConflict, `datasource %q has no content yet that could be read again; use {"mode": "refresh"} to fetch it`, d.ID)
	}
	if err := s.requeue(ctx, d, kind, catalog.PriorityFresh); err != nil {
		return nil, err
	}
	return ResyncDatasource200JSONResponse{Queued: 1}, nil
}

// ResyncDatastore implements StrictServerInterface.
func (s *server) ResyncDatastore(ctx context.Context, r ResyncDatastoreRequestObject) (ResyncDatastoreResponseObject, error) {
	ctx, who := callerOf(ctx)
	store, err := s.datastore(ctx, who, r.Id)
	if err != nil {
		return nil, err
	}
	queued, err := s.resyncAll(ctx, who.workspace(), catalog.DatasourceFilter{DatastoreID: store.ID}, fetches(r.Body))
	if err != nil {
		return nil, err
	}
	return ResyncDatastore200JSONResponse{Queued: queued}, nil
}

func fetches(r *Resync) bool { return r != nil && r.Mode != nil && *r.Mode == ResyncModeRefresh }

func isWeb(d domain.Datasource) bool {
	return d.Type == domain.TypeWebPage || d.Type == domain.TypeWebSite
}

// resyncAll queues what passes the filter, behind all fresh content, and counts it. One that is deleted meanwhile is
// left out.
func (s *server) resyncAll(ctx context.Context, ws string, f catalog.DatasourceFilter, fetch bool) (queued int64, err error) {
	p := catalog.Page{Limit: catalog.MaxPageSize}
	for {
		datasources, next, err := s.Catalog.Datasources(ctx, ws, f, p)
		if err != nil {
			return queued, err
		}
		for _, d := range datasources {
			kind := bulkKind(d, fetch)
			if kind == "" {
				continue
			}
			err := s.requeue(ctx, d, kind, catalog.PriorityReplay)
			if domain.CodeOf(err) == domain.CodeNotFound {
				continue
			}
			if err != nil {
				return queued, err
			}
			queued++
		}
		if next == "" {
			return queued, nil
		}
		p.Cursor = next
	}
}

// bulkKind is the job that resyncs one of many, "" for none. A site's pages follow from the site when it is fetched
// again, and a site has no content of its own to be read again. A page that was never fetched can only be fetched.
func bulkKind(d domain.Datasource, fetch bool) domain.JobKind {
	switch {
	case fetch && d.GroupID != "":
		return ""
	case fetch && isWeb(d):
		return domain.JobCrawl
	case d.Type == domain.TypeWebSite:
		return ""
	case d.Original != nil:
		return domain.JobIngest
	case d.Type == domain.TypeWebPage:
		return domain.JobCrawl
	default:
		return ""
	}
}

func (s *server) requeue(ctx context.Context, d domain.Datasource, kind domain.JobKind, p catalog.Priority) error {
	job, err := s.Catalog.NewJob(ctx, d, kind)
	if err != nil {
		return err
	}
	_, err = s.Catalog.Requeue(ctx, d.WorkspaceID, d.ID, job, p)
	return err
}
