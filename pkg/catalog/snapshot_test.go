package catalog_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/catalog/maintenance"
	"github.com/sluice/sluice/pkg/domain"
)

// If two datastores share an original, a backup must contain it only once. It must also contain the originals of files
// and upload parts that no datasource uses.
func TestASnapshotListsEachOriginalOnce(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "catalog.db")
	c := open(t, catalog.Options{Path: path})
	if err := c.EnsureWorkspace(ctx, "ws", "w"); err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var want []string
	newFile := func() domain.File {
		id := domain.NewID()
		f, err := c.StoreFile(ctx, domain.File{ID: id, WorkspaceID: "ws", Name: "f", Original: domain.Original{Key: id + ".u-a", Size: 3}}, 0)
		must(err)
		want = append(want, f.Original.Key)
		return f
	}
	shared, lost := newFile(), domain.NewID()
	newFile() // in no datastore
	for range 2 {
		store, err := c.CreateDatastore(ctx, domain.Datastore{ID: domain.NewID(), WorkspaceID: "ws", Name: "s", Type: domain.EngineEmbedded})
		must(err)
		_, err = c.AddFile(ctx, "ws", store.ID, catalog.NewFile{FileID: shared.ID})
		must(err)
		// After a restore from the job log, two datasources may share an original whose file row is lost.
		d := domain.Datasource{ID: domain.NewID(), WorkspaceID: "ws", DatastoreID: store.ID, Type: domain.TypeFile, Name: "d", Original: &domain.Original{Key: lost + ".u-b"}}
		_, err = c.CreateDatasources(ctx, []catalog.NewDatasource{{Datasource: d, Job: domain.NewIngestJob(d, store)}})
		must(err)
	}
	u, err := c.CreateUpload(ctx, domain.Upload{ID: domain.NewID(), WorkspaceID: "ws", Bytes: 9})
	must(err)
	part := domain.NewID()
	_, err = c.AddPart(ctx, "ws", domain.UploadPart{ID: part, UploadID: u.ID, Original: domain.Original{Key: part + ".u-c", Size: 1}})
	must(err)
	want = append(want, lost+".u-b", part+".u-c")

	s, err := maintenance.TakeSnapshot(ctx, path, filepath.Join(t.TempDir(), "copy.db"))
	must(err)
	defer s.Close()
	var got []string
	must(s.EachOriginal(ctx, func(_ string, o domain.Original) error {
		got = append(got, o.Key)
		return nil
	}))
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
