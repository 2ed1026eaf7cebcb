package operate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/sluice/sluice/pkg/backup"
	"github.com/sluice/sluice/pkg/backup/source"
	"github.com/sluice/sluice/pkg/datadir"
	"github.com/sluice/sluice/pkg/jobs"
	"github.com/sluice/sluice/pkg/jobs/natsd"
	"github.com/sluice/sluice/pkg/originals"
)

// offlineBackup is a backup of a data directory that no service is using.
type offlineBackup struct {
	*io.PipeReader
	cancel context.CancelFunc
	done   chan struct{} // closed after err is set
	err    error
	close  []func() error
}

// cause returns the reason why the backup failed. `err` is the error from reading the archive. If err only says that
// the backup was aborted, cause waits until the backup has ended and returns the error that caused the abort.
func (o *offlineBackup) cause(err error) error {
	var aborted *backup.AbortedError
	if !errors.As(err, &aborted) {
		return err
	}
	<-o.done
	return o.err
}

// Close implements io.Closer.
func (o *offlineBackup) Close() error {
	o.cancel()
	o.PipeReader.Close()
	<-o.done
	return closeAll(o.close)
}

// openOffline starts a backup of the data directory. Closing the backup also closes the directory.
func openOffline(ctx context.Context, dir *datadir.Dir, program, rate string) (_ io.ReadCloser, err error) {
	o := &offlineBackup{done: make(chan struct{}), close: []func() error{dir.Close}}
	defer func() {
		if err != nil {
			err = errors.Join(err, closeAll(o.close))
		}
	}()
	bound, err := source.ParseRate(rate)
	if err != nil {
		return nil, err
	}
	store, closes, err := OpenOriginals(ctx, dir.Join(datadir.NATS), false)
	o.close = append(o.close, closes)
	if err != nil {
		return nil, err
	}
	temp := dir.Join(datadir.Temp)
	if err := os.MkdirAll(temp, 0o700); err != nil {
		return nil, fmt.Errorf("creating the temporary directory: %w", err)
	}
	content := source.Source{Catalog: dir.Join(datadir.Catalog), Originals: store, TempDir: temp, Program: program, Now: time.Now}
	ctx, o.cancel = context.WithCancel(ctx)
	reader, writer := io.Pipe()
	o.PipeReader = reader
	go func() {
		defer close(o.done)
		_, o.err = content.Write(ctx, writer, bound)
		writer.CloseWithError(o.err) // nil means end of file
	}()
	return o, nil
}

// OpenOriginals opens the original store in one of the embedded NATS server's directories. If unsynced is set, writes
// are acknowledged before they reach the disk. The caller must call `closes` even after an error.
func OpenOriginals(ctx context.Context, dir string, unsynced bool) (store *originals.Store, closes func() error, err error) {
	var closers []func() error
	closes = func() error { return closeAll(closers) }
	log := slog.New(slog.DiscardHandler)
	server, err := natsd.Start(ctx, natsd.Options{Dir: dir, NoSync: unsynced, Log: log})
	if err != nil {
		return nil, closes, err
	}
	closers = append(closers, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), storeGrace)
		defer cancel()
		return server.Shutdown(ctx)
	})
	conn, err := jobs.Connect(ctx, jobs.ConnectOptions{InProcess: server, Name: "sluice-backup", Log: log})
	if err != nil {
		return nil, closes, err
	}
	closers = append(closers, func() error { conn.Close(); return nil })
	store, err = originals.Open(ctx, conn.JetStream(), originals.Options{Now: time.Now})
	return store, closes, err
}

// Time limit for closing the original store's files.
const storeGrace = time.Minute

// closeAll calls the closers in reverse order.
func closeAll(closers []func() error) error {
	var faults []error
	for _, closes := range slices.Backward(closers) {
		faults = append(faults, closes())
	}
	return errors.Join(faults...)
}
