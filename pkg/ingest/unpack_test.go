package ingest

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/archive"
	"github.com/sluice/sluice/pkg/jobs"
	"github.com/sluice/sluice/pkg/lists"
	"github.com/sluice/sluice/pkg/originals"
)

const archiveID = "0198c0de-0000-7000-8000-000000000009"

func archiveJob() domain.Job {
	job := ingestJob()
	job.DatasourceID, job.Type = archiveID, domain.TypeArchive
	job.Original = &domain.Original{Key: "key", SHA256: "sum", Name: "all.zip", MIMEType: "application/zip"}
	return job
}

// zipOf returns an archive with the given files, as alternating names and contents.
func zipOf(t *testing.T, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		w, err := z.Create(files[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, files[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// fileStore records the files put into it.
type fileStore struct {
	content map[string]string // by key
	fail    error
}

func (s *fileStore) Put(_ context.Context, key string, r io.Reader, o originals.PutOptions) (domain.Original, error) {
	if s.fail != nil {
		return domain.Original{}, s.fail
	}
	content, err := io.ReadAll(r)
	if err != nil {
		return domain.Original{}, err
	}
	s.content[key] = string(content)
	return domain.Original{Key: key, SHA256: "of " + string(content), Size: int64(len(content)), MIMEType: o.MIMEType, Name: o.Name}, nil
}

// unpack runs an archive's job and checks that no temporary file is left.
func (p *ingestorFixture) unpack(t *testing.T, data []byte, store *fileStore, job domain.Job) error {
	t.Helper()
	p.get = func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	i := p.ingestor()
	temp := t.TempDir()
	i.Unpacking = Unpacking{Store: store, TempDir: temp, Limits: archive.Limits{Files: 1000, Unpacked: 1 << 20, File: 1 << 20}}
	err := i.Handle(t.Context(), job)
	left, readErr := os.ReadDir(temp)
	if readErr != nil || len(left) > 0 {
		t.Errorf("temporary files: %v, %v", left, readErr)
	}
	return err
}

func TestAFileThatIsAnArchiveIsReported(t *testing.T) {
	t.Parallel()
	refuse := func(extract.Request) (*domain.Document, error) {
		return nil, &extract.Error{Kind: extract.Archive, Message: "archives cannot be read"}
	}
	p := newPipeline(2)
	p.extract = refuse
	job := ingestJob()
	job.Force = true
	if err := p.handle(t, job); err != nil {
		t.Fatal(err)
	}
	ev := p.log.last(t, domain.EventArchive)
	if !ev.Force || ev.Error != "archives cannot be read" || ev.Progress == nil || ev.Progress.Stage != domain.StageUnreadable {
		t.Errorf("the event is %+v", ev)
	}
	p = newPipeline(2)
	p.extract = refuse
	job.Type = domain.TypeWebPage
	if err := p.handle(t, job); !jobs.IsPermanent(err) || len(p.log.events) > 0 {
		t.Errorf("the job of a page ended with %v and the events %v", err, p.log.types())
	}
}

func TestTheFilesOfAnArchiveAreStoredAndReported(t *testing.T) {
	t.Parallel()
	p, store := newPipeline(2), &fileStore{content: map[string]string{}}
	job := archiveJob()
	job.Force = true
	data := zipOf(t, "docs/a.txt", "first", "b.md", "# second", "film.mp4", "\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom", "inner.zip", string(zipOf(t, "x.txt", "x")), "empty.txt", "")
	if err := p.unpack(t, data, store, job); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]domain.EventType{domain.EventDiscovered, domain.EventSynched}, p.log.types()); diff != "" {
		t.Fatalf("events (-want +got):\n%s", diff)
	}
	found, end := p.log.events[0], p.log.events[1]
	keys := lists.Map(found.Members, func(o domain.Original) string { return o.Key })
	got := lists.Map(found.Members, func(o domain.Original) string { return o.Name + " " + o.MIMEType + " " + store.content[o.Key] })
	if diff := cmp.Diff([]string{"docs/a.txt text/plain first", "b.md text/markdown # second"}, got); diff != "" || !found.Force {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	if id, err := originals.DatasourceID(keys[0]); id != domain.MemberID(archiveID, "docs/a.txt") || err != nil {
		t.Errorf("the key is %q, %v", keys[0], err)
	}
	want := map[string]int{"format video/mp4 (.mp4) cannot be read": 1, archive.Nested: 1, archive.Empty: 1}
	if diff := cmp.Diff(want, end.LeftOut); diff != "" || !end.Complete || len(end.Warnings) != 3 {
		t.Errorf("left out (-want +got):\n%s\nevent %+v", diff, end)
	}

	again := newPipeline(2)
	if err := again.unpack(t, data, store, job); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p.log.events, again.log.events); diff != "" || len(store.content) != 2 {
		t.Errorf("a second run of the job reports something else (-first +second):\n%s", diff)
	}
}

func TestAnArchiveIsReportedInGroups(t *testing.T) {
	t.Parallel()
	p := newPipeline(1)
	var files []string
	for n := range 2*domain.MaxMembersPerEvent + 1 {
		files = append(files, "f"+strconv.Itoa(n)+".txt", "text")
	}
	if err := p.unpack(t, zipOf(t, files...), &fileStore{content: map[string]string{}}, archiveJob()); err != nil {
		t.Fatal(err)
	}
	sizes := lists.Map(p.log.events, func(ev domain.Event) int { return len(ev.Members) })
	if diff := cmp.Diff([]int{domain.MaxMembersPerEvent, domain.MaxMembersPerEvent, 1, 0}, sizes); diff != "" {
		t.Errorf("files per event (-want +got):\n%s", diff)
	}
	p = newPipeline(1)
	long := strings.Repeat("<", archive.MaxPath-4)
	for n := range 400 {
		files = append(files, strconv.Itoa(n)+long, "text")
	}
	p.log.refuse = func(ev domain.Event) error {
		paths := 0
		for _, m := range ev.Members {
			paths += len(m.Name)
		}
		if paths > maxEventPaths+archive.MaxPath {
			t.Errorf("an event has %d bytes of paths", paths)
		}
		return nil
	}
	if err := p.unpack(t, zipOf(t, files...), &fileStore{content: map[string]string{}}, archiveJob()); err != nil {
		t.Fatal(err)
	}
}

func TestArchivesThatCannotBeUnpacked(t *testing.T) {
	t.Parallel()
	whole := zipOf(t, "a.txt", "text")
	damaged := slices.Clone(whole)
	damaged[bytes.Index(damaged, []byte("a.txt"))+7] ^= 0x55 // in the packed content
	for name, c := range map[string]struct {
		data  []byte
		store fileStore
		want  string
		final bool
	}{
		"not an archive":       {data: []byte("%PDF-1.7"), want: "not a ZIP archive", final: true},
		"no files":             {data: zipOf(t), want: "no readable files", final: true},
		"only other formats":   {data: zipOf(t, "a.bin", "\x00\x01\x02\x03"), want: "1 file was left out: format", final: true},
		"only a damaged file":  {data: damaged, want: "1 file was left out: damaged (a.txt)", final: true},
		"the store has failed": {data: whole, store: fileStore{fail: errors.New("no answer")}, want: "no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPipeline(1)
			c.store.content = map[string]string{}
			err := p.unpack(t, c.data, &c.store, archiveJob())
			if err == nil || !strings.Contains(err.Error(), c.want) || jobs.IsPermanent(err) != c.final || len(p.log.events) > 0 {
				t.Errorf("error %v (permanent: %v), events %v", err, jobs.IsPermanent(err), p.log.types())
			}
		})
	}
}
