package catalogtest

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/catalog/catalogtest/world"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lists"
)

// member returns an archived file. Each call returns a separate original, even if the content is the same.
func member(path, content string) domain.Original {
	return domain.Original{Key: domain.NewID() + ".m", SHA256: content, Size: int64(len(content)), MIMEType: "text/plain", Name: path}
}

// found returns a function that sets an event's Members, the archived files that the job found.
func found(members ...domain.Original) func(*domain.Event) {
	return func(ev *domain.Event) { ev.Members = members }
}

// complete marks an event as reporting a complete list of the archive's files.
func complete(ev *domain.Event) { ev.Complete = true }

// newArchive uploads a file that turns out to be an archive and returns its published unpack job.
func newArchive(w *world.World) (id string, job domain.Job) {
	w.T.Helper()
	made := w.CreateFile(func(n *catalog.NewDatasource) {
		n.Datasource.CustomID, n.Datasource.Metadata = "all", map[string]any{"team": "service"}
	})
	w.End(w.PublishAll()[0], domain.EventArchive)
	jobs := w.PublishAll()
	world.Equal(w.T, []any{1, domain.TypeArchive, made.ID}, []any{len(jobs), jobs[0].Type, jobs[0].DatasourceID})
	return made.ID, jobs[0]
}

// unpack simulates an entire unpack job.
func unpack(w *world.World, job domain.Job, members ...domain.Original) {
	w.T.Helper()
	w.End(job, domain.EventDiscovered, found(members...))
	w.End(job, domain.EventSynched, complete)
	w.WorkOnSites()
}

// replaceArchive uploads a new version of the archive and returns its published unpack job.
func replaceArchive(w *world.World, id string, force bool) domain.Job {
	w.T.Helper()
	job := domain.Job{ID: domain.NewID(), Kind: domain.JobIngest, Force: force}
	world.Must(w.ReplaceContent(w.Ctx, w.WS, id, catalog.Replacement{Original: domain.Original{Key: domain.NewID() + ".u", SHA256: "new", Size: 9}, Job: job}))(w.T)
	return w.PublishAll()[0]
}

// readFiles completes the jobs for an archive's files and returns the files' names.
func readFiles(w *world.World) []string {
	w.T.Helper()
	names := []string{}
	for _, job := range w.PublishAll() {
		w.End(job, domain.EventSynched, world.Chunks(2))
		names = append(names, job.Name)
	}
	slices.Sort(names)
	return names
}

// sweptOriginals returns the keys of originals in the queued sweeps.
func sweptOriginals(w *world.World) map[string]bool {
	w.T.Helper()
	keys := map[string]bool{}
	for _, s := range w.AllSweeps() {
		for _, key := range s.Originals {
			keys[key] = true
		}
	}
	return keys
}

