package app

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/datadir"
)

func TestADataDirectoryOfAnotherVersionIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		statement string
		says      []string
	}{
		"newer": {
			`INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)`,
			[]string{"version 999", "use a newer version of the program", "restore a backup"},
		},
		"a development version": {
			`UPDATE goose_db_version SET version_id = 8 WHERE version_id > 0`,
			[]string{"version 8", "before the first release", "to an empty data directory"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _, _ := stockedDir(t, 1)
			db, err := sql.Open("sqlite", filepath.Join(p.dir, datadir.Catalog))
			p.must(err)
			_, err = db.ExecContext(t.Context(), c.statement)
			p.must(errors.Join(err, db.Close()))
			if p.starts() {
				t.Fatal("it serves")
			}
			for _, says := range c.says {
				if !strings.Contains(p.stderr.String(), says) {
					t.Errorf("the output lacks %q: %s", says, p.stderr)
				}
			}
			if _, faults, code := p.command("backup", filepath.Join(t.TempDir(), "b")); code != 1 || !strings.Contains(faults, c.says[0]) {
				t.Errorf("a backup ended with %d: %s", code, faults)
			}
		})
	}
}
