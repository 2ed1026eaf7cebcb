package app

import (
	"archive/tar"
	"database/sql"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/sluice/sluice/pkg/datadir"
)

// fixtures are data directories as older versions have left them, one for each version of the catalog's schema; see
// tools/upgradefixtures, which has put in what is looked for here.
const fixtures = "../../testdata/upgrade"

func unpackFixture(t testing.TB, file, dir string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o700)
		} else if content, readErr := io.ReadAll(r); readErr == nil {
			err = os.WriteFile(path, content, 0o600)
		} else {
			err = readErr
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestDataDirectoriesOfOlderVersionsOpenInThisOne(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(fixtures, "schema-*.tar.zst"))
	if err != nil || len(files) < 4 {
		t.Fatalf("%d fixtures, %v: go run ./tools/upgradefixtures", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			p := newProgram(t, "SLUICE_API_KEY=sk_another_0123456789abcdef0123456789") // the old one is in the catalog, and used here
			unpackFixture(t, file, p.dir)
			p.start()
			var stores struct{ Data []struct{ ID, Name string } }
			p.must(p.get("/datastores", &stores))
			if len(stores.Data) != 1 || stores.Data[0].Name != "Manuals" {
				t.Fatalf("the datastores are %+v", stores.Data)
			}
			store := stores.Data[0].ID
			late := 0
			var docs []*document
			for _, s := range p.settled(store, time.Minute) {
				d := &document{id: s.ID, customID: s.CustomID, word: map[string]string{"note.txt": "quokkas", "manual.md": "wombat", "prices.csv": "pangolin"}[s.CustomID]}
				if strings.HasPrefix(s.CustomID, "late-") {
					late++
				}
				docs = append(docs, d)
			}
			if len(docs) < 4 || late == 0 {
				t.Errorf("there are %d documents, %d of them late", len(docs), late)
			}
			p.checkQueries(store, docs)
			if p.holding(store, "numbat") == 0 {
				t.Error("what was unfinished is not found")
			}
			var agents, conversations struct{ Data []struct{ ID, Name string } }
			p.must(p.get("/agents", &agents))
			p.must(p.get("/conversations", &conversations))
			if len(agents.Data) != 1 || agents.Data[0].Name != "Helper" || len(conversations.Data) != 1 {
				t.Errorf("the agents are %+v, the conversations %+v", agents.Data, conversations.Data)
			}
			p.whole(store, docs)
		})
	}
}

func TestADataDirectoryOfANewerVersionIsRefused(t *testing.T) {
	t.Parallel()
	p, _, _ := stockedDir(t, 1)
	db, err := sql.Open("sqlite", filepath.Join(p.dir, datadir.Catalog))
	p.must(err)
	_, err = db.ExecContext(t.Context(), `INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)`)
	p.must(errors.Join(err, db.Close()))
	if p.starts() {
		t.Fatal("it serves")
	}
	for _, says := range []string{"version 999", "use a newer version of the program", "restore a backup"} {
		if !strings.Contains(p.stderr.String(), says) {
			t.Errorf("it does not say %q: %s", says, p.stderr)
		}
	}
	if _, faults, code := p.command("backup", filepath.Join(t.TempDir(), "b")); code != 1 || !strings.Contains(faults, "version 999") {
		t.Errorf("a backup ended with %d: %s", code, faults)
	}
}
