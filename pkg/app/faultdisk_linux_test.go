package app

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// newOnDisk starts a program whose data directory is on a file system of its own, hidden from other processes. `mount`
// is a shell command that mounts this file system at $0. If the system doesn't permit mounting, newOnDisk skips the
// test.
func newOnDisk(t *testing.T, mount string, unshare ...string) (f *faulty, disk string) {
	t.Helper()
	fleetFaults(t)
	f = &faulty{program: newProgram(t, "SLUICE_ALLOW_PRIVATE_ADDRESSES=true"), pages: pagesFor(t)}
	tried := append(slices.Clone(unshare), "sh", "-c", mount, f.dir)
	if said, err := exec.Command(tried[0], tried[1:]...).CombinedOutput(); err != nil {
		t.Skipf("the system lets no disk be mounted: %s: %v, %s", strings.Join(tried, " "), err, said)
	}
	f.wrap = append(slices.Clone(unshare), "sh", "-c", mount+` && exec "$@"`, f.dir)
	f.start()
	// Each command execs the next, so the process id stays the same, and with it the path to the process's file
	// systems.
	return f, filepath.Join("/proc", strconv.Itoa(f.cmd.Process.Pid), "root", f.dir)
}

// TestAFullDiskIsReportedAndRecovers fills the data directory's disk.
func TestAFullDiskIsReportedAndRecovers(t *testing.T) {
	f, disk := newOnDisk(t, `mount -t tmpfs -o size=96m none "$0"`, "unshare", "-Urm")
	r := f.prepare("nospace")
	filler := filepath.Join(disk, "filler")
	fill := func() {
		t.Helper()
		file, err := os.OpenFile(filler, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		f.must(err)
		defer file.Close()
		for size := 1 << 20; size > 0; {
			if _, err := file.Write(make([]byte, size)); errors.Is(err, syscall.ENOSPC) {
				size /= 2
			} else if err != nil {
				t.Fatal(err)
			}
		}
	}
	fill()
	f.eventually(time.Minute, "the full disk is not told", func() bool {
		fill() // the process may have freed some space
		status, down := f.ready()
		return status == http.StatusServiceUnavailable && slices.Contains(down, "disk")
	})
	f.strike(r)
	for _, s := range r.steps {
		if (s.name == "query" || s.name == "list" || s.name == "chunks") && !s.done() {
			t.Errorf("%s is refused, and needs no disk: %s", s.name, s.reply.body)
		}
	}
	f.must(os.Remove(filler))
	f.heals(r)
}

// newOnOwnDisk starts a program with its data directory on a file system that can be frozen.
func newOnOwnDisk(t *testing.T) (f *faulty, disk string) {
	t.Helper()
	fleetFaults(t)
	image := filepath.Join(t.TempDir(), "disk")
	if err := errors.Join(os.WriteFile(image, nil, 0o600), os.Truncate(image, 512<<20)); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.Command("mkfs.ext4", "-q", image).CombinedOutput(); err != nil {
		t.Skipf("there is no file system to be made: %v, %s", err, said)
	}
	return newOnDisk(t, `mount -o loop,errors=remount-ro `+image+` "$0" && rm -rf "$0/lost+found"`, "unshare", "-m")
}

// TestAHangingDiskIsReportedAndRecovers makes all writes to the data directory hang for a while. Stored content must
// remain readable.
func TestAHangingDiskIsReportedAndRecovers(t *testing.T) {
	f, disk := newOnOwnDisk(t)
	r := f.prepare("hangs")
	thaw := breakDisk(t, disk, hangs)
	f.eventually(time.Minute, "the disk that hangs is not told", func() bool {
		status, down := f.ready()
		return status == http.StatusServiceUnavailable && slices.Contains(down, "disk")
	})
	for _, s := range r.steps {
		if s.name != "query" && s.name != "list" && s.name != "chunks" && s.name != "original" {
			continue
		}
		if s.send(f.program); !s.done() {
			t.Errorf("%s is not answered while the disk hangs, after %v: %d %s, %v", s.name, s.reply.took, s.reply.status, s.reply.body, s.reply.err)
		}
	}
	thawed := time.AfterFunc(20*time.Second, thaw)
	defer thawed.Stop()
	f.strike(r)
	thaw()
	f.heals(r)
}

// TestASlowDiskLosesNothing makes writes to the data directory hang three quarters of the time.
func TestASlowDiskLosesNothing(t *testing.T) {
	f, disk := newOnOwnDisk(t)
	var rounds []*faultRound
	for _, name := range []string{"slow", "slower", "slowest"} {
		rounds = append(rounds, f.prepare(name))
	}
	repair := breakDisk(t, disk, isSlow)
	for _, r := range rounds {
		f.strike(r)
	}
	repair()
	for _, r := range rounds {
		f.heals(r)
	}
}

// Shell commands that disturb the disk $0. They print a line once the disturbance has begun and stop when their
// standard input is closed, which also happens if this process dies.
const (
	hangs  = `fsfreeze -f "$0" && echo frozen && cat >/dev/null; fsfreeze -u "$0"`
	isSlow = `exec 3<&0; cat <&3 >/dev/null & fsfreeze -f "$0" && echo frozen && while sleep 0.3; fsfreeze -u "$0"; kill -0 $! 2>/dev/null; do
		sleep 0.1; fsfreeze -f "$0"; done`
)

// breakDisk disturbs the disk until `repair` is called.
func breakDisk(t *testing.T, disk, what string) (repair func()) {
	t.Helper()
	cmd := exec.Command("sh", "-c", what, disk)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var faults bytes.Buffer
	cmd.Stderr = &faults
	if err := cmd.Start(); err != nil {
		t.Skipf("there is nothing to hold a disk with: %v", err)
	}
	repair = func() { _ = in.Close() } // further calls do nothing
	t.Cleanup(func() { repair(); _ = cmd.Wait() })
	if _, err := io.ReadFull(out, make([]byte, len("frozen\n"))); err != nil {
		t.Skipf("the disk cannot be held: %v, %s", err, faults.String())
	}
	return repair
}
