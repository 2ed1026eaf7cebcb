package app

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// BenchmarkFirstStart measures a process from its launch over an empty data directory until /readyz answers 200.
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

// BenchmarkIdleMemory reports the resident memory of the all-in-one process, in MB: when it has just started, and when
// the readers of documents have ended after the sample documents were ingested and queried.
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
		time.Sleep(idleAfter) // the figure is about a process that has been idle for this long
		b.ReportMetric(fresh, "MB-fresh")
		b.ReportMetric(p.resident(), "MB-after-100-documents")
		p.kill()
	}
}

// idleAfter is longer than readers of documents wait for another.
const idleAfter = 40 * time.Second

// resident is the process's resident set in MB (10^6 bytes), its mapped files included.
func (p *program) resident() float64 { return p.kept("VmRSS") }

// kept is what the system tells of the process's memory by that name, in MB.
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
