package app

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/datadir"
)

// damages lists the ways to damage a file.
var damages = []struct {
	name  string
	spoil func(path string) error
}{
	{"its first byte is changed", func(path string) error { return flipAt(path, 0) }},
	{"a byte near its beginning is changed", func(path string) error { return flipAt(path, 0.1) }},
	{"a byte in its middle is changed", func(path string) error { return flipAt(path, 0.5) }},
	{"its last byte is changed", func(path string) error { return flipAt(path, 1) }},
	{"it is cut in half", func(path string) error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		return os.Truncate(path, info.Size()/2)
	}},
	{"it is empty", func(path string) error { return os.Truncate(path, 0) }},
	{"it is gone", os.Remove},
}

// flipAt flips a bit at a relative position in the file, from 0 (first byte) to 1 (last byte).
func flipAt(path string, part float64) error {
	content, err := os.ReadFile(path)
	if err != nil || len(content) == 0 {
		return err
	}
	content[int(part*float64(len(content)-1))] ^= 0x10
	return os.WriteFile(path, content, 0o600)
}

// flipPage changes a page's first byte, the page type, in an SQLite file.
func flipPage(number int) func(path string) error {
	return func(path string) error {
		const pageSize, headerSize = 4096, 100
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		at := (number - 1) * pageSize
		if number == 1 {
			at = headerSize
		}
		content[at] ^= 0x10
		return os.WriteFile(path, content, 0o600)
	}
}

// damagedCopy returns a program with a copy of the data directory in which `spoil` has damaged one file.
func (p *program) damagedCopy(t testing.TB, from, file string, spoil func(string) error) *program {
	t.Helper()
	q := newProgram(t, p.env...)
	q.must(os.CopyFS(q.dir, os.DirFS(from)))
	q.must(os.Chmod(q.dir, 0o700))
	q.must(spoil(filepath.Join(q.dir, file)))
	return q
}

// starts launches the program. It returns true once the program is ready, and false if the program exits instead.
func (p *program) starts() bool {
	p.t.Helper()
	p.launch()
	deadline := time.After(2 * time.Minute)
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for {
		select {
		case err := <-p.exited:
			p.exited <- err
			if err == nil {
				p.t.Errorf("the program exited with 0\n%s", p.stderr)
			}
			return false
		case <-deadline:
			p.t.Fatalf("the program neither serves nor ends\n%s", p.stderr)
		case <-poll.C:
		}
		if resp, err := http.Get("http://" + p.addr + "/readyz"); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return true
			}
		}
	}
}

// findsAll reports whether queries find every document. Its queries read as many rows as those in checkQueries, so they
// detect the same damage. If a query fails because of damage, its document counts as not found.
func (p *program) findsAll(store string, docs []*document) bool {
	for _, d := range docs {
		var found []fragment
		err := p.post("/datastores/"+store+"/query", map[string]any{"query": d.word, "topK": 10}, &found)
		var refused errRefused
		if err != nil && (!errors.As(err, &refused) || refused.status < 500) {
			p.t.Fatal(err)
		}
		if !slices.ContainsFunc(found, func(f fragment) bool { return strings.Contains(f.Text, d.word) && f.DatasourceID == d.id }) {
			return false
		}
	}
	return true
}

// stockedDir returns a stopped program whose data directory contains documents.
func stockedDir(t testing.TB, n int) (p *program, store string, docs []*document) {
	t.Helper()
	p = newProgram(t)
	p.start()
	store = p.newDatastore()
	docs = mixedDocuments(t, n)
	p.addContent(store, docs)
	p.swept()
	p.must(p.terminate())
	return p, store, docs
}

// filesBelow returns the non-empty files in a subdirectory.
func filesBelow(t testing.TB, dir, part string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(dir, part), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || e.Name() == datadir.Lock {
			return err
		}
		info, err := e.Info()
		if err != nil || info.Size() == 0 {
			return err
		}
		name, err := filepath.Rel(dir, path)
		all = append(all, name)
		return err
	})
	if err != nil || len(all) == 0 {
		t.Fatalf("%d files: %v", len(all), err)
	}
	return all
}

// everyDamage reports whether to damage each file in every way, which takes many minutes. Otherwise each file is
// damaged in only one way.
func everyDamage() bool { return os.Getenv("TEST_DAMAGE") != "" }

func TestADamagedIndexFileIsRepaired(t *testing.T) {
	t.Parallel()
	p, store, docs := stockedDir(t, 6)
	for i, file := range filesBelow(t, p.dir, datadir.Index) {
		for j, s := range damages {
			if !everyDamage() && j != (i*2+3)%len(damages) {
				continue
			}
			t.Run(fmt.Sprintf("%s: %s", filepath.Base(file), s.name), func(t *testing.T) {
				q := p.damagedCopy(t, p.dir, file, s.spoil)
				if !q.starts() {
					t.Fatalf("the program does not start: %s", q.stderr)
				}
				q.eventually(time.Minute, "not everything is found", func() bool { return q.findsAll(store, docs) })
				q.checkSources(docs, q.settled(store, time.Minute))
				q.checkQueries(store, docs)
				q.must(q.terminate())
			})
		}
	}
}

