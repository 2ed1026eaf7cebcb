package app

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// disk checks that the disk for the data directory and unfinished uploads works.
type disk struct {
	dir     string
	probing chan struct{} // full during a probe, so a hanging disk blocks one probe rather than one per request
}

func newDisk(dir string) *disk { return &disk{dir: dir, probing: make(chan struct{}, 1)} }

// Number of bytes written per probe.
const probeBytes = 256 << 10

// ready returns an error if a write to the disk fails. A hanging write continues in the background after ctx is done.
func (d *disk) ready(ctx context.Context) error {
	select {
	case d.probing <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("waiting for the disk: %w", ctx.Err())
	}
	tried := make(chan error, 1)
	go func() {
		defer func() { <-d.probing }()
		tried <- d.probe()
	}()
	select {
	case err := <-tried:
		return err
	case <-ctx.Done():
		return fmt.Errorf("waiting for the disk: %w", ctx.Err())
	}
}

func (d *disk) probe() (err error) {
	f, err := os.CreateTemp(d.dir, "probe-*")
	if err != nil {
		return fmt.Errorf("checking that the disk is writable: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	if _, err := f.Write(make([]byte, probeBytes)); err != nil {
		return fmt.Errorf("checking that the disk is writable: %w", err)
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("checking that the disk is writable: %w", err)
	}
	return nil
}
