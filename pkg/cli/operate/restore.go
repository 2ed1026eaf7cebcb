package operate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice/sluice/pkg/backup"
	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/catalog/maintenance"
	"github.com/sluice/sluice/pkg/cli"
	"github.com/sluice/sluice/pkg/datadir"
	"github.com/sluice/sluice/pkg/durable"
	"github.com/sluice/sluice/pkg/originals"
)

// restoreCommand creates a data directory from a backup.
func (p commands) restoreCommand() *cobra.Command {
	var dir string
	var check bool
	cmd := &cobra.Command{
		Use: "restore (FILE | -) (--data DIR | --check)", Short: "Restore a backup into a new data directory", DisableFlagsInUseLine: true,
		GroupID: cli.GroupOperate, Args: cli.Exactly("FILE"),
		Long: "Create a data directory from a backup; use - for standard input. A service started with the directory\n" +
			"rebuilds the index and continues unfinished jobs. Exit code 6 means one of two things: the archive is damaged and\n" +
			"nothing was restored, or everything was restored but some originals were already missing when the backup was made.",
		Example: "sluice restore sluice.tar.zst --check\nsluice restore sluice.tar.zst --data ./data",
		RunE: func(cmd *cobra.Command, args []string) error {
			if check == (dir != "") {
				return cli.WithExit(cli.Misused, errors.New("specify either --data DIR or --check"))
			}
			var in io.Reader
			if args[0] == "-" {
				in = p.Input(cmd.Context())
			} else {
				file, err := os.Open(args[0])
				if errors.Is(err, fs.ErrNotExist) {
					return cli.WithExit(cli.NotFound, fmt.Errorf("file %q does not exist", args[0]))
				}
				if err != nil {
					return fmt.Errorf("opening the backup: %w", err)
				}
				defer file.Close()
				in = file
			}
			schema, err := maintenance.SchemaVersion()
			if err != nil {
				return err
			}
			ctx, began, done := cmd.Context(), time.Now(), "checked"
			var report backup.Report
			if check {
				report, err = backup.Read(ctx, in, backup.Options{Schema: schema, Key: validKey}, nil)
			} else {
				done = "restored"
				report, err = restore(ctx, in, dir, schema)
			}
			if err != nil {
				return orInterrupted(ctx, err)
			}
			return p.printBackup(p.Out, done, args[0], report, time.Since(began))
		},
	}
	cmd.Flags().StringVar(&dir, "data", "", "new or empty `directory` for the data")
	cmd.Flags().BoolVar(&check, "check", false, "check the whole backup without writing anything")
	return cmd
}

// restore creates a data directory from a backup. If it fails, the directory is unchanged.
func restore(ctx context.Context, in io.Reader, path string, schema int64) (report backup.Report, err error) {
	_, statErr := os.Stat(path)
	made := errors.Is(statErr, fs.ErrNotExist)
	if !made {
		if err := emptyDir(path); err != nil {
			return report, err
		}
	}
	dir, err := datadir.Open(path)
	if err != nil {
		return report, err
	}
	defer func() {
		err = errors.Join(err, dir.Close())
		if err != nil && made {
			os.Remove(filepath.Join(path, datadir.Lock))
			os.Remove(path)
		}
	}()
	if err := emptyDir(path); err != nil { // another process may have written to the directory
		return report, err
	}
	staged := dir.Join(datadir.Restoring)
	if err := os.Mkdir(staged, 0o700); err != nil {
		return report, fmt.Errorf("creating the temporary directory for the restore: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(staged))
		}
	}()
	if report, err = restoreInto(ctx, in, staged, schema); err != nil {
		return report, err
	}
	if err := syncTree(staged); err != nil {
		return report, err
	}
	// Move the catalog last: a data directory without one counts as empty.
	for _, name := range []string{datadir.NATS, datadir.Catalog} {
		if err := os.Rename(filepath.Join(staged, name), dir.Join(name)); err != nil {
			return report, errors.Join(fmt.Errorf("moving %s into place: %w", name, err), os.RemoveAll(dir.Join(datadir.NATS)))
		}
	}
	if err := os.Remove(staged); err != nil {
		return report, fmt.Errorf("removing the temporary directory of the restore: %w", err)
	}
	return report, durable.Dir(dir.Path())
}

// emptyDir returns an error if the directory contains files that a restore must not overwrite.
func emptyDir(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("reading the data directory: %w", err)
	}
	for _, e := range entries {
		switch e.Name() {
		case datadir.Lock, datadir.PID, "lost+found":
		case datadir.Restoring:
			return fmt.Errorf("%s contains files from an interrupted restore: remove them, or choose another directory", path)
		default:
			return fmt.Errorf("%s is not empty (it has %q): choose an empty or new directory", path, e.Name())
		}
	}
	return nil
}

func restoreInto(ctx context.Context, in io.Reader, staged string, schema int64) (report backup.Report, err error) {
	store, closes, err := OpenOriginals(ctx, filepath.Join(staged, datadir.NATS), true)
	defer func() { err = errors.Join(err, closes()) }()
	if err != nil {
		return report, err
	}
	sink := &restoreSink{catalog: filepath.Join(staged, datadir.Catalog), originals: store}
	report, err = backup.Read(ctx, in, backup.Options{Schema: schema, Key: validKey}, sink)
	if err != nil {
		return report, err
	}
	if err := maintenance.CheckFile(ctx, sink.catalog); err != nil {
		return report, fmt.Errorf("the catalog in the backup is unusable: %w", err)
	}
	c, err := catalog.Open(ctx, catalog.Options{Path: sink.catalog, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	if err != nil {
		return report, err
	}
	if err := errors.Join(c.RaiseGenerations(ctx), c.Close()); err != nil {
		return report, fmt.Errorf("preparing the restored catalog: %w", err)
	}
	// Closing the last connection should have merged everything into the database file.
	for _, suffix := range []string{"-wal", "-shm"} {
		if _, err := os.Stat(sink.catalog + suffix); !errors.Is(err, fs.ErrNotExist) {
			return report, errors.Join(fmt.Errorf("%s remains next to the catalog", filepath.Base(sink.catalog+suffix)), err)
		}
	}
	return report, nil
}

type restoreSink struct {
	catalog   string
	originals *originals.Store
}

// Catalog implements backup.Sink.
func (r *restoreSink) Catalog(_ context.Context, _ backup.Header, content io.Reader) error {
	file, err := os.OpenFile(r.catalog, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(file, content); err != nil {
		return errors.Join(fmt.Errorf("writing the catalog: %w", err), file.Close())
	}
	return file.Close()
}

// Original implements backup.Sink.
func (r *restoreSink) Original(ctx context.Context, key string, size int64, content io.Reader) error {
	_, err := r.originals.Put(ctx, key, content, originals.PutOptions{MaxBytes: max(size, 1)})
	return err
}

// Drop implements backup.Sink.
func (r *restoreSink) Drop(ctx context.Context, key string) error {
	return r.originals.Delete(ctx, key)
}

// syncTree flushes everything below a directory to disk.
func syncTree(dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch {
		case e.IsDir():
			return durable.Dir(path)
		case e.Type().IsRegular():
			return durable.File(path)
		}
		return fmt.Errorf("%s is neither a file nor a directory", path)
	})
}
