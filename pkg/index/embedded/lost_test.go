package embedded

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/sluice/sluice/pkg/index/embedded/store"
)

func TestFilesThatAreDeletedWhileTheyAreOpenAreMissed(t *testing.T) {
	t.Parallel()
	key, err := keyOf(crashSpace)
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(x *Index) error{
		"the whole index":  func(x *Index) error { return os.RemoveAll(x.dir) },
		"the datastore":    func(x *Index) error { return os.RemoveAll(filepath.Join(x.dir, key.datastore)) },
		"the space":        func(x *Index) error { return os.RemoveAll(x.path(key)) },
		"it was moved":     func(x *Index) error { return os.Rename(x.path(key), x.path(key)+".away") },
		"another is there": func(x *Index) error { return errors.Join(os.RemoveAll(x.path(key)), os.Mkdir(x.path(key), 0o700)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var alarms atomic.Int32
			x := mustOpen(t, t.TempDir(), Options{Alarm: func() { alarms.Add(1) }, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
			mustWrite(t, x, crashSpace, batchOf("a", 1, 10))
			if err := spoil(x); err != nil {
				t.Fatal(err)
			}
			if n, err := x.Count(t.Context(), crashSpace, "a", 1); err != nil || n != 0 {
				t.Errorf("the deleted space has %d rows: %v", n, err)
			}
			if err := x.Ready(t.Context()); err != nil {
				t.Errorf("not ready: %v", err)
			}
			if n := alarms.Load(); n != 1 {
				t.Errorf("%d alarms", n)
			}
			// Rows written from here on must reach the disk.
			mustWrite(t, x, crashSpace, batchOf("a", 2, 7))
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
			again := mustOpen(t, x.dir, Options{})
			if n, err := again.Count(t.Context(), crashSpace, "a", 2); err != nil || n != 7 {
				t.Errorf("of 7 rows written after it %d are there: %v", n, err)
			}
		})
	}
}

func TestAWriteFailsIfItsFilesAreDeleted(t *testing.T) {
	t.Parallel()
	x := mustOpen(t, t.TempDir(), Options{Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	mustWrite(t, x, crashSpace, batchOf("a", 1, 10))
	err := x.use(t.Context(), crashSpace, true, func(s *store.Space) error {
		if err := os.RemoveAll(filepath.Join(x.dir, crashSpace.DatastoreID)); err != nil {
			return err
		}
		b, err := x.prepare(t.Context(), crashSpace, batchOf("a", 2, 1))
		if err != nil {
			return err
		}
		return s.Write(t.Context(), b) // succeeds, because the deleted files are still open
	})
	if !errors.Is(err, store.ErrLost) {
		t.Errorf("err = %v", err)
	}
	mustWrite(t, x, crashSpace, batchOf("a", 2, 3))
	if n, err := x.Count(t.Context(), crashSpace, "a", 2); err != nil || n != 3 {
		t.Errorf("%d rows: %v", n, err)
	}
}

func TestFilesThatAreReplacedByOthersAreRead(t *testing.T) {
	t.Parallel()
	x := mustOpen(t, t.TempDir(), Options{Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	backup := mustOpen(t, t.TempDir(), Options{})
	mustWrite(t, backup, crashSpace, batchOf("a", 5, 9))
	if err := backup.Close(); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, x, crashSpace, batchOf("a", 1, 10))
	here := filepath.Join(x.dir, crashSpace.DatastoreID)
	if err := errors.Join(os.RemoveAll(here), os.Rename(filepath.Join(backup.dir, crashSpace.DatastoreID), here)); err != nil {
		t.Fatal(err)
	}
	if n, err := x.Count(t.Context(), crashSpace, "a", 5); err != nil || n != 9 {
		t.Errorf("of the 9 rows of a backup put in place %d are there: %v", n, err)
	}
}
