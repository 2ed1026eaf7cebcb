package app

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// turnReadOnly makes a file system read-only, as ext4 does after a disk error. mountPoint is its mount point in the
// process.
func turnReadOnly(t *testing.T, pid int, mountPoint string) {
	t.Helper()
	mounts, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "mounts"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		fields := strings.Fields(line) // device, mount point, …
		if len(fields) < 2 || fields[1] != mountPoint {
			continue
		}
		trigger := filepath.Join("/sys/fs/ext4", filepath.Base(fields[0]), "trigger_fs_error")
		if err := os.WriteFile(trigger, []byte("1"), 0o200); err != nil {
			t.Skipf("the file system cannot be made to fail: %v", err)
		}
		return
	}
	t.Fatalf("%s is not mounted", mountPoint)
}

// TestADiskThatTurnsReadOnlyKeepsQueries makes the data directory's file system permanently read-only under load, then
// increases the load. Stored content must stay readable.
func TestADiskThatTurnsReadOnlyKeepsQueries(t *testing.T) {
	f, disk := newOnOwnDisk(t)
	r := f.prepare("readonly")
	reads := slices.DeleteFunc(slices.Clone(r.steps), func(s *step) bool {
		return s.name != "query" && s.name != "list" && s.name != "chunks" && s.name != "original"
	})
	const few, many, rounds = 2, 16, 40
	var answered atomic.Int64
	var load sync.WaitGroup
	turned := make(chan struct{})
	failed := make(chan string, (few+many)*len(reads))
	// read starts clients that each repeat one request until it has succeeded several times after the file system has
	// become read-only.
	read := func(clients int) {
		for range clients {
			for _, s := range reads {
				load.Go(func() {
					own := *s
					for after := 0; after < rounds; {
						select {
						case <-turned:
							after++
						default:
						}
						if own.send(f.program); !own.done() {
							failed <- own.name + ": " + own.judge() + " " + string(own.reply.body)
							return
						}
						answered.Add(1)
					}
				})
			}
		}
	}
	read(few)
	for i := range few { // keeps writes in progress, too
		load.Go(func() {
			for n := 0; ; n++ {
				var made source
				name := fmt.Sprintf("%s-%d-%d", r.name, i, n)
				if err := f.upload(r.store, name, "", []byte(aboutWord(name)), &made); err != nil {
					return
				}
			}
		})
	}
	f.eventually(time.Minute, "the requests are not answered", func() bool { return answered.Load() > 10*few*int64(len(reads)) })
	// Flush all dirty pages first: a clean page of a mapped file can become writable only if the file system allows it.
	root, err := os.Open(disk)
	f.must(err)
	f.must(unix.Syncfs(int(root.Fd())))
	f.must(root.Close())
	turnReadOnly(t, f.cmd.Process.Pid, f.dir)
	close(turned)
	read(many)
	f.eventually(time.Minute, "the disk that is read-only is not told", func() bool {
		status, down := f.ready()
		return status == http.StatusServiceUnavailable && slices.Contains(down, "disk")
	})
	f.strike(r)
	load.Wait()
	close(failed)
	for what := range failed {
		t.Error(what)
	}
	for _, s := range reads {
		if !s.done() {
			t.Errorf("%s needs no write, and is refused: %s, %v", s.name, s.reply.body, s.reply.err)
		}
	}
	f.kill()
}
