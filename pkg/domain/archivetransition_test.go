package domain

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

var zipped = Original{Key: "src.zip", SHA256: "sum", Size: 100, MIMEType: "application/zip", Name: "all.zip"}

// archiveEvent is the event from a job whose file turned out to be an archive.
func archiveEvent() Event {
	return event(EventArchive, "job-2", 7, func(ev *Event) { ev.Error, ev.Force = "files of type application/zip cannot be read", true })
}

func TestAFileThatIsAnArchiveIsUnpacked(t *testing.T) {
	t.Parallel()
	d := source(func(d *Datasource) {
		d.Original, d.ActiveGeneration, d.Chunks, d.CustomID = &zipped, 3, 5, "custom"
		d.Metadata = map[string]any{"team": "ops"}
	})
	out := Apply(&d, settled(), archiveEvent())
	if d.Type != TypeArchive || d.Status != StatusUnsynched || d.Crawl == nil || d.DiscoveryDone || d.ActiveGeneration != 0 || d.Fence != 7 {
		t.Errorf("the datasource is %+v", d)
	}
	if diff := cmp.Diff(&zipped, d.Original); diff != "" || d.Config.SHA256 != "sum" || d.Config.FileSize != 100 {
		t.Errorf("the original is lost: %s, %+v", diff, d.Config)
	}
	if diff := cmp.Diff([]Sweep{rows(Place{}, 0, 8)}, out.Sweeps); diff != "" {
		t.Errorf("sweeps (-want +got):\n%s", diff)
	}
	if j := out.Next; j == nil || j.Kind != JobIngest || j.Type != TypeArchive || j.ID != d.JobID || j.Original == nil || !j.Force || !out.Begins || !out.Settled {
		t.Fatalf("the outcome is %+v", out)
	}
	if again := Apply(&d, settled(), archiveEvent()); again.Changed || again.Next != nil {
		t.Errorf("the event, delivered again, has the outcome %+v", again)
	}
}

func TestOnlyFilesOfTheirOwnBecomeArchives(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Datasource){
		"a file of an archive":       func(d *Datasource) { d.GroupID = "archive" },
		"a web page":                 func(d *Datasource) { d.Type = TypeWebPage },
		"a file of OpenAI's API":     func(d *Datasource) { d.Config.FileID = "file" },
		"a file without its content": func(d *Datasource) { d.Original = nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := source(func(d *Datasource) { d.Original = &zipped; change(d) })
			was := d.Type
			out := Apply(&d, settled(), archiveEvent())
			if d.Type != was || d.Status != StatusError || d.Error != archiveEvent().Error || out.Next != nil {
				t.Errorf("the datasource is %+v, the outcome %+v", d, out)
			}
		})
	}
}

// unpacking returns an archive whose job is running.
func unpacking() Datasource {
	return source(func(d *Datasource) {
		d.Type, d.Original, d.Status = TypeArchive, &zipped, StatusRunning
		d.BeginCrawl(at)
	})
}

func TestAnArchiveWaitsForItsFiles(t *testing.T) {
	t.Parallel()
	members := []Original{{Key: "a.m", Name: "a.txt"}, {Key: "b.m", Name: "b.txt"}}
	found := event(EventDiscovered, "job-2", 7, func(ev *Event) { ev.Members = members })
	d := unpacking()
	if out := Apply(&d, settled(), found); len(out.Members) != 2 || out.Settled {
		t.Errorf("discovered: %+v", out)
	}
	out := Apply(&d, settled(), event(EventSynched, "job-2", 7, func(ev *Event) {
		ev.Complete, ev.Warnings, ev.LeftOut = true, []string{"1 file was left out: empty (c.txt)"}, map[string]int{"empty": 1}
	}))
	if !out.Settled || d.Status != StatusRunning || !d.DiscoveryDone || d.Crawl.MissingPages != RestRemoved || d.Crawl.LeftOut["empty"] != 1 || d.Progress.Stage != stageReadingFiles {
		t.Errorf("after it was unpacked: %+v, %+v, outcome %+v", d, d.Crawl, out)
	}
	if d.ActiveGeneration != 0 || d.Chunks != 0 {
		t.Error("the archive itself has content")
	}
	if out := Apply(&d, settled(), found); len(out.Members) != 0 {
		t.Error("files are added to an archive that was already unpacked")
	}
	if !d.SettlePages(SiteProgress{Discovered: 2, Failed: 1}, "damaged", at) || d.Status != StatusSynched {
		t.Errorf("settled: %+v", d)
	}
	if diff := cmp.Diff([]string{"1 file was left out: empty (c.txt)", "1 of 2 files could not be read; each shows its error"}, d.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if d.SettlePages(SiteProgress{Discovered: 2}, "", at); len(d.Warnings) != 1 {
		t.Errorf("the warning stays after a retry: %q", d.Warnings)
	}
	if d.SettlePages(SiteProgress{Discovered: 2, Failed: 2}, "damaged", at); d.Error != "None of the archive's 2 files could be read. Example: damaged" {
		t.Errorf("the error is %q", d.Error)
	}
}

func TestAnOvertakenJobOfAnArchiveChangesNothing(t *testing.T) {
	t.Parallel()
	d := unpacking()
	want := d
	if out := Apply(&d, settled(), event(EventDiscovered, "job-1", 5, func(ev *Event) { ev.Members = []Original{zipped} })); len(out.Members) != 0 {
		t.Errorf("discovered: %+v", out)
	}
	// The overtaken job may have read a document that was replaced by the archive.
	out := Apply(&d, settled(), event(EventSynched, "job-1", 5, func(ev *Event) { ev.Chunks = 3 }))
	if diff := cmp.Diff([]Sweep{rows(here, 5, 6)}, out.Sweeps); diff != "" || out.Changed {
		t.Errorf("sweeps (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Errorf("the datasource has changed (-want +got):\n%s", diff)
	}
}

func TestFilesOfADeletedArchiveAreSwept(t *testing.T) {
	t.Parallel()
	sweeps := OrphanSweeps(event(EventDiscovered, "job", 7, func(ev *Event) { ev.Members = []Original{{Key: "a.m"}, {Key: "b.m"}} }))
	want := []Sweep{{WorkspaceID: "ws", DatastoreID: "store", DatasourceID: "src", Originals: []string{"a.m", "b.m"}}}
	if diff := cmp.Diff(want, sweeps); diff != "" {
		t.Errorf("sweeps (-want +got):\n%s", diff)
	}
	if sweeps := OrphanSweeps(event(EventDiscovered, "job", 7, nil)); len(sweeps) != 0 {
		t.Errorf("an event with links has sweeps: %+v", sweeps)
	}
}

func TestAFileOfAnArchiveInheritsItsMetadata(t *testing.T) {
	t.Parallel()
	d := unpacking()
	d.Metadata = map[string]any{"team": "ops"}
	o := Original{Key: "k", SHA256: "s", Size: 3, MIMEType: "text/plain", Name: "docs/a.txt"}
	m := d.NewMember(o)
	if m.ID != MemberID("src", "docs/a.txt") || m.GroupID != "src" || m.Type != TypeFile || m.Name != "docs/a.txt" || m.Config.FileName != "docs/a.txt" || m.Metadata["team"] != "ops" || m.Config.FileSize != 3 {
		t.Errorf("the file is %+v", m)
	}
	if !m.HasMember(o) || m.HasMember(Original{SHA256: "other", Size: 3}) {
		t.Error("unchanged content is not recognised")
	}
	m.Status = StatusError
	if m.HasMember(o) {
		t.Error("a file that failed would not be read again")
	}
}
