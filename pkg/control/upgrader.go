package control

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// Upgrades is the part of the catalog that Upgrader uses.
type Upgrades interface {
	Moving(ctx context.Context) ([]domain.Datastore, error)
	MoveProgress(ctx context.Context, datastoreID string) (domain.MoveProgress, error)
	// SettledDatastores checks up to `limit` datastores in id order, starting after the id `after`. It returns those
	// that use the embedding model, are not being moved and have content. It leaves out a datastore if some of its
	// content is still waiting to be read or was added after `since`. `next` is the id to continue after, or "" after
	// the last datastore.
	SettledDatastores(ctx context.Context, model string, since time.Time, after string, limit int) (settled []domain.Datastore, next string, err error)
	UpdateDatastore(ctx context.Context, workspaceID, id string, p domain.DatastorePatch) (domain.Datastore, error)
}

// Upgrader moves datastores from a fast embedding model to a better one, one at a time. New content is first embedded
// with the fast model, so that it is searchable at once. A datastore is moved once it has received no new content for a
// while. Mover carries out the moves.
//
// If some of a datastore's content can't be moved, the move is cancelled and not retried for a day.
type Upgrader struct {
	Catalog  Upgrades
	From, To string // the models' ids
	Log      *slog.Logger
	Now      func() time.Time

	after   string               // id of the last datastore that the previous round checked
	refused map[string]time.Time // maps each datastore whose move was cancelled to the time of the cancellation
}

const (
	upgradeInterval  = 5 * time.Second
	upgradeQuietTime = 20 * time.Second // how long a datastore must go without new content before it is moved
	refusedUpgrade   = 24 * time.Hour   // delay before a cancelled move is retried
	upgradePage      = 100              // number of datastores checked per round
)

// Run starts moves until ctx is done.
func (u *Upgrader) Run(ctx context.Context) {
	runLoop(ctx, u.Log, nil, upgradeInterval, roundBound, u.round)
}

func (u *Upgrader) round(ctx context.Context) (more bool, err error) {
	moving, err := u.Catalog.Moving(ctx)
	if err != nil {
		return false, fmt.Errorf("listing datastores that are being moved: %w", err)
	}
	for _, d := range moving {
		if d.EmbeddingModel == u.From && d.Move.To == (domain.Place{Engine: d.Type, Model: u.To}) {
			return false, u.cancelFailed(ctx, d)
		}
	}
	settled, next, err := u.Catalog.SettledDatastores(ctx, u.From, u.Now().Add(-upgradeQuietTime), u.after, upgradePage)
	if err != nil {
		return false, fmt.Errorf("looking for datastores to re-embed: %w", err)
	}
	u.after = next
	maps.DeleteFunc(u.refused, func(_ string, at time.Time) bool { return u.Now().Sub(at) >= refusedUpgrade })
	for _, d := range settled {
		if _, ok := u.refused[d.ID]; ok {
			continue
		}
		_, err := u.Catalog.UpdateDatastore(ctx, d.WorkspaceID, d.ID, domain.DatastorePatch{EmbeddingModel: &u.To})
		if domain.CodeOf(err) == domain.CodeNotFound { // deleted in the meantime
			continue
		}
		if err != nil {
			return false, fmt.Errorf("moving datastore %s to %s: %w", d.ID, u.To, err)
		}
		u.Log.InfoContext(ctx, "re-embedding a datastore in the background", "datastore", d.ID, "from", u.From, "to", u.To)
		return false, nil
	}
	return false, nil
}

// cancelFailed cancels a datastore's move if none of the remaining content can be moved.
func (u *Upgrader) cancelFailed(ctx context.Context, d domain.Datastore) error {
	p, err := u.Catalog.MoveProgress(ctx, d.ID)
	if err != nil {
		return fmt.Errorf("reading the progress of datastore %s: %w", d.ID, err)
	}
	if p.Failed == 0 || p.Done+p.Failed < p.Total {
		return nil
	}
	if _, err := u.Catalog.UpdateDatastore(ctx, d.WorkspaceID, d.ID, domain.DatastorePatch{EmbeddingModel: &u.From}); err != nil {
		return fmt.Errorf("cancelling the move of datastore %s: %w", d.ID, err)
	}
	if u.refused == nil {
		u.refused = map[string]time.Time{}
	}
	u.refused[d.ID] = u.Now()
	u.Log.WarnContext(ctx, "a datastore keeps its embedding model, because some content cannot be re-embedded: resync or delete that content",
		"datastore", d.ID, "model", u.From, "failed", p.Failed, "of", p.Total, "cause", p.Cause)
	return nil
}
