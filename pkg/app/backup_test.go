package app

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/backup"
	backupsource "github.com/sluice/sluice/pkg/backup/source"
	"github.com/sluice/sluice/pkg/catalog/maintenance"
	"github.com/sluice/sluice/pkg/cli"
	"github.com/sluice/sluice/pkg/cli/operate"
	"github.com/sluice/sluice/pkg/datadir"
	"github.com/sluice/sluice/pkg/originals"
)

// runCommand runs an api command in the test's process and returns its output and exit code.
func runCommand(args ...string) (stdout, stderr string, code int) {
	var out, faults bytes.Buffer
	code = Main(API, args, nil, &out, &faults)
	return out.String(), faults.String(), code
}

// backUp backs up the program if it is running, and otherwise its data directory.
func (p *program) backUp(file string) backup.Report {
	p.t.Helper()
	out, faults, code := p.command("backup", file, "--json")
	var report backup.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != 0 {
		p.t.Fatalf("the backup ended with %d: %s\n%s", code, faults, out)
	}
	return report
}

// restored returns a program, not yet started, with a data directory restored from the backup.
func (p *program) restored(file string) *program {
	p.t.Helper()
	q := newProgram(p.t, p.env...)
	if _, faults, code := runCommand("restore", file, "--data", q.dir); code != 0 {
		p.t.Fatalf("the restore ended with %d: %s", code, faults)
	}
	return q
}

func TestABackupOfABusyServiceBringsBackWhatWasAcceptedBefore(t *testing.T) {
	t.Parallel()
	model := newModelServer(t)
	p := newProgram(t, "OPENAI_BASE_URL="+model.URL+"/v1", "SLUICE_EMBED_MODEL=tiny", "SLUICE_INGEST_CONCURRENCY=1")
	p.start()
	store := p.newDatastore()
	docs := mixedDocuments(t, 20)
	done, unfinished, others := docs[:10], docs[10:14], docs[14:]
	p.addContent(store, done)
	var agent struct{ ID string }
	p.must(p.post("/agents", map[string]any{"name": "Helper", "datastoreIds": []string{store}}, &agent))

	model.delay.Store(int64(300 * time.Millisecond)) // leaves some work unfinished
	for _, d := range unfinished {
		if !p.putIn(store, d) {
			t.Fatalf("%s cannot be put in", d.customID)
		}
	}
	var busy sync.WaitGroup
	busy.Go(func() { // continues during the backup
		for i, d := range others {
			if p.putIn(store, d); i%2 == 0 && d.id != "" {
				_ = p.delete("/datasources/" + d.id)
			}
		}
	})
	file := filepath.Join(t.TempDir(), "b.tar.zst")
	report := p.backUp(file)
	busy.Wait()
	if report.Originals < 14 || report.Lost != 0 {
		t.Errorf("the report is %+v", report)
	}
	model.delay.Store(0)
	p.settled(store, time.Minute)

	q := p.restored(file)
	model.delay.Store(int64(5 * time.Second)) // leaves time to see what is missing
	q.start()
	q.eventually(time.Minute, "nobody says that the index is being built", func() bool {
		return strings.Contains(q.readiness(), rebuilding)
	})
	model.delay.Store(0)
	known := map[string]bool{}
	for _, s := range q.settled(store, time.Minute) {
		known[s.ID] = true
		if s.Status != "synched" {
			t.Errorf("%s ended with status %s: %s", s.Name, s.Status, s.Error)
		}
	}
	for _, d := range docs[:14] {
		if !known[d.id] {
			t.Errorf("%s was accepted before the backup and is lost", d.customID)
		}
	}
	q.eventually(time.Minute, "not everything is searchable", func() bool { return q.found(store, docs[:14]) })
	q.settled(store, time.Minute)
	q.eventually(time.Minute, "the index still is being built: "+q.readiness(), func() bool { return !strings.Contains(q.readiness(), rebuilding) })
	q.must(q.get("/agents/"+agent.ID, nil))
	q.swept()
	q.says(q.repair(), "* datasource* checked: "+consistent)
	q.must(q.terminate())
	q.sameRows(store)
}

// rebuilding is a note in /readyz's response.
const rebuilding = "there was no index, which is normal after a restore; it is being rebuilt"

func (p *program) readiness() string {
	p.t.Helper()
	var body json.RawMessage
	p.must(p.get("/readyz", &body))
	return string(body)
}

func TestAnUnusedDataDirectoryIsBackedUp(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.start()
	store := p.newDatastore()
	docs := mixedDocuments(t, 4)
	p.addContent(store, docs)
	p.must(p.terminate())
	file := filepath.Join(t.TempDir(), "b.tar.zst")
	if report := p.backUp(file); report.Originals != 4 || report.Lost != 0 || report.CatalogBytes == 0 {
		t.Errorf("the report is %+v", report)
	}
	if left, _ := os.ReadDir(filepath.Join(p.dir, datadir.Temp)); len(left) > 0 {
		t.Errorf("%v was left behind", left)
	}
	if out, faults, code := runCommand("restore", file, "--check"); code != 0 || !strings.Contains(out, "4 originals") {
		t.Errorf("checking it ended with %d: %s%s", code, out, faults)
	}
	if _, faults, code := runCommand("restore", file, "--data", p.dir); code != 1 || !strings.Contains(faults, "not empty") {
		t.Errorf("restoring over another directory ended with %d: %s", code, faults)
	}
	q := p.restored(file)
	q.start()
	q.eventually(time.Minute, "not everything is searchable", func() bool { return q.found(store, docs) })
	q.whole(store, docs)
}

