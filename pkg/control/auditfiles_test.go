package control

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// TestAuditKeepsTheContentOfFiles audits a store with three originals: a file in a datastore, a file in no datastore,
// and an upload part. The audit must not report any of them as stray. If originals are lost or damaged, it must count
// them.
func TestAuditKeepsTheContentOfFiles(t *testing.T) {
	t.Parallel()
	synched := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := testCatalog(t, synched)
	ctx := t.Context()
	held := kept{"uploads/src": synched, "uploads/old": synched}
	file := func(at time.Time) string {
		t.Helper()
		id := domain.NewID()
		f := domain.File{ID: id, WorkspaceID: "ws", Original: domain.Original{Key: id + ".u-a"}}
		if _, err := c.StoreFile(ctx, f, 0); err != nil {
			t.Fatal(err)
		}
		if !at.IsZero() {
			held[f.Original.Key] = at
		}
		return id
	}
	used := file(synched)
	file(synched)
	file(spoiled)
	file(time.Time{}) // lost
	if _, err := c.AddFile(ctx, "ws", "store", catalog.NewFile{FileID: used}); err != nil {
		t.Fatal(err)
	}
	u, err := c.CreateUpload(ctx, domain.Upload{ID: domain.NewID(), WorkspaceID: "ws", Bytes: 9})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.AddPart(ctx, "ws", domain.UploadPart{ID: domain.NewID(), UploadID: u.ID, Original: domain.Original{Key: "uploads/part", Size: 1}}); err != nil {
		t.Fatal(err)
	}
	held["uploads/part"] = synched
	a := Auditor{
		Catalog: c, Engines: inventory{}, Originals: held, Log: quiet, Now: func() time.Time { return synched.Add(2 * time.Hour) },
	}
	var notes []string
	report, err := a.Audit(ctx, Scope{Thorough: true}, func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) })
	if err != nil || report.StrayOriginals != 1 {
		t.Errorf("the audit found %+v, %v", report, err)
	}
	if !slices.ContainsFunc(notes, func(s string) bool { return strings.HasPrefix(s, "the content of 2 files ") }) {
		t.Errorf("the notes are %q", notes)
	}
	tasks, err := c.Sweeps(ctx, 10)
	if err != nil || len(tasks) != 1 || !slices.Equal(tasks[0].Originals, []string{"uploads/old"}) {
		t.Errorf("the sweeps are %+v, %v", tasks, err)
	}
}
