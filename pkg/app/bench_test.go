package app

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// BenchmarkFirstStart measures how long a process takes to start in an empty data directory, until /readyz returns 200.
func BenchmarkFirstStart(b *testing.B) {
	var slowest time.Duration
	for b.Loop() {
		b.StopTimer()
		p := newProgram(b)
		b.StartTimer()
		slowest = max(slowest, p.start())
		b.StopTimer()
		p.kill()
		b.StartTimer()
	}
	b.ReportMetric(float64(slowest.Milliseconds()), "ms-slowest")
}

// BenchmarkIdleMemory reports the all-in-one process's resident memory in MB: first right after the start, and then
// after ingesting and querying the sample documents, once the child processes have exited.
func BenchmarkIdleMemory(b *testing.B) {
	for b.Loop() {
		p := newProgram(b)
		p.start()
		fresh := p.resident()
		store := p.newDatastore()
		for _, d := range mixedDocuments(b, 100) {
			p.must(p.upload(store, d.name, d.customID, d.content, nil))
		}
		p.settled(store, time.Minute)
		for i := range 50 {
			p.query(store, fmt.Sprintf("quokka%04dx item", i), 5)
		}
		time.Sleep(idleAfter) // wait until the process counts as idle
		b.ReportMetric(fresh, "MB-fresh")
		b.ReportMetric(p.resident(), "MB-after-100-documents")
		p.kill()
	}
}

// idleAfter is longer than idle child processes wait for another document before exiting.
const idleAfter = 40 * time.Second

// resident returns the process's resident set size in MB (10^6 bytes), including mapped files.
func (p *program) resident() float64 { return p.kept("VmRSS") }

// kept returns a field of /proc/PID/status in MB.
func (p *program) kept(name string) float64 {
	p.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	p.must(err)
	for line := range strings.Lines(string(status)) {
		var kib int
		if n, _ := fmt.Sscanf(line, name+": %d kB", &kib); n == 1 {
			return float64(kib) * 1024 / 1e6
		}
	}
	p.t.Fatalf("the system does not tell %s", name)
	return 0
}
