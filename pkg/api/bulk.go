package api

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// DeleteDatasources implements StrictServerInterface. Each datasource is deleted separately, so that a retry after a failure deletes the
// rest.
func (s *server) DeleteDatasources(ctx context.Context, r DeleteDatasourcesRequestObject) (DeleteDatasourcesResponseObject, error) {
	ctx, who := callerOf(ctx)
	out := DeleteDatasources200JSONResponse{Deleted: []string{}, NotFound: []string{}}
	seen := map[string]bool{}
	for _, id := range r.Body.Ids {
		if seen[id] {
			continue
		}
		seen[id] = true
		err := known("datasource", id)
		var d domain.Datasource
		if err == nil {
			d, err = s.Datasources.DeleteDatasource(ctx, who.workspace(), id)
		}
		switch {
		case domain.CodeOf(err) == domain.CodeNotFound:
			out.NotFound = append(out.NotFound, id)
		case err != nil:
			return nil, err
		default:
			s.Watcher.Changed(d.DatastoreID, d.ID)
			s.audit.tell(ctx, "DeleteDatasource", who, hostOf(who.remote), slog.String("resource", d.ID), slog.Int("status", http.StatusOK))
			out.Deleted = append(out.Deleted, id)
		}
	}
	return out, nil
}

// SynchDatasource implements StrictServerInterface.
func (s *server) SynchDatasource(ctx context.Context, r SynchDatasourceRequestObject) (SynchDatasourceResponseObject, error) {
	ctx, who := callerOf(ctx)
	d, err := s.datasource(ctx, who, r.Id)
	if err != nil {
		return nil, err
	}
	kind := domain.JobIngest
	if isWeb(d) {
		kind = domain.JobCrawl
	}
	if err := s.requeue(ctx, d, kind, catalog.PriorityFresh); err != nil {
		return nil, err
	}
	if d, err = s.datasource(ctx, who, r.Id); err != nil {
		return nil, err
	}
	shown, err := s.shown(ctx, d)
	return SynchDatasource200JSONResponse(shown), err
}
