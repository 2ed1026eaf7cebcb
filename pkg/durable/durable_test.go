package durable_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluice/sluice/pkg/durable"
)

func TestSyncOfMissingFilesIsAnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, none := filepath.Join(dir, "file"), filepath.Join(dir, "none")
	if err := os.WriteFile(file, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(durable.File(file), durable.Dir(dir)); err != nil {
		t.Error(err)
	}
	if content, err := os.ReadFile(file); string(content) != "content" || err != nil {
		t.Errorf("the file has %q, %v", content, err)
	}
	if err := durable.File(none); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := durable.Dir(none); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that is not there: %v", err)
	}
	if _, err := os.Stat(none); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory was created: %v", err)
	}
}
