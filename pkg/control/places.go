package control

import (
	"context"
	"fmt"
	"slices"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

// Index is the part of index.Index that audits and sweeps use.
type Index interface {
	Spaces(ctx context.Context, datastoreID string) ([]index.Space, error)
	Stored(ctx context.Context, space index.Space, f func(index.Stored) error) error
	Count(ctx context.Context, space index.Space, datasourceID string, generation uint64) (int64, error)
	DeleteGenerations(ctx context.Context, space index.Space, which ...index.Generations) error
	DropDatastore(ctx context.Context, datastoreID string) error
}

// Engines gives access to this process's indexes.
type Engines interface {
	// Index fails with domain.CodeUnavailable if the engine is not configured in this process.
	Index(e domain.Engine) (Index, error)
	// Engines returns the engines configured in this process.
	Engines() []domain.Engine
}

// Stores reads datastores in any workspace. DatastoreByID fails with domain.CodeNotFound if the datastore was deleted.
type Stores interface {
	DatastoreByID(ctx context.Context, id string) (domain.Datastore, error)
}

// spacesIn returns a place's index and the spaces in it that contain the datastore's rows. There is usually one such
// space. There is none before the first write, and there are several if the model's dimensions have changed.
func spacesIn(ctx context.Context, e Engines, datastoreID string, p domain.Place) (Index, []index.Space, error) {
	idx, err := e.Index(p.Engine)
	if err != nil {
		return nil, nil, err
	}
	all, err := idx.Spaces(ctx, datastoreID)
	if err != nil {
		return nil, nil, fmt.Errorf("listing the spaces of datastore %s in %s: %w", datastoreID, p.Engine, err)
	}
	return idx, slices.DeleteFunc(all, func(s index.Space) bool { return s.Model != p.Model }), nil
}
