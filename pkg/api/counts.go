package api

import (
	"context"

	"github.com/sluice/sluice/pkg/domain"
)

// CountDatasources implements StrictServerInterface.
func (s *server) CountDatasources(ctx context.Context, r CountDatasourcesRequestObject) (CountDatasourcesResponseObject, error) {
	ctx, who := callerOf(ctx)
	if err := known("datastore", r.Id); err != nil {
		return nil, err
	}
	n, err := s.Datastores.DatastoreCounts(ctx, who.workspace(), r.Id)
	if err != nil {
		return nil, err
	}
	out := CountDatasources200JSONResponse{
		Unsynched: n[domain.StatusUnsynched], Pending: n[domain.StatusPending], Running: n[domain.StatusRunning],
		Synched: n[domain.StatusSynched], Error: n[domain.StatusError], Skipped: n[domain.StatusSkipped],
	}
	for _, of := range n {
		out.Total += of
	}
	return out, nil
}