func TestARestoreOfADamagedBackupLeavesNothing(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.start()
	store := p.newDatastore()
	p.addContent(store, mixedDocuments(t, 3))
	file := filepath.Join(t.TempDir(), "b.tar.zst")
	p.backUp(file)
	whole, err := os.ReadFile(file)
	p.must(err)
	for name, spoil := range map[string]func([]byte) []byte{
		"cut":       func(b []byte) []byte { return b[:len(b)*2/3] },
		"cut short": func(b []byte) []byte { return b[:len(b)-1] },
		"changed":   func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
	} {
		spoiled := filepath.Join(t.TempDir(), "spoiled")
		p.must(os.WriteFile(spoiled, spoil(bytes.Clone(whole)), 0o600))
		to := filepath.Join(t.TempDir(), "data")
		if _, faults, code := runCommand("restore", spoiled, "--data", to); code != int(cli.Damaged) || !strings.Contains(faults, "archive is damaged") {
			t.Errorf("%s: the restore ended with %d: %s", name, code, faults)
		}
		if _, err := os.Stat(to); !os.IsNotExist(err) {
			left, _ := os.ReadDir(to)
			t.Errorf("%s: %v was left in the directory (%v)", name, left, err)
		}
	}
}

func TestABackupNamesOriginalsThatAreLost(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.start()
	store := p.newDatastore()
	docs := mixedDocuments(t, 4)
	p.addContent(store, docs)
	p.must(p.terminate())
	p.deleteOriginalOf(docs[2].id)
	file := filepath.Join(t.TempDir(), "b.tar.zst")
	out, faults, code := p.command("backup", file)
	if code != int(cli.Damaged) || !strings.Contains(out, "of datasource "+docs[2].id) || !strings.Contains(out, "missing") {
		t.Errorf("the backup ended with %d:\n%s%s", code, out, faults)
	}
	to := filepath.Join(t.TempDir(), "data")
	out, _, code = runCommand("restore", file, "--data", to, "--json")
	var report backup.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != int(cli.Damaged) || report.Lost != 1 || report.Losses[0].Datasource != docs[2].id {
		t.Errorf("the restore ended with %d:\n%s", code, out)
	}
	if _, err := os.Stat(filepath.Join(to, datadir.Catalog)); err != nil {
		t.Errorf("nothing was restored: %v", err)
	}
}

// deleteOriginalOf deletes a datasource's originals. The program must not be running.
func (p *program) deleteOriginalOf(id string) {
	p.t.Helper()
	store, closes, err := operate.OpenOriginals(p.t.Context(), filepath.Join(p.dir, datadir.NATS), true)
	defer func() { p.must(closes()) }()
	p.must(err)
	p.must(store.Each(p.t.Context(), func(key string, _ int64, _ time.Time) error {
		if of, _ := originals.DatasourceID(key); of != id {
			return nil
		}
		return store.Delete(p.t.Context(), key)
	}))
}

func TestAnInterruptedBackupLeavesNoFile(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.start()
	store := p.newDatastore()
	p.must(p.upload(store, "a.txt", "a", bytes.Repeat([]byte("The pump runs. "), 300_000), nil)) // over a minute at the lowest rate
	dir := t.TempDir()
	p.must(os.WriteFile(filepath.Join(dir, "b.tar.zst"), []byte("yesterday's"), 0o600))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	environ := []string{"SLUICE_DATA_DIR=" + p.dir}
	go func() {
		ended <- run(ctx, API, []string{"backup", filepath.Join(dir, "b.tar.zst"), "--rate", "64KiB"}, environ, io.Discard, io.Discard)
	}()
	p.eventually(time.Minute, "no backup is begun", func() bool {
		partial, _ := filepath.Glob(filepath.Join(dir, ".b.tar.zst.partial-*", "backup"))
		return len(partial) > 0
	})
	if _, faults, code := p.command("backup", "-"); code != 1 || !strings.Contains(faults, "another backup is in progress") {
		t.Errorf("a second backup at once ended with %d: %s", code, faults)
	}
	cancel()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "stopped") {
		t.Errorf("the backup ended with %v", err)
	}
	entries, err := os.ReadDir(dir)
	p.must(err)
	if kept, _ := os.ReadFile(filepath.Join(dir, "b.tar.zst")); len(entries) != 1 || string(kept) != "yesterday's" {
		t.Errorf("%v was left behind, and the backup before is %q", entries, kept)
	}
}

