package app

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// limit limits one of the process's resources. It returns a function that restores the previous limit.
func (p *program) limit(which int, to uint64) (restore func()) {
	p.t.Helper()
	var was unix.Rlimit
	pid := p.cmd.Process.Pid
	if err := unix.Prlimit(pid, which, nil, &was); err != nil {
		p.t.Fatal(err)
	}
	if err := unix.Prlimit(pid, which, &unix.Rlimit{Cur: to, Max: was.Max}, nil); err != nil {
		p.t.Fatal(err)
	}
	return func() {
		p.t.Helper()
		if err := unix.Prlimit(pid, which, &was, nil); err != nil {
			p.t.Fatal(err)
		}
	}
}

func newLaptop(t *testing.T) *faulty {
	t.Helper()
	f := &faulty{program: newProgram(t, "SLUICE_ALLOW_PRIVATE_ADDRESSES=true"), pages: pagesFor(t)}
	f.start()
	return f
}

// TestUploadsToAFullDiskAreRefusedUntilItRecovers simulates a full disk by keeping the process's files from growing.
func TestUploadsToAFullDiskAreRefusedUntilItRecovers(t *testing.T) {
	t.Parallel()
	f := newLaptop(t)
	r := f.prepare("full")
	restore := f.limit(unix.RLIMIT_FSIZE, 0)
	f.eventually(time.Minute, "the full disk is not told", func() bool {
		status, down := f.ready()
		return status == http.StatusServiceUnavailable && slices.Contains(down, "disk")
	})
	f.strike(r)
	for _, s := range r.steps {
		switch {
		case s.makes != "" && s.done():
			t.Errorf("%s was accepted, and cannot be kept", s.name)
		case (s.name == "query" || s.name == "list" || s.name == "chunks") && !s.done():
			t.Errorf("%s is refused, and needs no disk: %s", s.name, s.reply.body)
		}
	}
	restore()
	f.heals(r)
}

func TestAProcessWithFewFileDescriptorsRefusesAndContinues(t *testing.T) {
	t.Parallel()
	f := newLaptop(t)
	r := f.prepare("files")
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", f.cmd.Process.Pid))
	f.must(err)
	restore := f.limit(unix.RLIMIT_NOFILE, uint64(len(open)+4)) // connections count too, and serving one opens more files
	f.strike(r)
	restore()
	f.heals(r)
}
