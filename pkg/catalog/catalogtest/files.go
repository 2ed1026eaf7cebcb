package catalogtest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/catalog/catalogtest/world"
	"github.com/sluice/sluice/pkg/domain"
)

// newFile stores a 100-byte file.
func newFile(w *world.World, keepFor time.Duration) domain.File {
	w.T.Helper()
	id := domain.NewID()
	return world.Must(w.StoreFile(w.Ctx, domain.File{
		ID: id, WorkspaceID: w.WS, Name: "manual.pdf", Purpose: "assistants",
		Original: domain.Original{Key: id + ".u-abc", SHA256: "abc", Size: 100, MIMEType: "application/pdf", Name: "manual.pdf"},
	}, keepFor))(w.T)
}

func add(w *world.World, storeID string, f domain.File) domain.Datasource {
	w.T.Helper()
	return world.Must(w.AddFile(w.Ctx, w.WS, storeID, catalog.NewFile{FileID: f.ID}))(w.T)
}

// deletable completes all queued sweeps. It returns the keys of the originals that a sweeper would have deleted.
func deletable(w *world.World) []string {
	w.T.Helper()
	keys := []string{}
	for _, s := range w.AllSweeps() {
		keys = append(keys, s.Originals...)
	}
	w.ClearSweeps()
	slices.Sort(keys)
	return slices.Compact(keys)
}

