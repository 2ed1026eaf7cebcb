package app

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"

	"github.com/sluice/sluice/pkg/cli"
	"github.com/sluice/sluice/pkg/lists"
)

// zipOf returns a ZIP archive. `files` maps each file's path in the archive to its content.
func zipOf(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(files[name])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func (p *program) replaceFile(id, name string, content []byte) error {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", name)
	if err != nil {
		return err
	}
	if _, err := part.Write(content); err != nil {
		return err
	}
	if err := form.Close(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return p.call(ctx, http.MethodPut, "/datasources/"+id+"/original", form.FormDataContentType(), &body, nil)
}

// archiveTimeout is the time limit for reading an archive in these tests.
const archiveTimeout = 3 * time.Minute

// checkArchive checks that the archive has exactly these files. For each file, a search for its word must find it
// exactly once.
func (p *program) checkArchive(store, id string, files, words map[string]string) {
	p.t.Helper()
	var names []string
	for _, f := range p.pagesOf(id) {
		names = append(names, f.Name)
		if f.Status != "synched" || f.Type != "file" || f.GroupID != id {
			p.t.Errorf("%s is %s (%s), a %s of %s", f.Name, f.Status, f.Error, f.Type, f.GroupID)
		}
	}
	slices.Sort(names)
	if want := slices.Sorted(maps.Keys(files)); !slices.Equal(names, want) {
		p.t.Errorf("the archive has %d files, not %d: %v", len(names), len(want), names)
	}
	for name, word := range words {
		found := slices.DeleteFunc(p.query(store, word, 5), func(f fragment) bool { return !strings.Contains(f.Text, word) })
		if len(found) != 1 || found[0].Source != name {
			p.t.Errorf("%s of %s is found in %v", word, name, lists.Map(found, func(f fragment) string { return f.Source }))
		}
	}
}

// TestNothingOfAnArchiveIsLostWhenTheProcessIsKilled kills the process at random moments while it unpacks and reads an
// archive, and while a new version replaces it. In the end, exactly the files in the last version must be searchable.
func TestNothingOfAnArchiveIsLostWhenTheProcessIsKilled(t *testing.T) {
	t.Parallel()
	count, kills := 240, 6
	if testing.Short() {
		count, kills = 60, 2
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	files, words := map[string]string{}, map[string]string{}
	put := func(n int, version string) {
		name, word := fmt.Sprintf("folder%d/file%03d.md", n%7, n), fmt.Sprintf("quokka%03d%s", n, version)
		files[name], words[name] = "# Chapter\n\nIt says "+word+" here.\n\n"+strings.Repeat("A paragraph about the way it is kept and handed on. ", n%40), word
	}
	for n := range count {
		put(n, "x")
	}
	p := newProgram(t)
	p.start()
	store := p.newDatastore()
	disturb := func() {
		for range kills {
			time.AfterFunc(time.Duration(random.IntN(700))*time.Millisecond, func() { _ = p.cmd.Process.Kill() })
			<-p.exited
			p.exited <- nil
			p.start()
		}
	}
	var d source
	p.must(p.upload(store, "all.zip", "all", zipOf(t, files), &d))
	disturb()
	p.siteSettles(d.ID, archiveTimeout)
	p.checkArchive(store, d.ID, files, words)

	var lost []string
	for n := range count {
		name := fmt.Sprintf("folder%d/file%03d.md", n%7, n)
		switch n % 10 {
		case 3:
			lost = append(lost, words[name])
			delete(files, name)
			delete(words, name)
		case 7:
			lost = append(lost, words[name])
			put(n, "y")
		}
	}
	put(count, "z")
	p.must(p.replaceFile(d.ID, "all.zip", zipOf(t, files)))
	disturb()
	p.siteSettles(d.ID, archiveTimeout)
	p.checkArchive(store, d.ID, files, words)
	p.checkGone(store, lost...)

	// Replace the archive once more, this time without a kill. The counts of new and unchanged files must then be
	// exact.
	put(count+1, "z")
	put(0, "z")
	p.must(p.replaceFile(d.ID, "all.zip", zipOf(t, files)))
	c := p.siteSettles(d.ID, archiveTimeout).Crawl
	if c.Discovered != len(files) || c.Fetched != 2 || c.Unchanged != len(files)-2 || c.Failed != 0 || c.Removed != 0 {
		t.Errorf("of %d files, two of them new: %+v", len(files), c)
	}
	p.checkArchive(store, d.ID, files, words)
	if err := p.terminate(); err != nil {
		t.Fatalf("the stop: %v", err)
	}
	checkRows(t, p.dir, store)
	p.start()
	p.must(p.delete("/datasources/" + d.ID))
	if left := p.pagesOf(d.ID); len(left) > 0 {
		t.Errorf("%d files of a deleted archive are left", len(left))
	}
	p.checkGone(store, slices.Collect(maps.Values(words))...)
}

func TestTheCommandLineReplacesArchives(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.start()
	path := filepath.Join(t.TempDir(), "all.zip")
	put := func(files map[string]string) { writeFile(t, path, string(zipOf(t, files))) }
	put(map[string]string{"a.txt": "What a says.", "b.txt": "What b says.", "empty.txt": ""})
	b := p.bring(cli.OK, "ingest", path, "--datastore", "All", "--create", "--metadata", "team=ops")
	want := "1 file was left out: empty (empty.txt)"
	if b.Sent != 1 || b.Synched != 1 || len(b.Warnings) != 1 || b.Warnings[0].Warning != want {
		t.Fatalf("at first: %s, warnings %v", b.counts(), b.Warnings)
	}
	id := b.Documents[0].ID
	if b = p.bring(cli.OK, "ingest", path, "--datastore", "All", "--metadata", "team=ops"); b.Unchanged != 1 || b.Sent != 0 {
		t.Errorf("without a change: %s", b.counts())
	}
	put(map[string]string{"a.txt": "What a says.", "b.txt": "What b says now.", "c.txt": "What c says."})
	b = p.bring(cli.OK, "ingest", path, "--datastore", "All", "--metadata", "team=ops")
	if b.Sent != 1 || b.Synched != 1 || b.Deleted != 0 || b.Documents[0].ID != id {
		t.Errorf("a new version: %s, %+v", b.counts(), b.Documents)
	}
	site, err := p.site(id)
	p.must(err)
	if c := site.Crawl; c.Discovered != 3 || c.Unchanged != 1 || c.Fetched != 2 {
		t.Errorf("the new version: %+v", c)
	}
	b = p.bring(cli.OK, "ingest", path, "--datastore", "All", "--metadata", "team=dev")
	if b.Sent != 1 || b.Synched != 1 || b.Deleted != 1 || b.Documents[0].ID == id {
		t.Errorf("other metadata: %s, %+v", b.counts(), b.Documents)
	}
	if all := p.settled(b.Datastore.ID, time.Minute); len(all) != 4 {
		t.Errorf("there are %d datasources, want an archive and its 3 files", len(all))
	}
}

func TestAnArchiveInAVectorStoreFails(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.start()
	client := openAIClient(p)
	ctx := t.Context()
	f, err := client.Files.New(ctx, openai.FileNewParams{
		File: openai.File(bytes.NewReader(zipOf(t, map[string]string{"a.txt": "text"})), "all.zip", "application/zip"), Purpose: openai.FilePurposeAssistants,
	})
	p.must(err)
	store, err := client.VectorStores.New(ctx, openai.VectorStoreNewParams{})
	p.must(err)
	got, err := client.VectorStores.Files.NewAndPoll(ctx, store.ID, openai.VectorStoreFileNewParams{FileID: f.ID}, 100)
	p.must(err)
	if got.Status != openai.VectorStoreFileStatusFailed || !strings.Contains(got.LastError.Message, "files of type application/zip cannot be read") {
		t.Errorf("the file is %s", got.RawJSON())
	}
}
