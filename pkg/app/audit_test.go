package app

import (
	"bytes"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheAuditLogIsAppended(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	var log bytes.Buffer
	for _, line := range []string{"one\n", "two\n"} {
		file, err := openAudit(path, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := file.Write([]byte("lost")); err == nil || !strings.Contains(log.String(), "cannot write to the audit file") {
			t.Errorf("a line is lost and nobody is told: %v, %s", err, &log)
		}
	}
	content, err := os.ReadFile(path)
	if err != nil || string(content) != "one\ntwo\n" {
		t.Errorf("%q, %v", content, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != fs.FileMode(0o600) {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if file, err := openAudit("", slog.Default()); file != nil || err != nil {
		t.Errorf("without a path: %v, %v", file, err)
	}
	if _, err := openAudit(filepath.Join(path, "below"), slog.Default()); err == nil || !strings.Contains(err.Error(), "SLUICE_AUDIT_FILE") {
		t.Errorf("a path that is none: %v", err)
	}
}

// TestTheProgramWritesItsAudit deletes something and expects an audit entry.
func TestTheProgramWritesItsAudit(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	p := newProgram(t, "SLUICE_AUDIT_FILE="+path)
	p.start()
	store := p.newDatastore()
	p.must(p.delete("/datastores/" + store))
	content, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(content), `"action":"DeleteDatastore"`) || !strings.Contains(string(content), store) || !strings.Contains(string(content), `"action":"key.use"`) {
		t.Errorf("%s, %v", content, err)
	}
}