func testFiles(t *testing.T, open world.Open) {
	world.Run(t, open, "a file in two datastores keeps its original until the last use ends", func(t *testing.T, w *world.World) {
		f, other := newFile(w, 0), w.NewDatastore(w.WS).ID
		first, second := add(w, w.StoreID, f), add(w, other, f)
		world.Equal(t, []string{f.Original.Key, f.ID, f.Original.Key, f.ID}, []string{first.Original.Key, first.FileID(), second.Original.Key, second.FileID()})
		_, bytes, err := w.Stored(w.Ctx, w.WS)
		world.OK(t, err)
		world.Equal(t, int64(100), bytes)

		world.Must(w.DeleteDatasource(w.Ctx, w.WS, first.ID))(t)
		world.Equal(t, []string{}, deletable(w))
		world.Must(w.DeleteDatastore(w.Ctx, w.WS, other))(t)
		world.Equal(t, []string{}, deletable(w))
		world.OK(t, w.DeleteFile(w.Ctx, w.WS, f.ID))
		world.Equal(t, []string{f.Original.Key}, deletable(w))
		world.Refused(w.Catalog.File(w.Ctx, w.WS, f.ID))(t, domain.CodeNotFound)
	})
	world.Run(t, open, "a deleted file leaves all datastores, and its original goes last", func(t *testing.T, w *world.World) {
		f := newFile(w, 0)
		d := add(w, w.StoreID, f)
		w.Synch(d.ID)
		world.OK(t, w.DeleteFile(w.Ctx, w.WS, f.ID))
		w.IsGone(d.ID)
		world.Equal(t, []string{f.Original.Key}, deletable(w))
		world.Code(t, domain.CodeNotFound, w.DeleteFile(w.Ctx, w.WS, f.ID))
		world.Refused(w.AddFile(w.Ctx, w.WS, w.StoreID, catalog.NewFile{FileID: f.ID}))(t, domain.CodeNotFound)
	})
	world.Run(t, open, "new content of one datasource does not delete the original of the others", func(t *testing.T, w *world.World) {
		f, other := newFile(w, 0), w.NewDatastore(w.WS).ID
		first, second := add(w, w.StoreID, f), add(w, other, f)
		got := world.Must(w.ReplaceContent(w.Ctx, w.WS, first.ID, catalog.Replacement{
			Original: domain.Original{Key: first.ID + ".u-new", Size: 7}, Job: domain.Job{ID: domain.NewID()},
		}))(t)
		world.Equal(t, f.ID, got.FileID())
		world.Equal(t, []string{}, deletable(w))
		world.OK(t, w.DeleteFile(w.Ctx, w.WS, f.ID))
		w.IsGone(first.ID)
		w.IsGone(second.ID)
		world.Equal(t, []string{first.ID + ".u-new", f.Original.Key}, sorted(deletable(w), first.ID))
	})
	world.Run(t, open, "a datasource that was restored without its file keeps the shared original", func(t *testing.T, w *world.World) {
		owner := domain.NewID()
		restored := func(storeID string) domain.Datasource {
			return w.CreateFile(func(n *catalog.NewDatasource) {
				n.Datasource.DatastoreID, n.Datasource.Original.Key = storeID, owner+".u-abc"
			})
		}
		first, second := restored(w.StoreID), restored(w.NewDatastore(w.WS).ID)
		world.Equal(t, owner, first.FileID())
		world.Must(w.DeleteDatasource(w.Ctx, w.WS, first.ID))(t)
		world.Equal(t, []string{}, deletable(w))
		world.Must(w.DeleteDatasource(w.Ctx, w.WS, second.ID))(t)
		world.Equal(t, []string{owner + ".u-abc"}, deletable(w))
	})
	world.Run(t, open, "adding a file again adds nothing, applies changes, and repeats what failed", func(t *testing.T, w *world.World) {
		f := newFile(w, 0)
		d := add(w, w.StoreID, f)
		w.Synch(d.ID)
		again := add(w, w.StoreID, f)
		world.Equal(t, []any{d.ID, domain.StatusSynched}, []any{again.ID, again.Status})
		chunking := &domain.FileChunking{MaxTokens: 400, OverlapTokens: 100}
		changed := world.Must(w.AddFile(w.Ctx, w.WS, w.StoreID, catalog.NewFile{FileID: f.ID, Attributes: map[string]any{"year": 2026.0}, Chunking: chunking}))(t)
		world.Equal(t, []any{d.ID, domain.StatusUnsynched, map[string]any{"year": 2026.0}, chunking}, []any{changed.ID, changed.Status, changed.Metadata, changed.Config.Chunking})
		jobs := w.PublishAll()
		world.Equal(t, domain.Chunking{TargetTokens: 256, MaxTokens: 400}, jobs[0].Chunking)
		w.ApplyEvent(w.Get(d.ID), domain.EventError, func(ev *domain.Event) { ev.Error = "broken" })
		repeated := add(w, w.StoreID, f)
		world.Equal(t, domain.StatusUnsynched, repeated.Status)
		world.Equal(t, 1, len(w.PublishAll()))
	})
	world.Run(t, open, "a file belongs to its workspace", func(t *testing.T, w *world.World) {
		f, other := newFile(w, 0), w.NewWorkspace()
		world.Refused(w.Catalog.File(w.Ctx, other, f.ID))(t, domain.CodeNotFound)
		world.Code(t, domain.CodeNotFound, w.DeleteFile(w.Ctx, other, f.ID))
		world.Refused(w.AddFile(w.Ctx, other, w.NewDatastore(other).ID, catalog.NewFile{FileID: f.ID}))(t, domain.CodeNotFound)
		page, _, err := w.FilesOf(w.Ctx, other, "", catalog.FilePage{Limit: 10})
		world.OK(t, err)
		world.Equal(t, 0, len(page))
	})
	world.Run(t, open, "files count towards the storage limit", func(t *testing.T, w *world.World) {
		world.OK(t, w.SetLimits(w.Ctx, AccountOf(w, ""), domain.Limits{domain.MetricStoredBytes: 150}))
		f := newFile(w, 0)
		id := domain.NewID()
		_, err := w.StoreFile(w.Ctx, domain.File{ID: id, WorkspaceID: w.WS, Original: domain.Original{Key: id + ".u-a", Size: 51}}, 0)
		world.Code(t, domain.CodeUsageLimit, err)
		add(w, w.StoreID, f)
	})
	world.Run(t, open, "concurrent additions of a file add it once", func(t *testing.T, w *world.World) {
		f := newFile(w, 0)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if _, err := w.AddFile(w.Ctx, w.WS, w.StoreID, catalog.NewFile{FileID: f.ID}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		page, more, err := w.FilesOfStore(w.Ctx, w.WS, w.StoreID, nil, catalog.FilePage{Limit: 10})
		world.OK(t, err)
		world.Equal(t, []any{1, false}, []any{len(page), more})
	})
	world.Run(t, open, "concurrent additions and deletions of a file lose no content that is used", func(t *testing.T, w *world.World) {
		f := newFile(w, 0)
		var all sync.WaitGroup
		for i := range 6 {
			store := w.NewDatastore(w.WS).ID
			all.Go(func() {
				if _, err := w.AddFile(w.Ctx, w.WS, store, catalog.NewFile{FileID: f.ID}); err != nil && domain.CodeOf(err) != domain.CodeNotFound {
					t.Error(err)
				}
			})
			if i == 3 {
				all.Go(func() { world.OK(t, w.DeleteFile(w.Ctx, w.WS, f.ID)) })
			}
		}
		all.Wait()
		world.Must(w.Expire(w.Ctx))(t)
		left, _, err := w.Datasources(w.Ctx, w.WS, catalog.DatasourceFilter{}, catalog.Page{})
		world.OK(t, err)
		world.Equal(t, 0, len(left))
		world.Equal(t, []string{f.Original.Key}, deletable(w))
	})
}

// sorted sorts the keys but puts the owner's key first.
func sorted(keys []string, owner string) []string {
	slices.SortFunc(keys, func(a, b string) int {
		switch {
		case strings.HasPrefix(a, owner):
			return -1
		case strings.HasPrefix(b, owner):
			return 1
		}
		return strings.Compare(a, b)
	})
	return keys
}

func testFileLists(t *testing.T, open world.Open) {
	world.Run(t, open, "pages of files are complete in both directions", func(t *testing.T, w *world.World) {
		var ids []string
		for range 7 {
			f := newFile(w, 0)
			ids = append(ids, f.ID)
			add(w, w.StoreID, f)
			w.Clock.Advance(time.Second)
		}
		lists := map[string]func(p catalog.FilePage) ([]string, bool){
			"files": func(p catalog.FilePage) (out []string, more bool) {
				page, more, err := w.FilesOf(w.Ctx, w.WS, "assistants", p)
				world.OK(t, err)
				for _, f := range page {
					out = append(out, f.ID)
				}
				return out, more
			},
			"files of a datastore": func(p catalog.FilePage) (out []string, more bool) {
				page, more, err := w.FilesOfStore(w.Ctx, w.WS, w.StoreID, nil, p)
				world.OK(t, err)
				for _, d := range page {
					out = append(out, d.FileID())
				}
				return out, more
			},
		}
		for name, list := range lists {
			for _, ascending := range []bool{true, false} {
				want := slices.Clone(ids)
				if !ascending {
					slices.Reverse(want)
				}
				var got []string
				p := catalog.FilePage{Limit: 3, Ascending: ascending}
				for more := true; more; p.After = got[len(got)-1] {
					var page []string
					page, more = list(p)
					got = append(got, page...)
				}
				world.Equal(t, want, got)
				p.After, p.Before = "", want[5]
				page, more := list(p)
				world.Equal(t, []any{want[2:5], true}, []any{page, more})
				p.Before = want[2]
				page, more = list(p)
				world.Equal(t, []any{want[:2], false}, []any{page, more})
			}
			t.Log(name)
		}
		_, _, err := w.FilesOf(w.Ctx, w.WS, "", catalog.FilePage{Limit: 3, After: domain.NewID()})
		world.Code(t, domain.CodeInvalid, err)
		page, _, err := w.FilesOf(w.Ctx, w.WS, "vision", catalog.FilePage{Limit: 3})
		world.OK(t, err)
		world.Equal(t, 0, len(page))
	})
	world.Run(t, open, "datasources without a file are files of the vector store under their own ids, and sites are not", func(t *testing.T, w *world.World) {
		d := w.CreateFile()
		site := w.CreateSite(domain.DatasourceConfig{}, world.PageA)
		page, _, err := w.FilesOfStore(w.Ctx, w.WS, w.StoreID, nil, catalog.FilePage{Limit: 10, Ascending: true})
		world.OK(t, err)
		world.Equal(t, []string{d.ID, domain.ChildID(site.ID, world.PageA)}, []string{page[0].ID, page[1].ID})
		world.Equal(t, 2, len(page))
		got := world.Must(w.StoredFile(w.Ctx, w.WS, w.StoreID, d.ID))(t)
		world.Equal(t, d.ID, got.ID)
		got = world.Must(w.FileDatasource(w.Ctx, w.WS, d.ID))(t)
		world.Equal(t, d.ID, got.ID)
		world.Equal(t, 3, world.Must(w.UnfinishedFiles(w.Ctx, w.StoreID, 10))(t))
		world.Equal(t, 2, world.Must(w.UnfinishedFiles(w.Ctx, w.StoreID, 2))(t))
		world.Refused(w.StoredFile(w.Ctx, w.WS, w.StoreID, site.ID))(t, domain.CodeNotFound)
		world.Refused(w.StoredFile(w.Ctx, w.WS, w.NewDatastore(w.WS).ID, d.ID))(t, domain.CodeNotFound)
		world.Refused(w.StoredFile(w.Ctx, w.NewWorkspace(), w.StoreID, d.ID))(t, domain.CodeNotFound)
	})
}

func testFileBatches(t *testing.T, open world.Open) {
	batch := func(w *world.World, files ...catalog.NewFile) domain.FileBatch {
		w.T.Helper()
		return world.Must(w.CreateBatch(w.Ctx, w.WS, w.StoreID, domain.NewID(), files))(w.T)
	}
	world.Run(t, open, "a batch counts its files, and those that do not exist", func(t *testing.T, w *world.World) {
		var files []catalog.NewFile
		for range 3 {
			files = append(files, catalog.NewFile{FileID: newFile(w, 0).ID})
		}
		files = append(files, catalog.NewFile{FileID: domain.NewID()}, files[0])
		b := batch(w, files...)
		world.Equal(t, []any{int64(4), int64(1)}, []any{b.Counts[domain.StatusUnsynched], b.Missing})
		w.Synch(domain.AttachedID(w.StoreID, files[0].FileID))
		failed, _, err := w.FilesOfBatch(w.Ctx, w.WS, w.StoreID, b.ID, []domain.Status{domain.StatusError}, catalog.FilePage{Limit: 10})
		world.OK(t, err)
		world.Equal(t, []any{1, files[3].FileID}, []any{len(failed), failed[0].MissingFileID})
		all, more, err := w.FilesOfBatch(w.Ctx, w.WS, w.StoreID, b.ID, nil, catalog.FilePage{Limit: 3, Ascending: true})
		world.OK(t, err)
		world.Equal(t, []any{true, files[0].FileID, files[2].FileID}, []any{more, all[0].FileID(), all[2].FileID()})
		rest, more, err := w.FilesOfBatch(w.Ctx, w.WS, w.StoreID, b.ID, nil, catalog.FilePage{Limit: 3, Ascending: true, After: files[2].FileID})
		world.OK(t, err)
		world.Equal(t, []any{false, 2, files[3].FileID}, []any{more, len(rest), rest[0].MissingFileID})
		world.Refused(w.Batch(w.Ctx, w.WS, w.NewDatastore(w.WS).ID, b.ID))(t, domain.CodeNotFound)
		world.Refused(w.Batch(w.Ctx, w.NewWorkspace(), w.StoreID, b.ID))(t, domain.CodeNotFound)
	})
	world.Run(t, open, "a batch is stored whole or not at all, and once", func(t *testing.T, w *world.World) {
		f, id := newFile(w, 0), domain.NewID()
		files := []catalog.NewFile{{FileID: f.ID}}
		world.Must(w.CreateBatch(w.Ctx, w.WS, w.StoreID, id, files))(t)
		_, err := w.CreateBatch(w.Ctx, w.WS, w.StoreID, id, []catalog.NewFile{{FileID: newFile(w, 0).ID}})
		world.Code(t, domain.CodeConflict, err)
		page, _, err := w.FilesOfStore(w.Ctx, w.WS, w.StoreID, nil, catalog.FilePage{Limit: 10})
		world.OK(t, err)
		world.Equal(t, 1, len(page))
	})
	world.Run(t, open, "cancelling ends files that are not searchable, and refuses later results", func(t *testing.T, w *world.World) {
		done, sent, waiting := newFile(w, 0), newFile(w, 0), newFile(w, 0)
		w.Synch(add(w, w.StoreID, done).ID)
		b := batch(w, catalog.NewFile{FileID: done.ID, Attributes: map[string]any{"a": "b"}}, catalog.NewFile{FileID: sent.ID})
		w.PublishAll()
		running := w.Get(domain.AttachedID(w.StoreID, sent.ID))
		late := batch(w, catalog.NewFile{FileID: sent.ID}, catalog.NewFile{FileID: waiting.ID})
		w.ClearSweeps()

		cancelled := world.Must(w.CancelBatch(w.Ctx, w.WS, w.StoreID, late.ID))(t)
		world.Equal(t, []any{true, int64(2)}, []any{cancelled.Cancelled, cancelled.Counts[domain.StatusSkipped]})
		world.Equal(t, 0, len(w.PublishAll()))
		world.Equal(t, 1, len(w.AllSweeps())) // for the job that was sent
		w.ApplyEvent(running, domain.EventSynched, world.Chunks(2))
		got := w.Get(running.ID)
		world.Equal(t, []any{domain.StatusSkipped, uint64(0)}, []any{got.Status, got.ActiveGeneration})
		world.Equal(t, domain.StatusPending, w.Get(domain.AttachedID(w.StoreID, done.ID)).Status)

		again := world.Must(w.CancelBatch(w.Ctx, w.WS, w.StoreID, b.ID))(t)
		world.Equal(t, []any{true, int64(1), int64(1)}, []any{again.Cancelled, again.Counts[domain.StatusSkipped], again.Counts[domain.StatusPending]})
		repeated := add(w, w.StoreID, waiting)
		w.Synch(repeated.ID)
		world.Equal(t, domain.StatusSynched, w.Get(repeated.ID).Status)
	})
	world.RunLong(t, open, "a batch of the maximum size is one transaction", func(t *testing.T, w *world.World) {
		f, files := newFile(w, 0), []catalog.NewFile{}
		for range 1999 {
			files = append(files, catalog.NewFile{FileID: domain.NewID()})
		}
		b := batch(w, append(files, catalog.NewFile{FileID: f.ID})...)
		world.Equal(t, []any{int64(1999), int64(1)}, []any{b.Missing, b.Counts[domain.StatusUnsynched]})
	})
}

func testExpiry(t *testing.T, open world.Open) {
	expire := func(w *world.World) {
		w.T.Helper()
		for more := true; more; {
			more = world.Must(w.Expire(w.Ctx))(w.T)
		}
	}
	world.Run(t, open, "a file expires at its time and not before, and leaves the datastores", func(t *testing.T, w *world.World) {
		f, kept := newFile(w, time.Hour), newFile(w, 0)
		d := add(w, w.StoreID, f)
		w.Clock.Advance(time.Hour - time.Second) // not yet
		expire(w)
		world.Equal(t, f.ExpiresAt, f.CreatedAt.Add(time.Hour))
		world.Must(w.Catalog.File(w.Ctx, w.WS, f.ID))(t)
		w.Clock.Advance(2 * time.Second) // stored creation times are up to a second later than the clock
		expire(w)
		world.Refused(w.Catalog.File(w.Ctx, w.WS, f.ID))(t, domain.CodeNotFound)
		w.IsGone(d.ID)
		world.Must(w.Catalog.File(w.Ctx, w.WS, kept.ID))(t)
		world.Equal(t, []string{f.Original.Key}, deletable(w))
	})
	world.Run(t, open, "a vector store expires after its last use, keeps its files, and takes no more", func(t *testing.T, w *world.World) {
		const day = 24 * time.Hour
		store := w.Settled()
		store.ID = domain.NewID()
		f := newFile(w, 0)
		v := world.Must(w.CreateVectorStore(w.Ctx, store, domain.VectorStoreOptions{ExpiresDays: 1, Metadata: map[string]string{"a": "b"}}, []catalog.NewFile{{FileID: f.ID}}))(t)
		world.Equal(t, []any{map[string]string{"a": "b"}, v.CreatedAt.Add(day).Truncate(time.Second), int64(1)}, []any{v.Metadata, v.ExpiresAt.Truncate(time.Second), v.Counts[domain.StatusUnsynched]})
		w.Clock.Advance(day - time.Minute)
		world.OK(t, w.Used(w.Ctx, store.ID, w.StoreID))
		w.Clock.Advance(time.Hour)
		expire(w)
		used := world.Must(w.VectorStore(w.Ctx, w.WS, store.ID))(t)
		world.Equal(t, []any{false, true}, []any{used.Expired, used.LastActiveAt.After(v.LastActiveAt)})
		w.Clock.Advance(used.ExpiresAt.Sub(w.Clock.Now()))
		expire(w)
		soon := world.Must(w.VectorStore(w.Ctx, w.WS, store.ID))(t)
		world.Equal(t, false, soon.Expired) // the last few seconds of use may not be recorded yet
		w.Clock.Advance(time.Minute)
		expire(w)
		gone := world.Must(w.VectorStore(w.Ctx, w.WS, store.ID))(t)
		world.Equal(t, []any{true, 0, time.Time{}}, []any{gone.Expired, len(gone.Counts), gone.ExpiresAt})
		world.Must(w.Catalog.File(w.Ctx, w.WS, f.ID))(t)
		world.Equal(t, []string{}, deletable(w))
		world.Refused(w.AddFile(w.Ctx, w.WS, store.ID, catalog.NewFile{FileID: f.ID}))(t, domain.CodeConflict)
	})
	world.Run(t, open, "properties of a vector store can be set on any datastore and removed", func(t *testing.T, w *world.World) {
		days, name, metadata := 7, "Renamed", map[string]string{"k": "v"}
		v := world.Must(w.UpdateVectorStore(w.Ctx, w.WS, w.StoreID, domain.VectorStorePatch{Name: &name, Metadata: &metadata, ExpiresDays: &days}))(t)
		world.Equal(t, []any{"Renamed", metadata, 7, false}, []any{v.Name, v.Metadata, v.ExpiresDays, v.ExpiresAt.IsZero()})
		days = 0
		v = world.Must(w.UpdateVectorStore(w.Ctx, w.WS, w.StoreID, domain.VectorStorePatch{ExpiresDays: &days}))(t)
		world.Equal(t, []any{"Renamed", metadata, true}, []any{v.Name, v.Metadata, v.ExpiresAt.IsZero()})
		world.Refused(w.UpdateVectorStore(w.Ctx, w.NewWorkspace(), w.StoreID, domain.VectorStorePatch{Name: &name}))(t, domain.CodeNotFound)
		all, more, err := w.VectorStores(w.Ctx, w.WS, catalog.FilePage{Limit: 1})
		world.OK(t, err)
		world.Equal(t, []any{w.StoreID, metadata, false}, []any{all[0].ID, all[0].Metadata, more})
	})
}

func testUploads(t *testing.T, open world.Open) {
	begin := func(w *world.World, bytes int64) domain.Upload {
		w.T.Helper()
		return world.Must(w.CreateUpload(w.Ctx, domain.Upload{ID: domain.NewID(), WorkspaceID: w.WS, Name: "a.txt", Purpose: "assistants", MIMEType: "text/plain", Bytes: bytes, KeepFor: time.Hour}))(w.T)
	}
	part := func(w *world.World, u domain.Upload, size int64) (domain.UploadPart, error) {
		id := domain.NewID()
		return w.AddPart(w.Ctx, u.WorkspaceID, domain.UploadPart{ID: id, UploadID: u.ID, Original: domain.Original{Key: id + ".u-a", Size: size}})
	}
	file := func(u domain.Upload) domain.File {
		id := domain.DerivedID("file", u.ID)
		return domain.File{ID: id, WorkspaceID: u.WorkspaceID, Name: u.Name, Purpose: u.Purpose, Original: domain.Original{Key: id + ".u-b", Size: u.Bytes}}
	}
	world.Run(t, open, "an upload becomes a file, and its parts go", func(t *testing.T, w *world.World) {
		u := begin(w, 10)
		first := world.Must(part(w, u, 6))(t)
		_, err := part(w, u, 5)
		world.Code(t, domain.CodeTooLarge, err)
		second := world.Must(part(w, u, 4))(t)
		parts := world.Must(w.UploadParts(w.Ctx, u.ID))(t)
		world.Equal(t, 2, len(parts))
		_, bytes, err := w.Stored(w.Ctx, w.WS)
		world.OK(t, err)
		world.Equal(t, int64(10), bytes)
		done, f, err := w.CompleteUpload(w.Ctx, w.WS, u.ID, file(u))
		world.OK(t, err)
		world.Equal(t, []any{domain.UploadCompleted, f.ID, f.CreatedAt.Add(time.Hour)}, []any{done.Status, done.FileID, f.ExpiresAt})
		world.Equal(t, sorted([]string{first.Original.Key, second.Original.Key}, first.ID), sorted(deletable(w), first.ID))
		again, same, err := w.CompleteUpload(w.Ctx, w.WS, u.ID, file(u))
		world.OK(t, err)
		world.Equal(t, []any{done.Status, f}, []any{again.Status, same})
		_, err = part(w, u, 1)
		world.Code(t, domain.CodeConflict, err)
		_, err = w.CancelUpload(w.Ctx, w.WS, u.ID)
		world.Code(t, domain.CodeConflict, err)
	})
	world.Run(t, open, "a cancelled or expired upload loses its parts", func(t *testing.T, w *world.World) {
		u, late := begin(w, 10), begin(w, 10)
		p := world.Must(part(w, u, 6))(t)
		world.Must(part(w, late, 6))(t)
		world.Refused(w.CancelUpload(w.Ctx, w.NewWorkspace(), u.ID))(t, domain.CodeNotFound)
		for range 2 {
			got := world.Must(w.CancelUpload(w.Ctx, w.WS, u.ID))(t)
			world.Equal(t, domain.UploadCancelled, got.Status)
		}
		world.Equal(t, []string{p.Original.Key}, deletable(w))
		w.Clock.Advance(59 * time.Minute)
		world.Must(w.Expire(w.Ctx))(t)
		world.Equal(t, domain.UploadPending, world.Must(w.Upload(w.Ctx, w.WS, late.ID))(t).Status)
		w.Clock.Advance(time.Minute + time.Second)
		world.Must(w.Expire(w.Ctx))(t)
		world.Equal(t, domain.UploadExpired, world.Must(w.Upload(w.Ctx, w.WS, late.ID))(t).Status)
		world.Equal(t, 1, len(deletable(w)))
		_, _, err := w.CompleteUpload(w.Ctx, w.WS, late.ID, file(late))
		world.Code(t, domain.CodeConflict, err)
		w.Clock.Advance(25 * time.Hour)
		world.Must(w.Expire(w.Ctx))(t)
		world.Refused(w.Upload(w.Ctx, w.WS, late.ID))(t, domain.CodeNotFound)
	})
	world.Run(t, open, "references to originals of files and parts are listed", func(t *testing.T, w *world.World) {
		f, u := newFile(w, 0), begin(w, 10)
		p := world.Must(part(w, u, 6))(t)
		d := add(w, w.StoreID, f)
		var got []string
		world.OK(t, w.EachOriginal(w.Ctx, func(o catalog.OriginalRef) error {
			got = append(got, fmt.Sprint(o.DatasourceID, " ", o.Key))
			return nil
		}))
		world.Equal(t, []string{" " + f.Original.Key, " " + p.Original.Key, d.ID + " " + f.Original.Key}, got)
	})
}