func TestBackupsRequireTheOperatorKey(t *testing.T) {
	t.Parallel()
	const key = "an operator's long key"
	rest := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusTeapot) })
	for name, c := range map[string]struct {
		method, path, given, refused string
		busy                         bool
		want                         int
		says                         string
	}{
		"without a key":              {method: "POST", path: backupsource.Path, want: 403, says: "SLUICE_ADMIN_KEY"},
		"with another key":           {method: "POST", path: backupsource.Path, given: key + "x", want: 403, says: "SLUICE_ADMIN_KEY"},
		"with an API key":            {method: "POST", path: backupsource.Path, given: testKey, want: 403, says: "SLUICE_ADMIN_KEY"},
		"by GET":                     {method: "GET", path: backupsource.Path, given: key, want: 405, says: "POST"},
		"where there is none":        {method: "POST", path: backupsource.Path, given: key, refused: "it is elsewhere", want: 409, says: "elsewhere"},
		"while another one is made":  {method: "POST", path: backupsource.Path, given: key, busy: true, want: 409, says: "in progress"},
		"with a rate that is no one": {method: "POST", path: backupsource.Path + "?rate=fast", given: key, want: 400, says: "rate"},
		"with a rate that is a slip": {method: "POST", path: backupsource.Path + "?rate=10", given: key, want: 400, says: "64KiB"},
		"of a catalog that is gone":  {method: "POST", path: backupsource.Path, given: key, want: 500, says: "log"},
		"anything else":              {method: "POST", path: "/agents", want: 418},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log lockedBuffer
			b := &backups{refused: c.refused, log: slog.New(slog.DiscardHandler), audit: slog.New(slog.NewTextHandler(&log, nil)), stopped: t.Context()}
			b.content = backupsource.Source{Catalog: filepath.Join(t.TempDir(), "none.db"), TempDir: t.TempDir(), Now: time.Now}
			if c.busy {
				b.busy.Lock()
			}
			r := httptest.NewRequestWithContext(t.Context(), c.method, c.path, nil)
			if c.given != "" {
				r.Header.Set("Authorization", "Bearer "+c.given)
			}
			w := httptest.NewRecorder()
			b.handler(newOperator(key, ""), rest).ServeHTTP(w, r)
			if w.Code != c.want {
				t.Fatalf("status %d, want %d: %s", w.Code, c.want, w.Body)
			}
			if c.want == http.StatusTeapot {
				return
			}
			var p api.Problem
			if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Status != c.want || !strings.Contains(p.Detail, c.says) {
				t.Errorf("the answer is %s (%v)", w.Body, err)
			}
			if strings.Contains(log.String(), key) || c.want == 403 != strings.Contains(log.String(), "audit.result=refused") {
				t.Errorf("the audit is %s", log.String())
			}
		})
	}
}

func TestTheOperatorsKeyFetchesABackup(t *testing.T) {
	t.Parallel()
	const key = "an operator's long key"
	p := newProgram(t, "SLUICE_ADMIN_KEY="+key)
	p.start()
	var out, faults bytes.Buffer
	environ := []string{"SLUICE_URL=http://" + p.addr, "SLUICE_ADMIN_KEY=" + key}
	if code := Main(API, []string{"backup", "-"}, environ, &out, &faults); code != 0 {
		t.Fatalf("the backup ended with %d: %s", code, &faults)
	}
	schema, err := maintenance.SchemaVersion()
	p.must(err)
	report, err := backup.Read(t.Context(), &out, backup.Options{}, nil)
	if err != nil || report.Schema != schema || report.Catalog == "" {
		t.Errorf("%+v, %v", report, err)
	}
	for name, way := range map[string][]string{
		"by the key beside it": {"SLUICE_URL=http://" + p.addr, "SLUICE_DATA_DIR=" + p.dir},
		"with a slash behind":  {"SLUICE_URL=http://" + p.addr + "/", "SLUICE_DATA_DIR=" + p.dir},
	} {
		if code := Main(API, []string{"backup", filepath.Join(t.TempDir(), "b")}, way, io.Discard, &faults); code != 0 {
			t.Errorf("%s the backup ended with %d: %s", name, code, &faults)
		}
	}
	if code := Main(API, []string{"backup", p.dir}, environ, io.Discard, &faults); code != 2 || !strings.Contains(faults.String(), "is a directory: name a file") {
		t.Errorf("to a directory it ended with %d: %s", code, &faults)
	}
	info, err := os.Stat(filepath.Join(p.dir, datadir.Operator))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the operator's file is %v (%v)", info, err)
	}
	p.must(p.terminate())
	if _, err := os.Stat(filepath.Join(p.dir, datadir.Operator)); !os.IsNotExist(err) {
		t.Errorf("the operator's file outlives the program: %v", err)
	}
	environ[1] = "SLUICE_ADMIN_KEY="
	if code := Main(API, []string{"backup", "-"}, environ, &out, &faults); code != 2 || !strings.Contains(faults.String(), "SLUICE_ADMIN_KEY") {
		t.Errorf("without a key it ended with %d: %s", code, &faults)
	}
}
