package control

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// upgrades is a catalog with datastores to move.
type upgrades struct {
	stores   []domain.Datastore // with the model "fast", even after a move
	progress domain.MoveProgress
	gone     string // id of a datastore deleted before its move
	since    time.Time
	changes  []string // id and model of each patch
}

func (u *upgrades) Moving(context.Context) (out []domain.Datastore, err error) {
	for _, d := range u.stores {
		if d.Move != nil {
			out = append(out, d)
		}
	}
	return out, nil
}

func (u *upgrades) MoveProgress(context.Context, string) (domain.MoveProgress, error) {
	return u.progress, nil
}

func (u *upgrades) SettledDatastores(_ context.Context, model string, since time.Time, after string, _ int) (out []domain.Datastore, next string, err error) {
	u.since = since
	for _, d := range u.stores {
		switch {
		case d.ID <= after:
		case len(out) == 2:
			return out, out[1].ID, nil
		case d.Move == nil && d.EmbeddingModel == model:
			out = append(out, d)
		}
	}
	return out, "", nil
}

func (u *upgrades) UpdateDatastore(_ context.Context, ws, id string, p domain.DatastorePatch) (domain.Datastore, error) {
	if id == u.gone {
		return domain.Datastore{}, domain.NotFound("datastore", id)
	}
	i := slices.IndexFunc(u.stores, func(d domain.Datastore) bool { return d.ID == id && d.WorkspaceID == ws })
	if i < 0 || p.Type != nil {
		return domain.Datastore{}, errors.New("unexpected patch")
	}
	d := &u.stores[i]
	u.changes = append(u.changes, id+" "+*p.EmbeddingModel)
	if d.Move = nil; *p.EmbeddingModel != d.EmbeddingModel {
		d.Move = &domain.Move{ID: "move", To: domain.Place{Engine: d.Type, Model: *p.EmbeddingModel}}
	}
	return *d, nil
}

func newUpgrades(ids ...string) *upgrades {
	u := &upgrades{}
	for _, id := range ids {
		u.stores = append(u.stores, domain.Datastore{ID: id, WorkspaceID: "ws", Type: domain.EngineEmbedded, EmbeddingModel: "fast"})
	}
	return u
}

func TestDatastoresAreUpgradedOneAtATime(t *testing.T) {
	t.Parallel()
	clock := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	catalog := newUpgrades("a", "b", "c")
	catalog.gone = "a"
	u := Upgrader{Catalog: catalog, From: "fast", To: "good", Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return clock }}
	round := func(want ...string) {
		t.Helper()
		if more, err := u.round(t.Context()); err != nil || more {
			t.Fatalf("more %v, error %v", more, err)
		}
		if !slices.Equal(catalog.changes, want) {
			t.Errorf("changes %q, want %q", catalog.changes, want)
		}
	}
	round("b good")
	if want := clock.Add(-upgradeQuietTime); !catalog.since.Equal(want) {
		t.Errorf("datastores without new content since %v, want %v", catalog.since, want)
	}
	round("b good") // b is still moving
	catalog.progress = domain.MoveProgress{Total: 5, Done: 3, Failed: 1}
	round("b good") // one document may still be moved
	catalog.progress.Done = 4
	round("b good", "b fast")
	round("b good", "b fast", "c good")
	catalog.stores[2].EmbeddingModel, catalog.stores[2].Move = "good", nil
	round("b good", "b fast", "c good")
	clock = clock.Add(refusedUpgrade)
	round("b good", "b fast", "c good") // the page after b
	round("b good", "b fast", "c good", "b good")
}

func TestAMoveThatSomebodyElseStartedIsLeftAlone(t *testing.T) {
	t.Parallel()
	catalog := newUpgrades("a")
	catalog.stores[0].Move = &domain.Move{ID: "move", To: domain.Place{Engine: domain.EngineMilvus, Model: "good"}}
	catalog.progress = domain.MoveProgress{Total: 1, Failed: 1}
	u := Upgrader{Catalog: catalog, From: "fast", To: "good", Log: slog.New(slog.DiscardHandler), Now: time.Now}
	if _, err := u.round(t.Context()); err != nil || len(catalog.changes) > 0 {
		t.Errorf("changes %q, error %v", strings.Join(catalog.changes, ", "), err)
	}
}
