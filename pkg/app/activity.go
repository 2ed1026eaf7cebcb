package app

import (
	"context"
	"log/slog"

	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/retrieve"
)

// recordingRetriever records which datastores are searched. A datastore that serves as a vector store may expire some
// days after its last use.
type recordingRetriever struct {
	next   api.Retriever
	record func(ctx context.Context, datastoreIDs ...string) error
	log    *slog.Logger
}

// recording wraps a retriever so that every search counts as a use of the datastores searched.
func (s *Service) recording(next api.Retriever) recordingRetriever {
	return recordingRetriever{next: next, record: s.catalog.Used, log: s.log}
}

// Retrieve calls the next retriever. Failing to record the search doesn't affect its result.
func (r recordingRetriever) Retrieve(ctx context.Context, req retrieve.Request) (retrieve.Result, error) {
	ids := make([]string, len(req.Datastores))
	for i, d := range req.Datastores {
		ids[i] = d.ID
	}
	r.use(ctx, ids)
	return r.next.Retrieve(ctx, req)
}

// Facets calls the next retriever. Like Retrieve, it records the datastore's use.
func (r recordingRetriever) Facets(ctx context.Context, req retrieve.FacetRequest) (domain.Facets, error) {
	r.use(ctx, []string{req.Datastore.ID})
	return r.next.Facets(ctx, req)
}

func (r recordingRetriever) use(ctx context.Context, ids []string) {
	if err := r.record(ctx, ids...); err != nil && ctx.Err() == nil {
		r.log.WarnContext(ctx, "cannot record the use of datastores", "error", err)
	}
}