func TestADamagedCatalogIsRefused(t *testing.T) {
	t.Parallel()
	p, store, docs := stockedDir(t, 4)
	info, err := os.Stat(filepath.Join(p.dir, datadir.Catalog))
	p.must(err)
	pages := int(info.Size() / 4096)
	ways := map[string]func(string) error{
		"its first byte is changed":   damages[0].spoil,
		"it is cut in half":           damages[4].spoil,
		"it is empty":                 damages[5].spoil,
		"its first page is another":   flipPage(1),
		"a page in the middle is one": flipPage(pages / 2),
	}
	if everyDamage() {
		for n := 2; n <= pages; n++ {
			ways[fmt.Sprintf("page %d is another", n)] = flipPage(n)
		}
	}
	for name, spoil := range ways {
		t.Run(name, func(t *testing.T) {
			q := p.damagedCopy(t, p.dir, datadir.Catalog, spoil)
			if q.starts() {
				// The program started, so the damage can't have touched any content.
				q.checkSources(docs, q.settled(store, time.Minute))
				q.checkQueries(store, docs)
				q.must(q.terminate())
				if !strings.HasPrefix(name, "page ") {
					t.Error("the damage was not noticed")
				}
				return
			}
			if said := q.stderr.String(); !strings.Contains(said, "the catalog is damaged") || !strings.Contains(said, "sluice restore FILE --data DIR") {
				t.Errorf("it says: %s", said)
			}
		})
	}
}

// checkOriginals checks that every original is either complete or reported as missing. A repair must report the missing
// ones, too.
func (p *program) checkOriginals(docs []*document) {
	p.t.Helper()
	lost := 0
	for _, d := range docs {
		status, content := p.original(d.id)
		switch {
		case status == http.StatusOK && bytes.Equal(content, d.content):
		case status == http.StatusNotFound && bytes.Contains(content, []byte(`"detail"`)):
			lost++
		default:
			p.t.Errorf("the original of %s: status %d with %d bytes, want %d: %.200s", d.customID, status, len(content), len(d.content), content)
		}
	}
	said := strings.Join(p.repair(), "\n")
	if lost > 0 && !strings.Contains(said, "is damaged") && !strings.Contains(said, "are lost") {
		p.t.Errorf("%d originals cannot be read, and the repair does not say so: %s", lost, said)
	}
}

func (p *program) original(id string) (status int, content []byte) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, "http://"+p.addr+"/datasources/"+id+"/original", nil)
	p.must(err)
	req.Header.Set("Authorization", "Bearer "+testKey)
	resp, err := http.DefaultClient.Do(req)
	p.must(err)
	defer resp.Body.Close()
	content, err = io.ReadAll(resp.Body)
	if err != nil {
		p.t.Errorf("the original of %s is cut off after %d bytes: %v", id, len(content), err)
	}
	return resp.StatusCode, content
}

// TestADamagedFileBesideTheStoresIsRepairedOrReported kills a program and flips a bit in one of its data directory's
// files outside the index, NATS and the catalog. The program must start anyway, or say what is damaged and how to fix
// it.
func TestADamagedFileBesideTheStoresIsRepairedOrReported(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.start()
	store := p.newDatastore()
	docs := mixedDocuments(t, 3)
	p.addContent(store, docs)
	p.kill()
	parts := []float64{0.5}
	if everyDamage() {
		parts = []float64{0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95, 1}
	}
	tried := 0
	for _, file := range filesBelow(t, p.dir, "") {
		if top, _, _ := strings.Cut(filepath.ToSlash(file), "/"); top == datadir.Index || top == datadir.NATS || top == datadir.Catalog {
			continue // other tests damage these
		}
		tried++
		for _, part := range parts {
			t.Run(fmt.Sprintf("%s at %.2f", file, part), func(t *testing.T) {
				q := p.damagedCopy(t, p.dir, file, func(path string) error { return flipAt(path, part) })
				if !q.starts() {
					said := strings.TrimSpace(q.stderr.String())
					last := said[strings.LastIndex(said, "\n")+1:]
					if !strings.Contains(last, filepath.Base(file)) && !strings.Contains(last, "damaged") || !strings.Contains(last, "restore") {
						t.Errorf("it says: %s", said)
					}
					return
				}
				q.eventually(time.Minute, "not everything is found", func() bool { return q.findsAll(store, docs) })
				q.checkSources(docs, q.settled(store, time.Minute))
				q.must(q.terminate())
			})
		}
	}
	if tried < 4 {
		t.Errorf("only %d files were damaged", tried)
	}
}

func TestDamagedNATSFilesAreRepairedOrReported(t *testing.T) {
	t.Parallel()
	p, store, docs := stockedDir(t, 4)
	files := filesBelow(t, p.dir, datadir.NATS)
	if !everyDamage() {
		// Damage only the files with the most data: the job stream's messages and the originals.
		files = slices.DeleteFunc(files, func(f string) bool {
			return !strings.HasSuffix(f, ".blk") || !strings.Contains(f, "JOBS") && !strings.Contains(f, "OBJ_originals")
		})
	}
	for i, file := range files {
		for j, s := range damages {
			if !everyDamage() && j != (i*3+2)%len(damages) {
				continue
			}
			t.Run(fmt.Sprintf("%s: %s", strings.TrimPrefix(file, filepath.Join(datadir.NATS, "jetstream", "$G", "streams")), s.name), func(t *testing.T) {
				q := p.damagedCopy(t, p.dir, file, s.spoil)
				if !q.starts() {
					if !strings.Contains(q.stderr.String(), "NATS") && !strings.Contains(q.stderr.String(), "original") {
						t.Errorf("the program does not say why it cannot start: %s", q.stderr)
					}
					return
				}
				q.checkSources(docs, q.settled(store, time.Minute))
				q.checkQueries(store, docs) // shows that the index is complete
				q.checkOriginals(docs)
				out, faults, code := q.command("backup", filepath.Join(t.TempDir(), "b.tar.zst"))
				q.must(q.terminate())
				if code != 0 && !strings.Contains(out, "lost: original") {
					t.Errorf("a backup ended with %d and names no original: %s%s", code, out, faults)
				}
			})
		}
	}
}
