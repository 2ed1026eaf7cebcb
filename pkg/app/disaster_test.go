package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/milvus-io/milvus-proto/go-api/v2/milvuspb" //nolint:depguard // drops collections behind the service's back
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/datadir"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded"
	"github.com/sluice/sluice/pkg/index/milvus"
	"github.com/sluice/sluice/pkg/jobs"
	local "github.com/sluice/sluice/tools/local/engines"
)

const consistent = "index, originals, job log and catalog agree"

// command runs a command with the program's settings and returns its output and exit code.
func (p *program) command(args ...string) (stdout, stderr string, code int) {
	p.t.Helper()
	var out, faults bytes.Buffer
	code = Main(API, args, append([]string{"SLUICE_DATA_DIR=" + p.dir}, p.env...), &out, &faults)
	return out.String(), faults.String(), code
}

// repair runs sluice repair and returns the lines it prints.
func (p *program) repair(args ...string) []string {
	p.t.Helper()
	out, faults, code := p.command(append([]string{"repair"}, args...)...)
	if code != 0 || faults != "" {
		p.t.Errorf("the repair ended with %d: %s", code, faults)
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	p.t.Logf("sluice repair %s\n%s", strings.Join(args, " "), strings.Join(lines, "\n"))
	return lines
}

// says matches a repair's output against patterns in which * matches any text. The last line must match the last
// pattern; the others may match in any order.
func (p *program) says(lines []string, patterns ...string) {
	p.t.Helper()
	var unsaid []string
	left := slices.Clone(lines)
	for _, want := range patterns {
		i := slices.IndexFunc(left, func(line string) bool { return matches(want, line) })
		if i < 0 {
			unsaid = append(unsaid, want)
			continue
		}
		left = slices.Delete(left, i, i+1)
	}
	if len(unsaid) > 0 || len(left) > 0 || !matches(patterns[len(patterns)-1], lines[len(lines)-1]) {
		p.t.Errorf("the repair says\n%s\nIt does not say %q, and should not say %q", strings.Join(lines, "\n"), unsaid, left)
	}
}

func matches(pattern, line string) bool {
	parts := strings.Split(pattern, "*")
	if !strings.HasPrefix(line, parts[0]) {
		return false
	}
	for _, part := range parts[1:] {
		i := strings.Index(line, part)
		if i < 0 {
			return false
		}
		line = line[i+len(part):]
	}
	return line == "" || pattern == "" || strings.HasSuffix(pattern, "*") || len(parts) == 1 && line == parts[0]
}

// openCatalog opens the program's catalog, even while the program is running.
func (p *program) openCatalog() *catalog.Catalog {
	p.t.Helper()
	o := catalog.Options{Path: filepath.Join(p.dir, datadir.Catalog), Log: slog.New(slog.DiscardHandler), Now: time.Now, URL: p.setting("DATABASE_URL")}
	if o.URL != "" {
		o.Path = ""
	}
	c, err := catalog.Open(p.t.Context(), o)
	p.must(err)
	return c
}

func (p *program) setting(name string) (value string) {
	for _, s := range p.env {
		if v, ok := strings.CutPrefix(s, name+"="); ok {
			value = v
		}
	}
	return value
}

func (p *program) swept() {
	p.t.Helper()
	c := p.openCatalog()
	defer c.Close()
	p.eventually(20*time.Second, "there are sweeps to do", func() bool {
		tasks, err := c.Sweeps(p.t.Context(), 1)
		p.must(err)
		return len(tasks) == 0
	})
}

func (p *program) eventually(timeout time.Duration, otherwise string, ok func() bool) {
	p.t.Helper()
	deadline := time.After(timeout)
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for !ok() {
		select {
		case <-deadline:
			p.t.Fatalf("after %v %s\n%s", timeout, otherwise, tail(p.stderr.String(), 3000))
		case <-poll.C:
		}
	}
}

func (p *program) addContent(store string, docs []*document) {
	p.t.Helper()
	for _, d := range docs {
		if !p.putIn(store, d) {
			p.t.Fatalf("%s cannot be put in", d.customID)
		}
	}
	p.checkSources(docs, p.settled(store, time.Minute))
}

// whole checks that every document is found once, that there is nothing to repair, and that the index contains exactly
// the catalog's rows. It stops the program.
func (p *program) whole(store string, docs []*document) {
	p.t.Helper()
	p.checkSources(docs, p.settled(store, time.Minute))
	p.checkQueries(store, docs)
	p.swept()
	p.says(p.repair(), "* datasource* checked: "+consistent)
	if err := p.terminate(); err != nil {
		p.t.Errorf("the stop: %v", err)
	}
	p.sameRows(store)
}

// sameRows compares the index with the catalog. The program must not be running.
func (p *program) sameRows(store string) {
	p.t.Helper()
	ctx := p.t.Context()
	c := p.openCatalog()
	defer c.Close()
	var idx index.Index
	var err error
	if addr := p.setting("MILVUS_ADDR"); addr != "" {
		idx, err = milvus.Open(milvus.Options{Address: addr, Log: slog.New(slog.DiscardHandler)})
	} else {
		idx, err = embedded.Open(filepath.Join(p.dir, datadir.Index), embedded.Options{Log: slog.New(slog.DiscardHandler)})
	}
	p.must(err)
	defer idx.Close()
	want, got := map[string]int64{}, map[string]int64{}
	p.must(c.EachActive(ctx, store, func(s catalog.ActiveState) error {
		if s.Generation > 0 {
			want[fmt.Sprint(s.DatasourceID, " ", s.Generation)] = s.Chunks
		}
		return nil
	}))
	spaces, err := idx.Spaces(ctx, store)
	p.must(err)
	for _, space := range spaces {
		p.must(idx.Stored(ctx, space, func(s index.Stored) error {
			got[fmt.Sprint(s.DatasourceID, " ", s.Generation)] += s.Rows
			return nil
		}))
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
		p.t.Errorf("rows by datasource and generation (-catalog +index):\n%s", diff)
	}
}

// generations returns all of the datastore's active generations.
func (p *program) generations(store string) (all []uint64) {
	p.t.Helper()
	c := p.openCatalog()
	defer c.Close()
	p.must(c.EachActive(p.t.Context(), store, func(s catalog.ActiveState) error {
		all = append(all, s.Generation)
		return nil
	}))
	return all
}

// found reports whether querying each document's word finds the document exactly once.
func (p *program) found(store string, docs []*document) bool {
	p.t.Helper()
	return !slices.ContainsFunc(docs, func(d *document) bool { return d.word != "" && p.countHits(store, d.word) != 1 })
}

func TestADroppedMilvusCollectionIsRebuilt(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	server, err := local.StartMilvusLite(ctx, t.TempDir(), local.MilvusLiteOptions{Temporary: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	}()
	conn, err := grpc.NewClient(server.Addr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	rpc := milvuspb.NewMilvusServiceClient(conn)
	drop := func() {
		t.Helper()
		all, err := rpc.ShowCollections(ctx, &milvuspb.ShowCollectionsRequest{})
		if err != nil || len(all.CollectionNames) == 0 {
			t.Fatalf("%d collections: %v", len(all.GetCollectionNames()), err)
		}
		for _, name := range all.CollectionNames {
			if status, err := rpc.DropCollection(ctx, &milvuspb.DropCollectionRequest{CollectionName: name}); err != nil || status.GetCode() != 0 {
				t.Fatalf("dropping %s: %v, %v", name, status, err)
			}
		}
	}
	p := newProgram(t, "MILVUS_ADDR="+server.Addr())
	p.start()
	store := p.newDatastore()
	docs := mixedDocuments(t, 10)
	p.addContent(store, docs)

	drop()
	if found := p.query(store, docs[0].word, 5); len(found) != 0 {
		t.Errorf("a dropped collection gives %+v", found)
	}
	p.says(p.repair(), "datastore "+store+" (test): rows of 10 datasources are missing in milvus with *; their documents will be indexed again",
		"10 datasources checked: 10 to be indexed again")
	p.checkSources(docs, p.settled(store, time.Minute))
	p.checkQueries(store, docs)

	// This time nobody requests a repair and no audit is due, so the program itself must notice the empty index when it
	// starts. Stop it first, because Milvus Lite crashes if a collection is dropped during a write or searched while
	// being created.
	p.must(p.terminate())
	before := p.generations(store)
	drop()
	p.start()
	p.eventually(30*time.Second, "the empty index is not rebuilt", func() bool {
		return slices.Min(p.generations(store)) > slices.Max(before)
	})
	if !strings.Contains(p.stderr.String(), "the index is empty") {
		t.Error("the log does not say that the index is empty")
	}
	p.must(p.terminate())
	p.start()
	p.whole(store, docs)
	if strings.Contains(p.stderr.String(), "the index is empty") {
		t.Error("the log says that the rebuilt index is empty")
	}
}

func TestADeletedEmbeddedIndexIsRebuilt(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.start()
	store := p.newDatastore()
	docs := mixedDocuments(t, 10)
	p.addContent(store, docs)
	remove := func() {
		t.Helper()
		p.must(os.RemoveAll(filepath.Join(p.dir, datadir.Index)))
	}
	remove() // while the program is running
	p.eventually(30*time.Second, "the index that was deleted under the program is not built anew", func() bool { return p.found(store, docs) })
	p.checkSources(docs, p.settled(store, time.Minute))
	p.must(p.terminate())
	remove() // while the program is stopped
	p.start()
	p.eventually(30*time.Second, "the index that was deleted while the program was stopped is not built anew", func() bool { return p.found(store, docs) })
	p.whole(store, docs)
}

func TestARepairFindsADamagedByteOfTheEmbeddedIndexBeforeAQueryDoes(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.start()
	store := p.newDatastore()
	docs := mixedDocuments(t, 9)
	p.addContent(store, docs)
	for what, where := range map[string]func(path string, content []byte) []int{
		"a vector": func(path string, content []byte) []int {
			if filepath.Base(path) != "vectors.f32" {
				return nil
			}
			return []int{20 + slices.IndexFunc(content[20:], func(b byte) bool { return b != 0 })}
		},
		// Change every occurrence. When SQLite moves data, it leaves old copies in the file, and changing only such a
		// copy has no effect.
		"a text in the database": func(_ string, content []byte) (at []int) {
			for from := 0; ; from += len(docs[3].word) {
				i := bytes.Index(content[from:], []byte(docs[3].word))
				if i < 0 {
					return at
				}
				from += i
				at = append(at, from)
			}
		},
	} {
		p.must(p.terminate())
		p.flip(filepath.Join(p.dir, datadir.Index), where)
		p.start()
		t.Log(what)
		p.says(p.repair(), "datastore "+store+": the index for model * was damaged, was set aside and will be rebuilt",
			"datastore "+store+" (test): rows of 9 datasources are missing in embedded with *; their documents will be indexed again",
			"9 datasources checked: 9 to be indexed again")
		p.checkSources(docs, p.settled(store, time.Minute))
		p.checkQueries(store, docs)
	}
	p.whole(store, docs)
}

// flip flips a bit in each byte at the offsets that `where` returns for a file below dir.
func (p *program) flip(dir string, where func(path string, content []byte) []int) {
	p.t.Helper()
	flipped := 0
	p.must(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.Contains(path, ".corrupt") {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		at := where(path, content)
		for _, i := range at {
			content[i] ^= 4
			flipped++
		}
		if len(at) == 0 {
			return nil
		}
		return os.WriteFile(path, content, 0o600)
	}))
	if flipped == 0 {
		p.t.Fatal("there is no such byte")
	}
}

func (p *program) deleteStream(name string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 10*time.Second)
	defer cancel()
	conn, err := jobs.Connect(ctx, jobs.ConnectOptions{
		URL: "nats://" + p.setting("SLUICE_NATS_LISTEN"), Token: p.setting("SLUICE_NATS_TOKEN"), Name: "test", Log: slog.New(slog.DiscardHandler),
	})
	p.must(err)
	defer conn.Close()
	p.must(conn.JetStream().DeleteStream(ctx, name))
}

func TestDeletedStreamsAreCreatedAgain(t *testing.T) {
	t.Parallel()
	model := newModelServer(t)
	p := newProgram(t, "OPENAI_BASE_URL="+model.URL+"/v1", "SLUICE_EMBED_MODEL=tiny", "SLUICE_INGEST_CONCURRENCY=1",
		"SLUICE_NATS_TOKEN=secret", "SLUICE_NATS_LISTEN="+freeAddress(t))
	p.start()
	store := p.newDatastore()
	docs := mixedDocuments(t, 9)
	p.addContent(store, docs[:1])
	for i, stream := range []string{jobs.StreamJobs, jobs.StreamEvents} {
		model.delay.Store(int64(500 * time.Millisecond)) // leaves some jobs unfinished
		for _, d := range docs[1+4*i : 5+4*i] {
			if !p.putIn(store, d) {
				t.Fatalf("%s cannot be put in", d.customID)
			}
		}
		p.deleteStream(stream)
		model.delay.Store(0)
		began := time.Now()
		p.checkSources(docs[:5+4*i], p.settled(store, time.Minute))
		t.Logf("without %s everything is synched after %v", stream, time.Since(began).Round(time.Millisecond))
	}
	p.whole(store, docs)
}

// freeAddress returns an unused loopback address.
func freeAddress(t testing.TB) string {
	t.Helper()
	p := newProgram(t)
	return p.addr
}

func TestIndexedContentOutlivesTheLossOfAllOriginals(t *testing.T) {
	t.Parallel()
	site := newPageServer(t)
	p := newProgram(t, "SLUICE_ALLOW_PRIVATE_ADDRESSES=true")
	p.start()
	store := p.newDatastore()
	docs := mixedDocuments(t, 6)
	p.addContent(store, docs)
	page := p.addPage(store, site)
	docs = append(docs, &document{id: page.ID, customID: "page", name: "page", word: "wombat"})
	p.checkSources(docs, p.settled(store, time.Minute))
	p.must(p.terminate())
	p.must(os.RemoveAll(filepath.Join(p.dir, datadir.NATS)))
	p.start()
	p.checkSources(docs, p.settled(store, time.Minute))
	p.checkQueries(store, docs)
	lost := "originals of 6 datasources are lost; their content stays searchable, but upload it again before re-indexing"
	p.says(p.repair(), lost, "originals of 1 web page are lost or damaged and will be fetched again",
		"7 datasources checked: 1 to be fetched again, 6 without their original")
	p.checkSources(docs, p.settled(store, time.Minute))
	p.says(p.repair("--prune"), lost, "7 datasources checked: 6 without their original") // --prune keeps content that can still be found

	out, faults, code := p.command("replay", "--datastore", store)
	if code != 4 || !strings.Contains(out, "7 datasources queued") || !strings.Contains(faults, "6 of 7 datasources failed") {
		t.Errorf("the replay ended with %d: %q, %q", code, out, faults)
	}
	for _, s := range p.settled(store, time.Minute) {
		if s.ID != page.ID && (s.Status != "error" || !strings.Contains(s.Error, "no longer stored; upload it again") || s.Chunks == 0) {
			t.Errorf("%s has status %s, %d chunks: %q", s.Name, s.Status, s.Chunks, s.Error)
		}
	}
	p.checkQueries(store, docs)

	// Lose the index as well. Then delete one document and upload the others again.
	p.must(p.terminate())
	p.must(os.RemoveAll(filepath.Join(p.dir, datadir.Index)))
	p.start()
	p.eventually(20*time.Second, "the loss is not noticed", func() bool { return p.countHits(store, docs[0].word) == 0 })
	for _, d := range docs[1:6] {
		p.must(p.post("/datastores/update/"+store, map[string]any{
			"id": d.id, "text": "This now says " + d.newWord() + " only.", "metadata": map[string]string{"custom_id": d.customID},
		}, nil))
		d.replaced = confirmed
	}
	p.settled(store, time.Minute)
	gone := "datasource " + docs[0].id + " (" + docs[0].name + ") has lost its original and its rows"
	p.says(p.repair(), gone,
		"rows and originals of 1 datasource are lost; upload again any content that is still needed, and delete the rest with: sluice repair --prune",
		"7 datasources checked: 1 without rows and without an original")
	p.says(p.repair("--prune"), gone+": deleted", "deleted 1 datasource that had neither rows nor an original", "7 datasources checked: 1 deleted")
	docs[0].deleted = confirmed
	p.whole(store, docs)
}

func TestAnOlderDatabaseCatchesUpWithTheJobLog(t *testing.T) {
	t.Parallel()
	for name, shape := range map[string]struct {
		env func(t *testing.T) []string
		// keep copies the database and returns a function that restores the copy. Both run with the program stopped.
		keep func(t *testing.T, p *program) (restore func())
	}{
		"SQLite": {
			env: func(*testing.T) []string { return nil },
			keep: func(t *testing.T, p *program) func() {
				path := filepath.Join(p.dir, datadir.Catalog)
				copied := map[string][]byte{}
				for _, suffix := range []string{"", "-wal", "-shm"} {
					content, err := os.ReadFile(path + suffix)
					if err != nil && !errors.Is(err, fs.ErrNotExist) {
						t.Fatal(err)
					}
					copied[suffix] = content
				}
				return func() {
					for suffix, content := range copied {
						p.must(os.RemoveAll(path + suffix))
						if content != nil {
							p.must(os.WriteFile(path+suffix, content, 0o600))
						}
					}
				}
			},
		},
		"PostgreSQL": {
			env: func(t *testing.T) []string { return []string{"DATABASE_URL=" + local.PostgreSQLForTest(t)} },
			keep: func(t *testing.T, p *program) func() {
				u, err := url.Parse(p.setting("DATABASE_URL"))
				p.must(err)
				name := strings.TrimPrefix(u.Path, "/")
				server := *u
				server.Path = "/postgres"
				conn, err := pgx.Connect(t.Context(), server.String())
				p.must(err)
				t.Cleanup(func() {
					_, err := conn.Exec(context.Background(), "DROP DATABASE IF EXISTS "+name+"_copy WITH (FORCE)")
					if err := errors.Join(err, conn.Close(context.Background())); err != nil {
						t.Error(err)
					}
				})
				p.eventually(10*time.Second, "connections of the killed program are still there", func() bool {
					_, err = conn.Exec(t.Context(), "CREATE DATABASE "+name+"_copy TEMPLATE "+name)
					return err == nil
				})
				u.Path += "_copy"
				return func() { p.env = append(p.env, "DATABASE_URL="+u.String()) }
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := newModelServer(t)
			p := newProgram(t, append(shape.env(t), "OPENAI_BASE_URL="+model.URL+"/v1", "SLUICE_EMBED_MODEL=tiny")...)
			p.start()
			store := p.newDatastore()
			docs := mixedDocuments(t, 9)
			p.addContent(store, docs[:6])
			// The copy contains a datasource whose job is still in progress.
			model.delay.Store(int64(time.Minute))
			asked := model.requests.Load()
			p.putIn(store, docs[6])
			p.eventually(10*time.Second, "the job has not begun", func() bool { return model.requests.Load() > asked })
			p.kill()
			model.delay.Store(0)
			restore := shape.keep(t, p)
			p.start()

			p.addContent(store, docs)
			for _, d := range docs[:2] {
				p.must(p.post("/datastores/update/"+store, map[string]any{
					"id": d.id, "text": "This now says " + d.newWord() + " only.", "metadata": map[string]string{"custom_id": d.customID},
				}, nil))
				d.replaced = confirmed
			}
			for _, d := range docs[2:4] {
				p.must(p.delete("/datasources/" + d.id))
				d.deleted = confirmed
			}
			other := p.newDatastore()
			late := &document{customID: "late", name: "late.txt", content: []byte("In a datastore of its own: the wombat."), word: "wombat"}
			p.addContent(other, []*document{late})
			p.settled(store, time.Minute)
			p.swept()
			p.must(p.terminate())
			restore()
			p.start()

			// Deleted datasources are back in the catalog, but searches do not find them.
			for _, d := range docs[2:4] {
				if n := p.countHits(store, d.word); n != 0 {
					t.Errorf("%s was deleted and is found", d.customID)
				}
			}
			p.settled(store, time.Minute)
			p.checkQueries(store, docs)
			p.checkSources([]*document{late}, p.settled(other, time.Minute))
			p.checkQueries(other, []*document{late})
			if s := p.named(other); s != "Recovered datastore" {
				t.Errorf("the datastore that the copy does not know is named %q", s)
			}
			p.swept()
			var gone, deleted []string
			for _, d := range docs[2:4] {
				gone = append(gone, "datasource "+d.id+" ("+d.name+") has lost its original and its rows")
				deleted = append(deleted, gone[len(gone)-1]+": deleted")
			}
			p.says(p.repair(), append(gone,
				"rows and originals of 2 datasources are lost; upload again any content that is still needed, and delete the rest with: sluice repair --prune",
				"10 datasources checked: 2 without rows and without an original")...)
			for _, s := range p.settled(store, time.Minute) {
				if lost := s.ID == docs[2].id || s.ID == docs[3].id; lost && (s.Status != "error" || !strings.Contains(s.Error, "no longer stored")) {
					t.Errorf("%s, which was deleted, has status %s: %q", s.Name, s.Status, s.Error)
				}
			}
			p.says(p.repair("--prune"), append(deleted,
				"deleted 2 datasources that had neither rows nor an original", "10 datasources checked: 2 deleted")...)
			p.whole(store, docs)
		})
	}
}

func (p *program) named(store string) string {
	p.t.Helper()
	var s struct{ Name string }
	p.must(p.get("/datastores/"+store, &s))
	return s.Name
}
