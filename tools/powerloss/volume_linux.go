package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/sluice/sluice/tools/powerloss/disk"
)

// volume is an ext4 file system on a simulated disk.
type volume struct {
	served *disk.Served
	root   string // directory for the served disk and the mounted file system
}

// Directories in volume.root.
const (
	servedDir  = "disk"
	mountedDir = "files"
)

// newVolume creates a file system on an empty disk and mounts it.
func newVolume(ctx context.Context, d *disk.Disk, root, options string) (*volume, error) {
	v, err := serve(d, root)
	if err != nil {
		return nil, err
	}
	if err := command(ctx, "mkfs.ext4", "-q", "-F", v.served.Path()); err != nil {
		return nil, errors.Join(err, v.served.Close())
	}
	return v, v.mount(ctx, options)
}

// openVolume mounts a disk's file system.
func openVolume(ctx context.Context, d *disk.Disk, root string) (*volume, error) {
	v, err := serve(d, root)
	if err != nil {
		return nil, err
	}
	return v, v.mount(ctx, "")
}

func serve(d *disk.Disk, root string) (*volume, error) {
	v := &volume{root: root}
	if err := errors.Join(os.MkdirAll(filepath.Join(root, servedDir), 0o700), os.MkdirAll(v.dir(), 0o700)); err != nil {
		return nil, err
	}
	var err error
	v.served, err = d.Serve(filepath.Join(root, servedDir))
	return v, err
}

// dir returns the file system's root directory.
func (v *volume) dir() string { return filepath.Join(v.root, mountedDir) }

// mountError means that a file system can't be mounted.
type mountError struct{ error }

// Unwrap returns the cause.
func (m mountError) Unwrap() error { return m.error }

// mount mounts the file system. The kernel frees the loop device on unmount.
func (v *volume) mount(ctx context.Context, options string) error {
	all := "loop"
	if options != "" {
		all += "," + options
	}
	if err := command(ctx, "mount", "-t", "ext4", "-o", all, v.served.Path(), v.dir()); err != nil {
		return errors.Join(mountError{err}, v.served.Close())
	}
	return nil
}

// Time limit for writing everything to the disk and unmounting it.
const unmountTimeout = time.Minute

// close unmounts the file system and the disk.
func (v *volume) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), unmountTimeout)
	defer cancel()
	return errors.Join(command(ctx, "umount", v.dir()), v.served.Close(), os.RemoveAll(v.root))
}

// command runs a short-lived program. If that fails, the error contains the output.
func command(ctx context.Context, name string, args ...string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), name, args...) // an interrupted mount would have to be undone
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(out.String()))
	}
	return nil
}