func testArchives(t *testing.T, open world.Open) {
	world.Run(t, open, "the files of an archive are datasources with its id as group and its metadata, and the archive waits for them", func(t *testing.T, w *world.World) {
		id, job := newArchive(w)
		world.Equal(t, true, job.Original != nil)
		unpack(w, job, member("docs/a.txt", "one"), member("b.txt", "two"))
		d := w.Get(id)
		world.Equal(t, []any{domain.StatusRunning, "reading files", int64(2)}, []any{d.Status, d.Progress.Stage, d.Progress.Total})
		file := w.Get(domain.MemberID(id, "docs/a.txt"))
		world.Equal(t, []any{id, domain.TypeFile, "docs/a.txt", "service", ""}, []any{file.GroupID, file.Type, file.Name, file.Metadata["team"], file.CustomID})
		world.Equal(t, []string{"b.txt", "docs/a.txt"}, readFiles(w))
		world.Equal(t, domain.StatusSynched, w.Get(id).Status)
		world.Equal(t, domain.SiteProgress{Discovered: 2, Fetched: 2}, w.ProgressOf(id))
	})
	world.Run(t, open, "filters by an archive's id or custom id select its files", func(t *testing.T, w *world.World) {
		id, job := newArchive(w)
		unpack(w, job, member("a.txt", "one"))
		readFiles(w)
		for _, f := range []domain.Filters{{CustomIDs: []string{"all"}}, {DatasourceIDs: []string{id}}} {
			ids := world.Must(w.ResolveFilters(w.Ctx, []string{w.StoreID}, f))(t)
			world.Equal(t, true, slices.Contains(ids, domain.MemberID(id, "a.txt")))
		}
	})
	world.Run(t, open, "a new version of an archive reads new and changed files, keeps unchanged ones and removes missing ones", func(t *testing.T, w *world.World) {
		id, job := newArchive(w)
		same, changed, missing := member("same.txt", "one"), member("changed.txt", "two"), member("missing.txt", "three")
		unpack(w, job, same, changed, missing)
		readFiles(w)
		w.ClearSweeps()
		job = replaceArchive(w, id, false)
		copied, newer := member("same.txt", "one"), member("changed.txt", "four")
		unpack(w, job, copied, newer, member("new.txt", "five"))
		world.Equal(t, []string{"changed.txt", "new.txt"}, readFiles(w))
		w.IsGone(domain.MemberID(id, "missing.txt"))
		world.Equal(t, domain.SiteProgress{Discovered: 3, Fetched: 2, Unchanged: 1, Removed: 1}, w.ProgressOf(id))
		world.Equal(t, domain.StatusSynched, w.Get(id).Status)
		world.Equal(t, same.Key, w.Get(domain.MemberID(id, "same.txt")).Original.Key)
		world.Equal(t, newer.Key, w.Get(domain.MemberID(id, "changed.txt")).Original.Key)
		swept := sweptOriginals(w)
		world.Equal(t, []bool{true, true, true, false, false}, []bool{swept[copied.Key], swept[changed.Key], swept[missing.Key], swept[same.Key], swept[newer.Key]})
	})
	world.Run(t, open, "a file that could not be read is read again from a new version with the same content", func(t *testing.T, w *world.World) {
		id, job := newArchive(w)
		unpack(w, job, member("a.txt", "one"), member("b.txt", "two"))
		for _, j := range w.PublishAll() {
			if j.Name == "a.txt" {
				w.End(j, domain.EventError, world.WithReason("no text"))
			} else {
				w.End(j, domain.EventSynched, world.Chunks(1))
			}
		}
		d := w.Get(id)
		world.Equal(t, []any{domain.StatusSynched, "1 of 2 files could not be read; each shows its error"}, []any{d.Status, d.Warnings[0]})
		unpack(w, replaceArchive(w, id, false), member("a.txt", "one"), member("b.txt", "two"))
		world.Equal(t, []string{"a.txt"}, readFiles(w))
		world.Equal(t, 0, len(w.Get(id).Warnings))
	})
	world.Run(t, open, "a forced job of an archive reads all files again", func(t *testing.T, w *world.World) {
		id, job := newArchive(w)
		unpack(w, job, member("a.txt", "one"))
		readFiles(w)
		job = replaceArchive(w, id, true)
		w.End(job, domain.EventDiscovered, found(member("a.txt", "one")), func(ev *domain.Event) { ev.Force = true })
		jobs := w.PublishAll()
		world.Equal(t, []any{1, "a.txt", true}, []any{len(jobs), jobs[0].Name, jobs[0].Force})
	})
	world.Run(t, open, "events of an archive that are delivered twice change nothing", func(t *testing.T, w *world.World) {
		id, job := newArchive(w)
		a := member("a.txt", "one")
		for range 2 {
			w.End(job, domain.EventDiscovered, found(a))
		}
		world.Equal(t, 1, len(w.OutboxIDs()))
		w.End(job, domain.EventSynched, complete)
		readFiles(w)
		w.End(job, domain.EventDiscovered, found(a, member("late.txt", "two")))
		w.End(job, domain.EventSynched, complete)
		w.WorkOnSites()
		world.Equal(t, []any{0, false}, []any{len(w.OutboxIDs()), sweptOriginals(w)[a.Key]})
		world.Equal(t, int64(1), w.ProgressOf(id).Discovered)
	})
	world.Run(t, open, "an archive's job that a new version has overtaken adds and removes no files", func(t *testing.T, w *world.World) {
		id, old := newArchive(w)
		w.End(old, domain.EventDiscovered, found(member("a.txt", "one")))
		job := replaceArchive(w, id, false)
		w.PublishAll()
		w.End(old, domain.EventDiscovered, found(member("old.txt", "two")))
		w.End(old, domain.EventSynched, complete)
		world.Equal(t, false, w.Get(id).DiscoveryDone)
		unpack(w, job, member("b.txt", "three"))
		w.IsGone(domain.MemberID(id, "a.txt"))
		w.IsGone(domain.MemberID(id, "old.txt"))
		world.Equal(t, int64(1), w.ProgressOf(id).Discovered)
	})
	world.Run(t, open, "an archive that fails keeps the files of its former version", func(t *testing.T, w *world.World) {
		id, job := newArchive(w)
		unpack(w, job, member("a.txt", "one"))
		readFiles(w)
		w.End(replaceArchive(w, id, false), domain.EventError, world.WithReason("damaged"))
		w.WorkOnSites()
		world.Equal(t, []any{domain.StatusError, "damaged"}, []any{w.Get(id).Status, w.Get(id).Error})
		world.Equal(t, domain.StatusSynched, w.Get(domain.MemberID(id, "a.txt")).Status)
	})
	world.Run(t, open, "deleting an archive deletes its files, and files found later are swept", func(t *testing.T, w *world.World) {
		id, job := newArchive(w)
		a := member("a.txt", "one")
		w.End(job, domain.EventDiscovered, found(a))
		world.Must(w.DeleteDatasource(w.Ctx, w.WS, id))(t)
		w.IsGone(domain.MemberID(id, "a.txt"))
		world.Equal(t, true, sweptOriginals(w)[a.Key])
		world.Equal(t, 0, len(w.OutboxIDs()))
		late := member("b.txt", "two")
		w.End(job, domain.EventDiscovered, found(late))
		w.IsGone(domain.MemberID(id, "b.txt"))
		world.Equal(t, true, sweptOriginals(w)[late.Key])
	})
	world.Run(t, open, "a deleted file of an archive returns with the next version, but not in the current one", func(t *testing.T, w *world.World) {
		id, job := newArchive(w)
		file := domain.MemberID(id, "a.txt")
		w.End(job, domain.EventDiscovered, found(member("a.txt", "one"), member("b.txt", "two")))
		world.Must(w.DeleteDatasource(w.Ctx, w.WS, file))(t)
		again := member("a.txt", "one")
		w.End(job, domain.EventDiscovered, found(again))
		w.IsGone(file)
		world.Equal(t, true, sweptOriginals(w)[again.Key])
		w.End(job, domain.EventSynched, complete)
		readFiles(w)
		world.Equal(t, domain.SiteProgress{Discovered: 1, Fetched: 1}, w.ProgressOf(id))
		unpack(w, replaceArchive(w, id, false), member("a.txt", "one"), member("b.txt", "two"))
		world.Equal(t, []string{"a.txt"}, readFiles(w))
		world.Equal(t, []any{int64(2), domain.StatusSynched}, []any{w.ProgressOf(id).Discovered, w.Get(id).Status})
	})
	world.Run(t, open, "a replay reads the files of an archive, and unpacks the archive only to fetch content again or after a failure", func(t *testing.T, w *world.World) {
		id, job := newArchive(w)
		unpack(w, job, member("a.txt", "one"))
		readFiles(w)
		queued := func(f catalog.ReplayFilter) []string {
			f.DatastoreID, f.ReplayID = w.StoreID, domain.NewID()
			_, _, err := w.Replay(w.Ctx, f, "")
			world.OK(t, err)
			return lists.Map(w.PublishAll(), func(j domain.Job) string { return j.DatasourceID })
		}
		world.Equal(t, []string{domain.MemberID(id, "a.txt")}, queued(catalog.ReplayFilter{}))
		world.Equal(t, []string{id}, queued(catalog.ReplayFilter{Fetch: true}))
		w.ApplyEvent(w.Get(id), domain.EventError, world.WithReason("damaged"))
		world.Equal(t, []string{id}, queued(catalog.ReplayFilter{Failed: true}))
	})
	world.Run(t, open, "a lost job of an archive is issued again and adds only the files that are missing", func(t *testing.T, w *world.World) {
		id, job := newArchive(w)
		w.End(job, domain.EventDiscovered, found(member("a.txt", "one")))
		readFiles(w)
		w.Clock.Advance(time.Hour)
		stuck := w.StuckFor(time.Minute)
		world.Equal(t, []any{1, id, domain.JobIngest}, []any{len(stuck), stuck[0].ID, stuck[0].Job.Kind})
		world.Equal(t, true, world.Must(w.Reissue(w.Ctx, id, job.ID, stuck[0].Job))(t))
		unpack(w, w.PublishAll()[0], member("a.txt", "one"), member("b.txt", "two"))
		world.Equal(t, []string{"b.txt"}, readFiles(w))
		w.Clock.Advance(time.Hour)
		world.Equal(t, []any{domain.StatusSynched, 0}, []any{w.Get(id).Status, len(w.StuckFor(time.Minute))})
	})
	world.Run(t, open, "an archive that only waits for its files is not stuck", func(t *testing.T, w *world.World) {
		id, job := newArchive(w)
		unpack(w, job, member("a.txt", "one"))
		w.Clock.Advance(time.Hour)
		for _, s := range w.StuckFor(time.Minute) {
			world.Equal(t, false, s.ID == id)
		}
	})
	world.Run(t, open, "a text cannot replace an archive by its custom id", func(t *testing.T, w *world.World) {
		newArchive(w)
		text := w.File(func(n *catalog.NewDatasource) { n.Datasource.Type, n.Datasource.CustomID = domain.TypeText, "all" })
		world.Refused(w.UpsertDatasources(w.Ctx, []catalog.NewDatasource{text}))(t, domain.CodeInvalid)
	})
	world.Run(t, open, "content that was checked for a file cannot replace an archive", func(t *testing.T, w *world.World) {
		id, _ := newArchive(w)
		w.ClearSweeps()
		was := w.Get(id)
		n := catalog.Replacement{Type: domain.TypeFile, Original: domain.Original{Key: "text", SHA256: "new", Size: 9}, Job: domain.Job{ID: domain.NewID()}}
		world.Refused(w.ReplaceContent(w.Ctx, w.WS, id, n))(t, domain.CodeConflict)
		world.Equal(t, was, w.Get(id))
		world.Equal(t, 0, len(w.AllSweeps()))
		n.Type = domain.TypeArchive
		world.Equal(t, "text", world.Must(w.ReplaceContent(w.Ctx, w.WS, id, n))(t).Original.Key)
	})
	world.Run(t, open, "a new name of an archive does not unpack it again", func(t *testing.T, w *world.World) {
		id, job := newArchive(w)
		unpack(w, job, member("a.txt", "one"))
		readFiles(w)
		name := "Contracts"
		d := world.Must(w.Describe(w.Ctx, w.WS, id, catalog.Description{Name: &name}, domain.Job{ID: domain.NewID()}))(t)
		world.Equal(t, []any{name, domain.StatusSynched, 0}, []any{d.Name, w.Get(id).Status, len(w.OutboxIDs())})
	})
	world.Run(t, open, "an archive and its files come back from the job log as what they were", func(t *testing.T, w *world.World) {
		archive := domain.Datasource{
			ID: domain.NewID(), WorkspaceID: w.WS, DatastoreID: w.StoreID, Type: domain.TypeArchive, Name: "all.zip",
			Original: &domain.Original{Key: "archive", SHA256: "sum", Size: 9, MIMEType: "application/zip", Name: "all.zip"},
		}
		a, b := member("a.txt", "one"), member("b.txt", "two")
		for i, d := range []domain.Datasource{archive.NewMember(a), archive, archive.NewMember(b)} {
			job := domain.NewIngestJob(d, w.Settled())
			job.Generation = 80 + uint64(i)
			world.Equal(t, catalog.AdoptedUnknown, adoptJob(w, job))
		}
		w.Seq = 90
		d := w.Get(archive.ID)
		world.Equal(t, []any{domain.TypeArchive, archive.Original, int64(2)}, []any{d.Type, d.Original, d.Progress.Total})
		var job domain.Job
		for _, j := range w.PublishAll() {
			if j.DatasourceID == archive.ID {
				job = j
			} else {
				w.End(j, domain.EventSynched, world.Chunks(1))
			}
		}
		unpack(w, job, member("a.txt", "one"), member("b.txt", "two"))
		world.Equal(t, []any{domain.StatusSynched, 0}, []any{w.Get(archive.ID).Status, len(w.OutboxIDs())})
		world.Equal(t, domain.SiteProgress{Discovered: 2, Unchanged: 2}, w.ProgressOf(archive.ID))
		world.Equal(t, a.Key, w.Get(domain.MemberID(archive.ID, "a.txt")).Original.Key)
	})
	world.Run(t, open, "an event with more files than one may have is rejected", func(t *testing.T, w *world.World) {
		_, job := newArchive(w)
		var members []domain.Original
		for n := range domain.MaxMembersPerEvent + 1 {
			members = append(members, member(strconv.Itoa(n), "x"))
		}
		ev := job.Event(domain.EventDiscovered, w.Clock.Now())
		ev.Members = members
		world.Refused(w.Apply(w.Ctx, ev))(t, domain.CodeInvalid)
	})
}
