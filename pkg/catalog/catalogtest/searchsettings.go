package catalogtest

import (
	"sync"
	"testing"

	"github.com/sluice/sluice/pkg/catalog/catalogtest/world"
	"github.com/sluice/sluice/pkg/domain"
)

func testSearchSettings(t *testing.T, open world.Open) {
	const keep = 3
	world.Run(t, open, "each change is a version of its own, and only the newest are kept", func(t *testing.T, w *world.World) {
		none := world.Must(w.SearchSettings(w.Ctx, w.WS, w.StoreID, 0))(t)
		world.Equal(t, domain.SearchSettings{}, none)
		world.Equal(t, 0, len(world.Must(w.SearchVersions(w.Ctx, w.WS, w.StoreID))(t)))
		var made []domain.SearchSettings
		for _, text := range []string{`{"n":1}`, `{"n":2}`, `{"n":3}`, `{"n":4}`} {
			made = append(made, world.Must(w.StoreSearchSettings(w.Ctx, w.WS, w.StoreID, []byte(text), nil, keep))(t))
		}
		world.Equal(t, int64(4), world.Must(w.Datastore(w.Ctx, w.WS, w.StoreID))(t).SearchVersion)
		world.Equal(t, made[3], world.Must(w.SearchSettings(w.Ctx, w.WS, w.StoreID, 0))(t))
		world.Equal(t, made[1], world.Must(w.SearchSettings(w.Ctx, w.WS, w.StoreID, 2))(t))
		world.Equal(t, `{"n":3}`, string(world.Must(w.SearchSettingsOf(w.Ctx, w.StoreID, 3))(t)))
		world.Refused(w.SearchSettings(w.Ctx, w.WS, w.StoreID, 1))(t, domain.CodeNotFound)
		world.Refused(w.SearchSettingsOf(w.Ctx, w.StoreID, 5))(t, domain.CodeNotFound)
		var versions []int64
		for _, v := range world.Must(w.SearchVersions(w.Ctx, w.WS, w.StoreID))(t) {
			versions = append(versions, v.Version)
		}
		world.Equal(t, []int64{4, 3, 2}, versions)
	})
	world.Run(t, open, "a change that is based on another version is refused", func(t *testing.T, w *world.World) {
		store := func(match int64) error {
			_, err := w.StoreSearchSettings(w.Ctx, w.WS, w.StoreID, []byte(`{}`), &match, keep)
			return err
		}
		world.Code(t, domain.CodeConflict, store(1))
		world.OK(t, store(0))
		world.Code(t, domain.CodeConflict, store(0))
		var ended sync.WaitGroup
		errs := make([]error, 8)
		for i := range errs {
			ended.Go(func() { errs[i] = store(1) })
		}
		ended.Wait()
		stored := 0
		for _, err := range errs {
			if err == nil {
				stored++
			} else {
				world.Code(t, domain.CodeConflict, err)
			}
		}
		world.Equal(t, 1, stored)
		world.Equal(t, int64(2), world.Must(w.Datastore(w.Ctx, w.WS, w.StoreID))(t).SearchVersion)
	})
	world.Run(t, open, "the settings of another workspace, or of a deleted datastore, are not found", func(t *testing.T, w *world.World) {
		world.Must(w.StoreSearchSettings(w.Ctx, w.WS, w.StoreID, []byte(`{}`), nil, keep))(t)
		other := w.NewWorkspace()
		world.Refused(w.SearchSettings(w.Ctx, other, w.StoreID, 0))(t, domain.CodeNotFound)
		world.Refused(w.SearchVersions(w.Ctx, other, w.StoreID))(t, domain.CodeNotFound)
		world.Refused(w.StoreSearchSettings(w.Ctx, other, w.StoreID, []byte(`{}`), nil, keep))(t, domain.CodeNotFound)
		world.Must(w.UpdateDatastore(w.Ctx, w.WS, w.StoreID, domain.DatastorePatch{Name: new("renamed")}))(t)
		world.Equal(t, int64(1), world.Must(w.Datastore(w.Ctx, w.WS, w.StoreID))(t).SearchVersion)
		world.Must(w.DeleteDatastore(w.Ctx, w.WS, w.StoreID))(t)
		world.Refused(w.SearchSettings(w.Ctx, w.WS, w.StoreID, 0))(t, domain.CodeNotFound)
		world.Refused(w.StoreSearchSettings(w.Ctx, w.WS, w.StoreID, []byte(`{}`), nil, keep))(t, domain.CodeNotFound)
	})
}
