package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

const (
	fileName = "disk"  // the FUSE file system's only file
	fileNode = 2       // its inode number
	maxWrite = 1 << 19 // per request; with its header, it fits into a pipe of the usual maximum size
)

// Served is a disk available as a file.
type Served struct {
	dir    string
	server *fuse.Server
}

// Serve mounts a FUSE file system on a directory, with the disk as its only file. It needs root and /dev/fuse. The
// process that serves a disk must not open the file: if it is killed while waiting for its own answer, the kernel waits
// forever.
func (d *Disk) Serve(dir string) (*Served, error) {
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0) // children must not keep it open
	if err != nil {
		return nil, fmt.Errorf("opening /dev/fuse: %w", err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=%o,user_id=%d,group_id=%d,max_read=%d", fd, unix.S_IFDIR, os.Geteuid(), os.Getegid(), maxWrite)
	if err := unix.Mount("powerloss", dir, "fuse", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return nil, errors.Join(fmt.Errorf("mounting a FUSE file system on %s: %w", dir, err), unix.Close(fd))
	}
	// A path of this form makes go-fuse use an existing mount's descriptor, which it closes later.
	server, err := fs.Mount(fmt.Sprintf("/dev/fd/%d", fd), &root{disk: d}, &fs.Options{MountOptions: fuse.MountOptions{MaxWrite: maxWrite}})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("serving a disk: %w", err), unix.Unmount(dir, unix.MNT_DETACH))
	}
	return &Served{dir, server}, nil
}

// Path returns the file's path.
func (s *Served) Path() string { return filepath.Join(s.dir, fileName) }

// Close unmounts the FUSE file system. The file must not be in use.
func (s *Served) Close() error {
	if err := unix.Unmount(s.dir, 0); err != nil {
		return fmt.Errorf("unmounting the disk on %s: %w", s.dir, err)
	}
	s.server.Wait()
	return nil
}

// root is the directory of the FUSE file system.
type root struct {
	fs.Inode
	disk *Disk
}

// OnAdd implements fs.NodeOnAdder.
func (r *root) OnAdd(ctx context.Context) {
	child := r.NewPersistentInode(ctx, &file{disk: r.disk}, fs.StableAttr{Mode: syscall.S_IFREG, Ino: fileNode})
	r.AddChild(fileName, child, true)
}

// file is the disk as a file.
type file struct {
	fs.Inode
	disk *Disk
}

var (
	_ fs.NodeOnAdder   = (*root)(nil)
	_ fs.NodeGetattrer = (*file)(nil)
	_ fs.NodeSetattrer = (*file)(nil)
	_ fs.NodeOpener    = (*file)(nil)
	_ fs.NodeReader    = (*file)(nil)
	_ fs.NodeWriter    = (*file)(nil)
	_ fs.NodeFsyncer   = (*file)(nil)
	_ fs.NodeFlusher   = (*file)(nil)
	_ fs.NodeAllocater = (*file)(nil)
)

// Getattr implements fs.NodeGetattrer.
func (f *file) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	out.Mode, out.Size, out.Blocks = 0o600, uint64(f.disk.size), uint64(f.disk.size/Sector)
	return 0
}

// Setattr implements fs.NodeSetattrer. The size of a disk cannot change.
func (f *file) Setattr(ctx context.Context, h fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if size, ok := in.GetSize(); ok && int64(size) != f.disk.size {
		return syscall.EPERM
	}
	return f.Getattr(ctx, h, out)
}

// Open implements fs.NodeOpener. Without direct I/O, the kernel would cache writes and hide them from the disk.
func (f *file) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, fuse.FOPEN_DIRECT_IO, 0
}

// Read implements fs.NodeReader.
func (f *file) Read(_ context.Context, _ fs.FileHandle, p []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	n, err := f.disk.ReadAt(p, off)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, syscall.EIO
	}
	return fuse.ReadResultData(p[:n]), 0
}

// Write implements fs.NodeWriter.
func (f *file) Write(_ context.Context, _ fs.FileHandle, p []byte, off int64) (uint32, syscall.Errno) {
	n, err := f.disk.WriteAt(p, off)
	if err != nil {
		return uint32(n), syscall.ENOSPC
	}
	return uint32(n), 0
}

// Fsync implements fs.NodeFsyncer. The loop device calls it to flush the disk.
func (f *file) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	f.disk.Flush()
	return 0
}

// Flush implements fs.NodeFlusher. Closing the file calls it, but flushes nothing.
func (f *file) Flush(context.Context, fs.FileHandle) syscall.Errno { return 0 }

// Allocate implements fs.NodeAllocater. The loop device uses it to discard and zero blocks.
func (f *file) Allocate(_ context.Context, _ fs.FileHandle, off, size uint64, mode uint32) syscall.Errno {
	if mode&(unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_ZERO_RANGE) == 0 {
		return syscall.EOPNOTSUPP
	}
	if err := f.disk.Zero(int64(off), int64(size)); err != nil {
		return syscall.EINVAL
	}
	return 0
}
