package app

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/backup"
	"github.com/sluice/sluice/pkg/config"
)

// largeDocument returns a Word document containing an incompressible image of the given size. Extraction ignores the
// image.
func largeDocument(t testing.TB, seed uint64, size int) []byte {
	t.Helper()
	from, err := zip.OpenReader(filepath.Join(documents, "employee-handbook.docx"))
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range from.File {
		if err := w.Copy(f); err != nil {
			t.Fatal(err)
		}
	}
	picture, err := w.CreateHeader(&zip.FileHeader{Name: "word/media/noise.png", Method: zip.Store})
	if err != nil {
		t.Fatal(err)
	}
	var key [32]byte
	key[0], key[1] = byte(seed), byte(seed>>8)
	if _, err := io.CopyN(picture, rand.NewChaCha8(key), int64(size)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// peak returns a running process's peak resident memory so far.
func peak(pid int) (memory string, ok bool) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return "", false
	}
	for line := range strings.Lines(string(status)) {
		if v, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			return strings.TrimSpace(v), true
		}
	}
	return "", false
}

// TestALargeBackup reports the time and memory it takes to create and restore a backup of TEST_BACKUP_SIZE.
func TestALargeBackup(t *testing.T) {
	text := os.Getenv("TEST_BACKUP_SIZE")
	if text == "" {
		t.Skip("TEST_BACKUP_SIZE is not set: make backup-large")
	}
	size, err := config.ParseBytes(text)
	if err != nil {
		t.Fatal(err)
	}
	const piece = 48 << 20
	p := newProgram(t)
	p.start()
	store := p.newDatastore()
	for i := range (int(size) + piece - 1) / piece {
		p.must(p.upload(store, "large.docx", fmt.Sprint("large-", i), largeDocument(t, uint64(i), piece), nil))
	}
	p.settled(store, 10*time.Minute)
	p.must(os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.cmd.Process.Pid), []byte("5"), 0o600))
	before, _ := peak(p.cmd.Process.Pid)
	file := filepath.Join(t.TempDir(), "large.tar.zst")
	timed := func(what string, args ...string) {
		t.Helper()
		self, err := os.Executable()
		p.must(err)
		cmd := exec.CommandContext(t.Context(), self, append(args, "--json")...)
		cmd.Env = append(os.Environ(), childVariable+"="+string(API), "SLUICE_DATA_DIR="+p.dir)
		began := time.Now()
		var out bytes.Buffer
		cmd.Stdout = &out
		p.must(cmd.Start())
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		memory, tick := "unknown", time.NewTicker(20*time.Millisecond)
		defer tick.Stop()
		for running := true; running; {
			select {
			case err = <-ended:
				running = false
			case <-tick.C: // the exit status's maximum would include this process's memory at the fork
				if m, ok := peak(cmd.Process.Pid); ok {
					memory = m
				}
			}
		}
		took := time.Since(began)
		var report backup.Report
		if err != nil || json.Unmarshal(out.Bytes(), &report) != nil {
			t.Fatalf("%s: %v\n%s", what, err, &out)
		}
		t.Logf("%s: %d MB of originals in %s, %.0f MB/s; the command's memory at most %s", what, report.OriginalsBytes/1e6, took.Round(time.Millisecond),
			float64(report.OriginalsBytes)/1e6/took.Seconds(), memory)
	}
	timed("backup", "backup", file)
	during, _ := peak(p.cmd.Process.Pid)
	t.Logf("the service's memory: at most %s during the backup, %s before it", during, before)
	timed("check", "restore", file, "--check")
	timed("restore", "restore", file, "--data", filepath.Join(t.TempDir(), "restored"))
}
